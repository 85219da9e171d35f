"""Kill a fit with a checkpoint: the same call goes on to the same weights."""

from __future__ import annotations

import functools
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sasanet import SASANetClassifier
from torture.case import expect
from torture.draw import Draw
from torture.models import Answers, small_model, tiny
from torture.processes import Child, contents


@functools.cache
def _table() -> tuple[pd.DataFrame, Any]:
    X = pd.concat([small_model(seed)[1] for seed in range(4)], ignore_index=True)
    return X, np.arange(len(X)) % 2


@functools.cache
def _alone(teacher_weight: float) -> tuple[Answers, float]:
    """Return what a fit gives that nobody kills, and the processor's seconds that it takes."""
    start = time.process_time()
    found = _learn(teacher_weight, None)
    return found, time.process_time() - start


def _learn(teacher_weight: float, checkpoint: Path | None) -> Answers:
    X, y = _table()
    model = tiny(SASANetClassifier, 0, max_epochs=30, batch_size=8, teacher_weight=teacher_weight)
    return Answers.of(model.fit(X, y, checkpoint=checkpoint), X)


def kill_a_fit(draw: Draw, place: Path) -> str:
    """Kill a fit, sometimes more than once, and let the same call end it."""
    teacher_weight = 0.5 if draw.happens(0.15) else 0.0
    right, seconds = _alone(teacher_weight)
    state = place / "state"
    ended = False
    for _ in range(draw.between(1, 3)):
        child = Child(lambda: str(_learn(teacher_weight, state).equal(right)))
        child.wait_until_used(1.1 * seconds * draw.random.random())
        child.signal(signal.SIGKILL)
        end = child.wait()
        ended = end.code != -signal.SIGKILL
        expect(not ended or end.said == "True", f"a fit that was not killed ended so: {end}")
    began = state.exists() and any(".draft-" not in name for name in contents(state))
    expect(_learn(teacher_weight, state).equal(right), "the same call went on to another model")
    left = [name for name in contents(state) if ".draft-" in name]
    expect(not left, f"{left} was left behind")
    return "the fit had ended" if ended else "the fit went on" if began else "the fit began anew"
