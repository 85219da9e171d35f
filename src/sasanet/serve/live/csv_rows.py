"""A CSV file in, the same file with predictions, reasons and attributions out."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sasanet.serve.inference import Answer
from sasanet.serve.limits import Limits, unusable
from sasanet.serve.reading import Cell, Rows, from_columns, shown
from sasanet.table.columns import Column
from sasanet.table.formulas import escape_formula

_MISSING = ("", "NA", "NaN", "nan", "null")
_TRUTHS = {"true": True, "false": False}


@dataclass(frozen=True)
class CsvFile:
    """The lines of a CSV file, and what separates their cells."""

    names: list[str]
    lines: list[list[str]]
    separator: str


def read_csv(body: bytes) -> CsvFile:
    r"""Return the lines of a CSV file; the first has the names.

    Examples
    --------
    >>> read_csv(b"age;city\n31;Oslo\n").lines
    [['31', 'Oslo']]
    """
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise unusable("A CSV file must be text in UTF-8, got something else.") from None
    head = text.partition("\n")[0]
    separator = max((",", ";", "\t"), key=head.count)
    try:
        lines = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    except csv.Error:
        raise unusable(
            "A CSV file must have lines of cells, got one that cannot be read."
        ) from None
    lines = [line for line in lines if line]
    if len(lines) < 2:
        raise unusable("A CSV file must have a line of names and at least one row.")
    names = lines.pop(0)
    if len({*names}) < len(names):
        raise unusable("A CSV file must name each column once.")
    for number, line in enumerate(lines, start=2):
        if len(line) != len(names):
            raise unusable(
                f"Line {number} must have {len(names)} cells as the first has, got {len(line)}."
            )
    return CsvFile(names, lines, separator)


def csv_rows(file: CsvFile, columns: Sequence[Column], limits: Limits) -> Rows:
    """Return the rows of a file as the model takes them."""
    known = {column.name: column for column in columns}
    if not known.keys() & {*file.names}:
        raise unusable(
            f"The first line must name columns of the model such as {shown(columns[0].name)}."
        )
    given: dict[str, list[Any]] = {}
    for j, name in enumerate(file.names):
        if name in known:
            read = _reader(known[name])
            cells = ((number, line[j].strip()) for number, line in enumerate(file.lines, start=2))
            given[name] = [_read(read, text, name, number) for number, text in cells]
    return from_columns(given, columns, limits)


def _read(read: Callable[[str], Cell], text: str, name: str, line: int) -> Cell:
    try:
        return read(text)
    except ValueError:
        raise unusable(
            f"Column {shown(name)} must hold numbers, got {shown(text)} in line {line}."
        ) from None


def _reader(column: Column) -> Callable[[str], Cell]:
    """Return the function that reads one cell of a column from its text."""
    if column.kind == "number":
        return lambda text: None if text in _MISSING else float(text)
    levels: dict[str, Cell] = {str(level): level for level in column.levels}
    if any(isinstance(level, bool) for level in column.levels):
        levels |= _TRUTHS

    def read(text: str) -> Cell:
        if text in levels:
            return levels[text]
        if text in _MISSING:
            return None
        try:  # 3.0 is the level 3
            return levels.get(str(int(number)), text) if (number := float(text)) % 1 == 0 else text
        except (ValueError, OverflowError):
            return text

    return read


def write_csv(file: CsvFile, answer: Answer, n_reasons: int) -> str:
    """Return the file with what the model says of every row beside its own cells."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=file.separator, lineterminator="\r\n")
    added = _added_columns(answer, n_reasons)
    writer.writerow([escape_formula(name) for name in (*file.names, *added)])
    for i, line in enumerate(file.lines):
        said = [column[i] for column in added.values()]
        writer.writerow([escape_formula(cell) for cell in (*line, *said)])
    return out.getvalue()


def _added_columns(answer: Answer, n_reasons: int) -> dict[str, list[Any]]:
    """Return the columns that are added, by name; names are those of ``sasanet explain``."""
    served, arrays = answer.served, answer.arrays
    found: dict[str, list[Any]] = {"prediction": answer.predictions}
    for k, label in enumerate(served.labels):
        found[f"probability_{label}"] = arrays["probabilities"][:, k].tolist()
    filled = [(said + [""] * n_reasons)[:n_reasons] for said in answer.reasons]
    for k in range(n_reasons):
        found[f"reason_{k + 1}"] = [said[k] for said in filled]
    found["warnings"] = [" ".join(said) for said in answer.warnings]
    several = arrays["base_value"].ndim > 1
    names = served.model.target_.output_names
    tails = [f" | {name}" for name in names] if several else [""]
    bases = arrays["base_value"].reshape(len(filled), -1)
    phi = arrays["attributions"].reshape(len(filled), len(served.columns), -1)
    for k, tail in enumerate(tails):
        found[f"base_value{tail}"] = bases[:, k].tolist()
    for j, column in enumerate(served.columns):
        for k, tail in enumerate(tails):
            found[f"phi_{column.name}{tail}"] = phi[:, j, k].tolist()
    return found
