"""A disk that is full after some bytes: what was there before stays, and one sentence says why."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from sasanet.report import write_report
from torture.case import Outcome, expect
from torture.draw import Draw
from torture.models import small_model
from torture.processes import Child, Ended, command, contents, limited

OURS = ("FileWriteError", "InvalidInputError")
WHOLE, UNTOUCHED = "written, whole", "refused in one sentence, the old file untouched"


@functools.cache
def _made() -> tuple[Any, Any, pd.DataFrame, Any, Any, Path]:
    """Return two models, rows, an explanation, a certificate, and a directory to read from."""
    model, X = small_model(0)
    other, _ = small_model(1)
    place = Path(tempfile.mkdtemp(prefix="torture-disks-"))
    model.save(place / "model")
    X.to_csv(place / "table.csv", index=False)
    return model, other, X, model.explain(X), model.audit(X, n_rows=4, n_orders=4), place


def run(seed: int) -> Outcome:
    """Write one file with too little room, or just enough."""
    draw = Draw("disks", seed)
    model, other, X, explanation, audit, source = _made()
    writers: dict[str, Callable[[Path], Any]] = {
        "model": lambda out: other.save(out),
        "report.html": lambda out: write_report(model, X, out),
        "audit.json": audit.save,
        "phi.parquet": explanation.save,
    }
    commands = ("predict", "explain")
    name = draw.one_of([*writers, *commands])
    with tempfile.TemporaryDirectory(prefix="torture-") as place:
        folder = Path(place)
        out = folder / (name if name in writers else f"{name}{draw.one_of(_ENDINGS)}")
        if name == "model":
            model.save(out)
        else:
            out.write_bytes(b"old")
        before = contents(folder)
        n_bytes = draw.between(0, draw.one_of((100, 5_000, 200_000)))
        if name in writers:
            work: Callable[[], Any] = lambda: writers[name](out)  # noqa: E731
        else:
            words = (name, source / "model", source / "table.csv", "--out", out, "--force")
            work = _spoken(command(*words))
        ended = Child(limited(n_bytes, work)).wait()
        return Outcome.of(_judge(ended, before, contents(folder)))


_ENDINGS = (".csv", ".csv.gz", ".parquet", ".jsonl")


class _ExitCode(Exception):
    """A command that ended with another code than 0."""


def _spoken(run: Callable[[], int | str]) -> Callable[[], None]:
    """Return a command as something that raises where it fails, with what it said."""

    def work() -> None:
        import sys

        code = run()
        if code:
            raise _ExitCode(f"{code} {sys.stderr.getvalue()}")  # type: ignore[union-attr]

    return work


def _judge(ended: Ended, before: dict[str, bytes], after: dict[str, bytes]) -> str:
    """Return the outcome: written, or refused with everything as it was."""
    expect(ended.code == 0, f"the process ended with {ended.code}: {ended.said}")
    drafts = [name for name in after if "draft" in name or name.endswith(".tmp")]
    expect(not drafts, f"{drafts} left behind")
    if not ended.said:
        expect(after != before, "nothing was written, and nothing said")
        return WHOLE
    kind, _, text = ended.said.partition("\n")
    if kind == "_ExitCode":
        code, _, text = text.partition(" ")
        expect(code == "1", f"exit code {code}")
        expect("Traceback" not in text and "nexpected" not in text, f"no sentence: {text[:200]}")
        expect("This did not work" not in text, f"no sentence: {text[:200]}")
    else:
        expect(kind in OURS, f"{kind}: {text[:150]}")
    expect(len(text.strip().splitlines()) == 1, f"lines, not a sentence: {text[:200]!r}")
    expect(after == before, "the old file was changed")
    return UNTOUCHED
