"""SIGINT and SIGTERM at a random moment of a command.

The file that was there stays or the new one is there, whole; no draft is left; the exit code is
that of the manual. ``fit`` may save the best state so far when it is interrupted.
"""

from __future__ import annotations

import functools
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from sasanet import load
from torture.case import Outcome, expect
from torture.draw import Draw
from torture.models import check_sums, small_model
from torture.processes import Child, command, contents

# Before the command has begun, Python itself answers; a fork says so with code 70.
CODES = {
    signal.SIGINT: {0: "finished", 130: "interrupted", 70: "interrupted at the start"},
    signal.SIGTERM: {0: "finished", 143: "ended", -signal.SIGTERM: "ended"},
}


@functools.cache
def _source() -> Path:
    """Return a directory with a model, a table to learn from and one to explain."""
    place = Path(tempfile.mkdtemp(prefix="torture-signals-"))
    model, X = small_model(0)
    model.save(place / "model")
    random = np.random.default_rng(0)
    rows = X.iloc[random.integers(0, len(X), 3_000)]
    rows.to_csv(place / "table.csv", index=False)
    labelled: pd.DataFrame = rows[:80].assign(bad=random.integers(0, 2, 80))
    labelled.to_csv(place / "train.csv", index=False)
    return place


def run(seed: int) -> Outcome:
    """Interrupt one command and look at what it leaves."""
    draw = Draw("signals", seed)
    number = draw.one_of((signal.SIGINT, signal.SIGTERM))
    target = draw.one_of((_fit, _explain, _report))
    with tempfile.TemporaryDirectory(prefix="torture-") as place:
        work, most, check = target(Path(place), _source())
        child = Child(work)
        time.sleep(most * draw.random.random())  # a draft stands there until the very end
        child.signal(number)
        ended = child.wait()
        expect(ended.code in CODES[number], f"{number.name}: exit code {ended.code}: {ended.said}")
        left = [name for name in contents(Path(place)) if "draft" in name]
        expect(not left, f"{number.name}: {len(left)} drafts left by {target.__name__[1:]}")
        check()
        return Outcome.of(f"{number.name}: {CODES[number][ended.code]}, files whole")


Target = tuple[Callable[[], int | str], float, Callable[[], object]]


def _fit(place: Path, source: Path) -> Target:
    out = place / "model"
    model, X = small_model(0)
    model.save(out)
    words = ("fit", source / "train.csv", "--target", "bad", "--out", out, "--force")
    return command(*words, "--time-limit", 2), 4.0, lambda: check_sums(load(out), X)


def _explain(place: Path, source: Path) -> Target:
    out = place / "phi.csv"
    out.write_bytes(b"old")

    def check() -> None:
        content = out.read_bytes()
        whole = content == b"old" or content.count(b"\n") == 3_001
        expect(whole, f"half a file of {len(content)} bytes")

    words = ("explain", source / "model", source / "table.csv", "--out", out, "--force")
    return command(*words, "--top", 2), 1.0, check


def _report(place: Path, source: Path) -> Target:
    out = place / "report.html"
    out.write_bytes(b"old")

    def check() -> None:
        content = out.read_bytes()
        expect(content == b"old" or content.rstrip().endswith(b"</html>"), "half a report")

    words = ("report", source / "model", source / "table.csv", "--out", out, "--force")
    return command(*words), 3.0, check
