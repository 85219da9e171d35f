"""Damaged and odd CSV, gzip and Parquet files through the command line.

A file that can be read gives every row, with its name exactly as it was and the model's own
prediction; one that cannot gives exit code 1, one sentence, and nothing written or lost.
"""

from __future__ import annotations

import csv
import functools
import gzip
import io
import json
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pyarrow import parquet
from typer.main import get_command

from sasanet import load
from sasanet.cli.app import app
from sasanet.scale import work
from torture.case import REFUSED, RIGHT, Outcome, expect
from torture.draw import Draw
from torture.inputs import csv_files, parquet_files
from torture.inputs.csv_files import ID, TARGET, TableFile
from torture.models import check_sums, small_model
from torture.processes import contents

_ENDINGS = (".csv", ".csv.gz", ".parquet", ".jsonl")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")
_OLD = b"what was there before"


@functools.cache
def _saved() -> tuple[Path, Any, pd.DataFrame]:
    model, X = small_model(0)
    folder = Path(tempfile.mkdtemp(prefix="torture-files-")) / "model"
    model.save(folder)
    return folder, model, X.reset_index(drop=True)


def run(seed: int) -> Outcome:
    """Give one file to one command."""
    draw = Draw("files", seed)
    _, _, known = _saved()
    X = known.iloc[draw.numbers.integers(0, len(known), draw.between(4, 30))]
    file = _draw_file(draw, X.reset_index(drop=True))
    commands = ("predict",) * 12 + ("explain",) * 12 + ("fit", "audit", "report")
    name = draw.one_of(commands)
    if name == "fit" and file.what == "odd extra column":  # it learns from that one too, if it can
        file = replace(file, legal=None)
    with tempfile.TemporaryDirectory(prefix="torture-") as place, _small_batches(draw):
        folder = Path(place)
        path = csv_files.write(file, folder)
        out = folder / f"out{_ending(draw, name)}"
        if name != "fit" and draw.happens(0.3):
            out.write_bytes(_OLD)
        before = contents(folder)
        answer = _invoke(_words(name, path, out, file))
        after = contents(folder)
        if answer.code:
            _check_refusal(answer, before, after)
            expect(file.legal is not True, f"{file.what}: refused: {answer.said[:150]}")
            return Outcome.of(REFUSED)
        legal = file.legal is not False or (name == "fit" and file.can_be_learned)
        expect(legal, f"{file.what} was accepted by {name}")
        expect(after[path.name] == before[path.name], "the table that was read has changed")
        expect({name.split("/")[0] for name in after} == {path.name, out.name}, f"{sorted(after)}")
        _check_written(name, out, file)
    return Outcome.of(RIGHT)


def _draw_file(draw: Draw, X: pd.DataFrame) -> TableFile:
    """Return a file that is whole, broken or damaged."""
    ids = csv_files.draw_ids(draw, len(X))
    kind = draw.one_of(("whole", "whole", "broken", "damaged"))
    if draw.happens(0.35):
        if kind == "broken":
            return parquet_files.broken(draw, X, ids)
        file = parquet_files.whole(draw, X, ids)
    elif kind == "broken":
        return csv_files.broken(draw, X, ids)
    else:
        file = draw.one_of(csv_files.LEGAL)(draw, X, ids)
    return csv_files.damaged(draw, file) if kind == "damaged" else file


@contextmanager
def _small_batches(draw: Draw) -> Iterator[None]:
    """Read a few rows at once: what happens between two batches is seen in small files too."""
    kept = work._FEWEST_ROWS, work._NUMBERS_AT_ONCE
    work._FEWEST_ROWS, work._NUMBERS_AT_ONCE = draw.one_of((2, 5, 100)), 1
    try:
        yield
    finally:
        work._FEWEST_ROWS, work._NUMBERS_AT_ONCE = kept


def _ending(draw: Draw, name: str) -> str:
    return {"fit": "", "audit": ".json", "report": ".html"}.get(name) or (
        draw.one_of(_ENDINGS) if name != "fit" else ""
    )


def _words(name: str, path: Path, out: Path, file: TableFile) -> list[str]:
    """Return the words of a command line."""
    words: list[Any] = [name, path, "--out", out, "--force", *file.words]
    if name != "fit":
        words.insert(1, _saved()[0])
    more: dict[str, tuple[Any, ...]] = {
        "fit": ("--target", TARGET, "--exclude", ID, "--time-limit", 0.05),
        "audit": ("--target", TARGET, "--rows", 4, "--orders", 4),
        "report": ("--target", TARGET),
    }
    return [str(word) for word in (*words, *more.get(name, ("--id", ID)))]


@dataclass(frozen=True)
class _Answer:
    """How a command ended, and what it said on its error stream."""

    code: int
    said: str


@functools.cache
def _commands() -> Any:
    """Return the commands, made once: a runner for tests makes them anew for every call."""
    return get_command(app)


def _invoke(words: list[str]) -> _Answer:
    """Run ``sasanet`` in this process; an exception that gets out of it is a defect."""
    code: Any = 0
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()) as said:
        try:
            _commands().main(words, prog_name="sasanet")
        except SystemExit as end:
            code = end.code
    return _Answer(code or 0, said.getvalue())


def _check_refusal(answer: _Answer, before: dict[str, bytes], after: dict[str, bytes]) -> None:
    """Expect exit code 1, one sentence, and everything as it was."""
    said = answer.said
    expect(answer.code == 1, f"exit code {answer.code}: {said[:99]}")
    lines = [line for line in said.splitlines() if line and not line.startswith("Note: ")]
    expect(len(lines) == 1 and len(said) < 3000, f"no sentence: {said[:200]!r}")
    unexpected = re.search(r"Unexpected \w+:|Traceback", said)  # as the command names other errors
    expect(not unexpected, f"no sentence: {said[:200]}")
    expect(after == before, f"a refused command left {sorted(after)} of {sorted(before)}")


def _check_written(name: str, out: Path, file: TableFile) -> None:
    """Expect that what a command has written is whole and right."""
    if name == "fit":
        fitted = load(out)
        same = set(fitted.encoder_.names) == set(file.X.columns)  # else the file has more of them
        rows = file.X.assign(age=None) if file.can_be_learned else file.X  # age was another kind
        if same:
            check_sums(fitted, rows)
        return None
    if name == "audit":
        return expect(json.loads(out.read_bytes())["seal"], "no whole certificate")
    if name == "report":
        return expect(out.read_bytes().rstrip().endswith(b"</html>"), "half a report")
    found = read_written(out)
    expect(found["row"] == list(range(1, len(found["row"]) + 1)), "rows are missing")
    numbers = np.array(found["prediction"], dtype=float)
    expect(np.isfinite(numbers).all(), "a prediction is not finite")
    if file.legal is None:  # what damage makes of a table is nobody's promise
        return None
    expect(len(numbers) == len(file.X), f"{len(numbers)} rows of {len(file.X)}")
    for one, other in zip(file.ids, found[ID], strict=True):
        check_id(one, other, out.name)
    _, model, _ = _saved()
    right = model.predict(file.X) if name == "predict" else model.decision_function(file.X)
    expect(np.allclose(numbers, right, 1e-5, 1e-5), "predictions differ from the model's")
    return None


def check_id(one: Any, other: Any, name: str) -> None:
    """Expect a row's name as it was; in CSV as text that no spreadsheet runs."""
    if ".csv" not in name:
        return expect(one == other and type(one) is type(other), f"{one!r} came back as {other!r}")
    text = "" if one is None else str(one)
    runs = other.startswith(_FORMULAS) and not _NUMBER.fullmatch(other)
    expect(not runs, f"the formula {other!r} was written")
    return expect(other in (text, f"'{text}"), f"{one!r} came back as {other!r}")


def read_written(out: Path) -> dict[str, list[Any]]:
    """Return the columns of a file that a command has written."""
    if out.suffix == ".parquet":
        table: dict[str, list[Any]] = parquet.read_table(out).to_pydict()
        return table
    content = gzip.decompress(out.read_bytes()) if out.suffix == ".gz" else out.read_bytes()
    if out.suffix == ".jsonl":
        rows = [json.loads(line) for line in content.decode().split("\n") if line]
        return {name: [row[name] for row in rows] for name in rows[0]}
    head, *lines = csv.reader(content.decode().splitlines(keepends=True), strict=True)
    table = dict(zip(head, map(list, zip(*lines, strict=True)), strict=True))
    return table | {"row": [int(cell) for cell in table["row"]]}
