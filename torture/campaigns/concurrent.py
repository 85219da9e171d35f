"""Several processes and threads save and load one path.

Whoever wins, every load gives one of the saved models bit for bit, and at the end one model is
there with nothing beside it. Each save and each load is a round.
"""

from __future__ import annotations

import functools
import json
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sasanet import load
from torture.case import Outcome, describe, expect
from torture.draw import Draw
from torture.models import FILES, small_model
from torture.processes import Child, contents

SAVED, LOADED = "saved", "loaded, whole"
_ROUNDS = 25  # of one saver or loader
_WORKERS = 2  # threads of each process


@functools.cache
def _models() -> dict[str, Any]:
    """Return models by what they answer, as bytes in hexadecimal digits."""
    models = [small_model(seed)[0] for seed in range(3)]
    return {_answer(model): model for model in models}


@functools.cache
def _rows() -> Any:
    """Return rows that every model is asked about, encoded once: a load is what is tried here."""
    return small_model(0)[1][:3]


def _answer(model: Any) -> str:
    content: bytes = model.decision_function(_rows()).tobytes()
    return content.hex()


def run(seed: int) -> Outcome:
    """Let savers and loaders loose on one path."""
    draw = Draw("concurrent", seed)
    n_children = draw.between(1, 3)
    plans = [_plan(draw) for _ in range(n_children + 1)]
    with tempfile.TemporaryDirectory(prefix="torture-") as place:
        folder = Path(place) / "model"
        draw.one_of(list(_models().values())).save(folder)
        children = [Child(_in_threads(plan, folder)) for plan in plans[1:]]
        found = [_in_threads(plans[0], folder)()]
        ended = [child.wait() for child in children]
        expect(all(end.code == 0 for end in ended), f"a process ended: {ended}")
        counts = _total([*found, *(end.said for end in ended)])
        expect(_answer(load(folder)) in _models(), "no saved model is there at the end")
        left = contents(folder)
        expect(len(left) == FILES, f"{sorted(left)} instead of {FILES} files")
    return Outcome(dict(counts))


def _plan(draw: Draw) -> list[list[Any]]:
    """Return what each thread of a process does: the model it saves at each turn, or None."""
    models = list(_models().values())
    share = draw.one_of((0.2, 0.5, 0.9))
    return [
        [draw.one_of(models) if draw.happens(share) else None for _ in range(_ROUNDS)]
        for _ in range(_WORKERS)
    ]


def _in_threads(plan: list[list[Any]], folder: Path) -> Callable[[], str]:
    """Return the work of a process, which says what it counted or what went wrong."""

    def work() -> str:
        found: list[dict[str, int] | str] = []
        threads = [
            threading.Thread(target=lambda turns=turns: found.append(_take_turns(turns, folder)))
            for turns in plan
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return json.dumps(found)

    return work


def _take_turns(turns: list[Any], folder: Path) -> dict[str, int] | str:
    """Save and load in turn, and count; or say what went wrong."""
    counts: Counter[str] = Counter()
    try:
        for model in turns:
            if model is not None:
                model.save(folder)
                counts[SAVED] += 1
            else:
                expect(_answer(load(folder)) in _models(), "a load gave none of the models")
                counts[LOADED] += 1
    except Exception as error:  # whatever it is: the process that started this one reports it
        return describe(error)
    return dict(counts)


def _total(said: list[str]) -> Counter[str]:
    """Add up what all processes counted."""
    total: Counter[str] = Counter()
    for text in said:
        for found in json.loads(text):
            expect(isinstance(found, dict), str(found))
            total.update(found)
    return total
