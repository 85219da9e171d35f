"""SIGKILL at a random moment of save, explain, report and explain_batches.

Afterwards the place holds what was there before or what was to come, whole; what the killed process
left beside it is gone after the next writer.
"""

from __future__ import annotations

import functools
import shutil
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from sasanet import load
from sasanet.report import write_report
from sasanet.scale import explain_batches
from torture.case import Outcome, expect
from torture.draw import Draw
from torture.jobs import parts_and_explained
from torture.models import FILES, same_answers, small_model
from torture.processes import Child, command, contents

_SAVES = 200  # of a child, if nobody kills it


@functools.cache
def _models() -> tuple[Any, Any, pd.DataFrame]:
    one, X = small_model(0)
    return one, small_model(1)[0], X


def run(seed: int) -> Outcome:
    """Kill one writer and look at what it leaves."""
    draw = Draw("kills", seed)
    target = draw.one_of((_save, _save, _explain, _report, _batches))
    with tempfile.TemporaryDirectory(prefix="torture-") as place:
        return Outcome.of(target(draw, Path(place)))


def _kill(child: Child, after: float) -> int:
    """Kill a child after a while, and return how it ended."""
    time.sleep(after)
    child.signal(signal.SIGKILL)
    return child.wait().code


def _save(draw: Draw, place: Path) -> str:
    """Kill somebody who saves two models in turn."""
    one, other, X = _models()
    folder = place / "model"
    one.save(folder)

    def save_in_turn() -> str:
        for _ in range(_SAVES):
            other.save(folder)
            one.save(folder)
        return ""

    code = _kill(Child(save_in_turn), draw.seconds(0.4))
    found = load(folder)
    which = [same_answers(found, model, X) for model in (one, other)]
    expect(any(which), "neither model was there after a kill")
    n_left = len(contents(folder))
    expect(n_left <= 5, f"{n_left} files after one kill")
    other.save(folder)
    expect(len(contents(folder)) == FILES, "the next save leaves files of the killed one")
    expect(same_answers(load(folder), other, X), "the next save is not what is loaded")
    return (
        "the old model, whole" if which[0] and code == -signal.SIGKILL else "the new model, whole"
    )


@functools.cache
def _explained() -> tuple[Path, bytes]:
    """Return a directory with a model and a table, and what explaining it writes."""
    place = Path(tempfile.mkdtemp(prefix="torture-explain-"))
    model, X = small_model(0)
    model.save(place / "model")
    X.to_csv(place / "table.csv", index=False)
    code = Child(_explain_to(place, place / "right.csv")).wait().code
    expect(code == 0, f"explain ended with {code}")
    return place, (place / "right.csv").read_bytes()


def _explain_to(place: Path, out: Path) -> Callable[[], int | str]:
    return command("explain", place / "model", place / "table.csv", "--out", out, "--force")


def _explain(draw: Draw, place: Path) -> str:
    """Kill ``sasanet explain`` while a file is at the place it writes to."""
    source, right = _explained()
    out = place / "phi.csv"
    out.write_bytes(b"old")
    code = _kill(Child(_explain_to(source, out)), draw.seconds(0.3))
    expect(out.read_bytes() in (b"old", right), "neither the old nor the new file")
    state = "old" if out.read_bytes() == b"old" else "new"
    again = Child(_explain_to(source, out)).wait().code
    expect(again == 0, f"the next run ended with {again}")
    expect(contents(place) == {"phi.csv": right}, f"{sorted(contents(place))} after the next run")
    return f"the {state} file, whole" if code == -signal.SIGKILL else "the new file, whole"


def _batches(draw: Draw, place: Path) -> str:
    """Kill ``explain_batches`` among its parts, and let the same call go on."""
    model, _, _ = _models()
    parts, right = parts_and_explained()
    out = place / "parts"
    child = Child(lambda: str(explain_batches(model, parts, out, n_jobs=1)))
    code = _kill(child, draw.seconds(0.3))
    began = len(contents(out)) if out.exists() else 0
    explain_batches(model, parts, out, n_jobs=1)
    expect(contents(out) == right, f"{sorted(contents(out))} after the call that went on")
    stopped = code == -signal.SIGKILL and began
    return "went on among its parts" if stopped else "began anew, or had ended"


def _report(draw: Draw, place: Path) -> str:
    """Kill somebody who writes a report."""
    model, _, X = _models()
    out = place / "report.html"
    out.write_bytes(b"old")
    child = Child(lambda: str(write_report(model, X, out)))
    _kill(child, draw.seconds(0.6))
    content = out.read_bytes()
    expect(content == b"old" or content.rstrip().endswith(b"</html>"), "half a report")
    for left in [path for path in place.iterdir() if path != out]:
        expect(left.name.startswith(".draft-"), f"{left.name} was left behind")
    write_report(model, X, out)
    expect(sorted(contents(place)) == ["report.html"], "the next report leaves files")
    shutil.rmtree(place)
    place.mkdir()
    return "the old file, whole" if content == b"old" else "the new file, whole"
