"""SIGKILL at a random moment of a fit with a checkpoint, and of a server that answers.

The same call goes on to the weights that it would have had, and leaves nothing of the killed one
but its checkpoint. The next server answers at the same port, from the same files.
"""

from __future__ import annotations

import functools
import json
import signal
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sasanet import SASANetClassifier
from sasanet.serve.process import free_port
from torture.case import Outcome, expect
from torture.draw import Draw
from torture.models import Answers, small_model, tiny
from torture.processes import Child, command, contents

_PATIENCE = 30.0  # seconds until a server answers


def run(seed: int) -> Outcome:
    """Kill one fit or one server, and let the next one take its place."""
    draw = Draw("survival", seed)
    target = draw.one_of(TARGETS)
    with tempfile.TemporaryDirectory(prefix="torture-") as place:
        return Outcome.of(target(draw, Path(place)))


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


def _fit(draw: Draw, place: Path) -> str:
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


@functools.cache
def _served() -> tuple[Path, dict[str, bytes], bytes, float]:
    """Return a model's directory, its content, a question, and the right prediction."""
    model, X = small_model(0)
    place = Path(tempfile.mkdtemp(prefix="torture-survival-")) / "model"
    model.save(place)
    question = X[:1].to_json(orient="records").encode()
    return place, contents(place), question, float(model.predict_proba(X[:1])[0, 1])


def _serve(draw: Draw, place: Path) -> str:
    """Kill a server, at its start or among its answers, and let the next one answer."""
    del place
    folder, before, _, _ = _served()
    port = free_port()
    work = command("serve", folder, "--port", port)
    first = Child(work)
    answers = draw.happens(0.7)
    if answers:
        _ask_until_it_answers(port)
        for _ in range(draw.between(0, 20)):
            _ask(port)
    else:
        time.sleep(draw.seconds(1.0))
    first.signal(signal.SIGKILL)
    first.wait()
    second = Child(work)
    try:
        _ask_until_it_answers(port)
    finally:
        second.signal(signal.SIGTERM)
        end = second.wait()
    expect(end.code in (0, 128 + signal.SIGTERM, -signal.SIGTERM), f"the next server: {end}")
    expect(contents(folder) == before, "a server has changed the model's files")
    return "the next server answers" if answers else "killed at its start, the next answers"


def _ask(port: int) -> None:
    """Expect the right prediction."""
    _, _, question, right = _served()
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/models/model/predict",
        question,
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=_PATIENCE) as answer:
        said = json.loads(answer.read())
    found = said["rows"][0]["probabilities"]["1"]
    expect(abs(found - right) < 1e-5, f"another prediction: {found}")


def _ask_until_it_answers(port: int) -> None:
    """Ask until there is a server."""
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            return _ask(port)
        except (ConnectionError, urllib.error.URLError):
            expect(time.monotonic() < end, "no server answers")
            time.sleep(0.02)


TARGETS = (_fit, _fit, _fit, _serve)
