"""Kill a server: the next one answers at the same port, from untouched files."""

from __future__ import annotations

import functools
import json
import signal
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

from sasanet.serve.process import free_port
from torture.case import expect
from torture.draw import Draw
from torture.models import small_model
from torture.processes import Child, command, contents

_PATIENCE = 30.0  # seconds until a server answers


@functools.cache
def _served() -> tuple[Path, dict[str, bytes], bytes, float]:
    """Return a model's directory, its content, a question, and the right prediction."""
    model, X = small_model(0)
    place = Path(tempfile.mkdtemp(prefix="torture-survival-")) / "model"
    model.save(place)
    question = X[:1].to_json(orient="records").encode()
    return place, contents(place), question, float(model.predict_proba(X[:1])[0, 1])


def kill_a_server(draw: Draw, place: Path) -> str:
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
