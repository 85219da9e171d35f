"""Eight threads fit, predict, explain, value and load at once.

Each result is that of the same call made alone, bit for bit: one seed gives one model, whatever
else happens in the process.
"""

from __future__ import annotations

import functools
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from sasanet import SASANetClassifier, SASANetRegressor
from torture.case import Outcome, describe, expect
from torture.draw import Draw
from torture.models import TINY, raw, small_model, tiny
from torture.registry import TENTHS

N_THREADS = 8
_JOBS = 24
Job = Callable[[], Any]


@functools.cache
def _models() -> list[tuple[Any, pd.DataFrame]]:
    """Return models that all threads share."""
    return [small_model(n_classes, n_classes) for n_classes in (0, 2, 3)]


def run(seed: int) -> Outcome:
    """Do random jobs alone, then all of them in every thread at once, each in an order of its own.

    The counts have the time of the eight threads too: a tenth of a second is one.
    """
    draw = Draw("threads", seed)
    jobs = [_draw_job(draw) for _ in range(_JOBS)]
    alone = [job() for _, job in jobs]
    orders = [draw.random.sample(range(_JOBS), _JOBS) for _ in range(N_THREADS)]
    together: list[list[Any]] = [[None] * _JOBS for _ in range(N_THREADS)]
    ready = threading.Barrier(N_THREADS)
    threads = [
        threading.Thread(target=_work, args=(ready, jobs, found, order))
        for found, order in zip(together, orders, strict=True)
    ]
    start = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.monotonic() - start
    counts: Counter[str] = Counter()
    for found in together:
        for (name, _), one, other in zip(jobs, alone, found, strict=True):
            expect(isinstance(other, bytes), f"{name}: {other}")
            expect(one == other, f"{name} among other threads is not what it is alone")
            counts[f"{name}, as alone"] += 1
    return Outcome({**counts, TENTHS: round(10 * seconds)})


def _work(ready: threading.Barrier, jobs: list[Any], found: list[Any], order: list[int]) -> None:
    """Do every job, and note what it gives."""
    ready.wait()
    for k in order:
        try:
            found[k] = jobs[k][1]()
        except Exception as error:  # threads have nobody to raise to
            found[k] = describe(error)


def _draw_job(draw: Draw) -> tuple[str, Job]:
    """Return a name and a call that gives bytes."""
    name = draw.one_of(("fit", "predict", "predict", "explain", "explain", "refine", "value"))
    if name == "fit":
        return name, _fit(draw)
    model, X = draw.one_of(_models())
    rows = X.iloc[draw.numbers.integers(0, len(X), draw.between(1, 30))]
    if name == "predict":
        return name, lambda: raw(model, rows).tobytes()
    if name == "explain":
        return name, lambda: model.explain(rows).values.tobytes()
    if name == "refine":
        return name, lambda: model.explain(rows, n_orders=4).values.tobytes()
    coalitions = draw.numbers.random((len(rows), model.n_features_in_)) < 0.5
    return name, lambda: model.value(rows, coalitions).tobytes()


def _fit(draw: Draw) -> Job:
    """Return a fit with dropout, whose weights are the result."""
    kind: Any = draw.one_of((SASANetClassifier, SASANetRegressor))
    seed, n = draw.between(0, 3), draw.between(20, 40)
    X = pd.DataFrame({"a": draw.numbers.normal(size=n), "b": draw.numbers.integers(0, 3, n)})
    y = np.arange(n) % 2
    teacher = 0.5 if draw.happens(0.05) else 0.0

    def fit() -> bytes:
        network = replace(TINY, dropout=0.3)
        model = tiny(kind, seed, network=network, max_epochs=2, teacher_weight=teacher).fit(X, y)
        weights = model.network_.state_dict()
        return b"".join(weights[name].numpy().tobytes() for name in sorted(weights))

    return fit
