"""Types of columns: inferred from the cells for training, taken from the model afterwards.

A column of text holds numbers if every filled cell is one and none begins with zeros, as codes do;
integers with more digits than a float can hold are refused. It holds dates if every filled cell is
one (:mod:`~sasanet.cli.files.dates`). Afterwards the model's own encoder
decides, column by column, so that every chunk of every file is read alike.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from reprlib import repr as short
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sasanet.cli.files.dates import dates_as_trained, infer_dates, refuse_stranger
from sasanet.cli.files.tables import Chunk, Table
from sasanet.errors import InvalidInputError
from sasanet.table.bags.parts import bag_kind
from sasanet.table.columns import Column
from sasanet.table.reading import Level

# What stands for a missing cell in CSV files: the words pandas takes for it.
MISSING = frozenset(("", "NA", "N/A", "n/a", "#NA", "#N/A", "#N/A N/A", "<NA>"))
MISSING |= {"NaN", "nan", "-NaN", "-nan", "NULL", "null", "None"}
MISSING |= {"1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"}
_LARGEST_EXACT = 2**53  # beyond it a float cannot tell two neighbouring integers apart
_FEW = 10  # different numbers among words are levels, such as "1", "2", "3+"; more are numbers


@dataclass(frozen=True)
class TypedColumns:
    """Columns with their inferred types, and what the user should know about them."""

    frame: pd.DataFrame
    notes: tuple[str, ...] = ()


def pick(table: Table, wanted: Sequence[str], option: str) -> list[str]:
    """Return columns named by a repeated or comma-separated option, refusing unknown ones."""
    found = []
    for text in wanted:
        parts = [text] if text in table.names else [part.strip() for part in text.split(",")]
        for name in parts:
            if name not in table.names:
                raise InvalidInputError(_no_column(table, name, option))
            found.append(name)
    return found


def pick_one(table: Table, name: str | None, option: str) -> list[str]:
    """Return the column named by an option that takes one, in a list; no name, no column."""
    if name is not None and name not in table.names:
        raise InvalidInputError(_no_column(table, name, option))
    return [] if name is None else [name]


def _no_column(table: Table, name: str, option: str) -> str:
    close = [other for other in table.names if other.lower() == name.lower()]
    close = close or difflib.get_close_matches(name, table.names)
    hint = f"perhaps {' or '.join(map(repr, close))}" if close else f"it has {_some(table.names)}"
    return f"{option} must name a column of {table.path}, got {name!r}; {hint}."


def _some(names: Sequence[str]) -> str:
    """Return the first few names, and how many there are."""
    more = f", … ({len(names)} in all)" if len(names) > 5 else ""
    return ", ".join(map(repr, names[:5])) + more


def check_columns(table: Table, wanted: Sequence[str]) -> None:
    """Refuse a table that lacks columns the model was fitted on."""
    missing = [name for name in wanted if name not in table.names]
    if missing:
        raise InvalidInputError(
            f"{table.path} must have the {len(wanted)} columns the model was fitted on, got "
            f"{_some(table.names)}, without {_some(missing)}."
        )


# --- inferring -------------------------------------------------------------------------------


def infer_columns(chunk: Chunk, names: Sequence[str], categorical: Sequence[str]) -> TypedColumns:
    """Return the columns of a table to fit on; those named as categorical stay text."""
    columns, notes = {}, []
    for name in names:
        columns[name], note = infer_column(chunk, name, name in categorical)
        notes += [note] if note else []
    return TypedColumns(pd.DataFrame(columns), tuple(notes))


def infer_column(chunk: Chunk, name: str, categorical: bool = False) -> tuple[pd.Series, str]:
    """Return one column and a note about it, or ''."""
    cells = chunk.frame[name]
    if not chunk.typed:
        cells = cells.mask(cells.isin(MISSING))
    if cells.isna().all():
        raise InvalidInputError(
            f"Column {name!r} must hold a value somewhere, got {len(cells)} missing cells; leave "
            f"it out with --exclude {name!r}."
        )
    if categorical:
        return cells, "" if cells.dtype.kind in "iufb" else _note_unique(cells, name)
    return _typed_column(chunk, name, cells) if chunk.typed else _text_column(chunk, name, cells)


def _typed_column(chunk: Chunk, name: str, cells: pd.Series) -> tuple[pd.Series, str]:
    """Return a column that has a type of its own."""
    if cells.dtype.kind in "iu":
        huge = (cells > _LARGEST_EXACT) | (cells < -_LARGEST_EXACT)  # int64's least has no abs()
        _refuse_huge(chunk, name, huge.fillna(False))
    return cells, "" if cells.dtype.kind in "iufb" else _note_unique(cells, name)


def _text_column(chunk: Chunk, name: str, cells: pd.Series) -> tuple[pd.Series, str]:
    """Return a column of text as numbers, if all of it are numbers."""
    numbers = pd.to_numeric(cells, errors="coerce")
    words = cells.notna() & numbers.isna()
    if words.any():
        if (times := infer_dates(chunk, name, cells)) is not None:
            return times, ""
        _refuse_mixture(chunk, name, numbers, words)
        return cells, _note_unique(cells, name)
    if cells.str.fullmatch(r"\s*[+-]?0[0-9]+\s*").fillna(False).any():
        why = "some of its values begin with zeros, as codes do"
        note = f"Column {name!r} is read as categories, not numbers: {why}."
        return cells, _note_unique(cells, name) or note
    _refuse_infinity(chunk, name, numbers)
    whole = cells.str.fullmatch(r"\s*[+-]?[0-9]+\s*").fillna(False)
    _refuse_huge(chunk, name, whole & (numbers.abs() > _LARGEST_EXACT))
    return numbers, ""


def _refuse_huge(chunk: Chunk, name: str, huge: pd.Series) -> None:
    """Refuse integers that a float would change."""
    if huge.any():
        first = int(huge.to_numpy().argmax())
        raise InvalidInputError(
            f"Column {name!r} must not hold integers beyond 2^53, which a float cannot tell apart, "
            f"got {chunk.frame[name].iloc[first]} {chunk.where(first)}; correct it, or add "
            f"--exclude {name!r} or, if these are codes, --categorical {name!r}."
        )


def _note_unique(cells: pd.Series, name: str) -> str:
    """Return a note about a column with another text in nearly every row."""
    if bag_kind(cells):
        return ""
    try:
        distinct = cells.nunique()
    except TypeError:  # lists and dicts: the encoder refuses them
        return ""
    if len(cells) < 20 or distinct < 0.9 * len(cells):
        return ""
    what = f"Column {name!r} has {distinct:,} different texts in {len(cells):,} rows"
    others = "names, and dates unlike 2026-11-15, do not generalise"
    return f"{what}: {others}; --exclude {name!r} leaves it out."


def _refuse_mixture(chunk: Chunk, name: str, numbers: pd.Series, words: pd.Series) -> None:
    """Refuse words among numbers; a few different numbers among words are levels like them."""
    if numbers.notna().sum() <= words.sum() or numbers.nunique() <= _FEW:
        return
    refuse_stranger(chunk, name, int(words.to_numpy().argmax()), "numbers")


def _refuse_infinity(chunk: Chunk, name: str, numbers: pd.Series) -> None:
    infinite = np.isinf(numbers.to_numpy(dtype=np.float64, na_value=np.nan))
    if infinite.any():
        first = int(infinite.argmax())
        raise InvalidInputError(
            f"Column {name!r} must hold finite numbers, got "
            f"{short(chunk.frame[name].iloc[first])} {chunk.where(first)}; correct it, or empty it "
            "if it is missing."
        )


# --- as in training --------------------------------------------------------------------------


def as_trained(chunk: Chunk, columns: Sequence[Column]) -> pd.DataFrame:
    """Return the columns a model was fitted on, with the types they had in training."""
    return pd.DataFrame({column.name: column_as_trained(chunk, column) for column in columns})


def column_as_trained(chunk: Chunk, column: Column) -> pd.Series:
    """Return one column with its type in training: numbers, or levels of the same type."""
    cells = chunk.frame[column.name]
    text = isinstance(cells.dtype, pd.StringDtype) or cells.dtype == object
    if column.kind == "number":
        return _numbers(chunk, column.name) if text else cells
    if chunk.typed:
        return cells
    if column.kind == "dates":
        filled = cells.mask(cells.isin(MISSING))
        return dates_as_trained(chunk, column.name, column.zone, filled)
    known = {str(level): level for level in column.levels}
    cells = cells.mask(cells.isin(MISSING.difference(known)))  # "None" may be a level
    if not column.levels or isinstance(column.levels[0], str):
        return cells
    codes, texts = pd.factorize(cells)
    levels = np.array([*(_as_level(found, known) for found in texts), None], dtype=object)
    return pd.Series(levels[codes], index=cells.index, dtype=object)


def _numbers(chunk: Chunk, name: str) -> pd.Series:
    cells = chunk.frame[name]
    cells = cells.mask(cells.isin(MISSING))
    numbers = pd.to_numeric(cells, errors="coerce")
    if (words := cells.notna() & numbers.isna()).any():
        first = int(words.to_numpy().argmax())
        raise InvalidInputError(
            f"Column {name!r} must hold numbers, as in training, got "
            f"{short(cells.iloc[first])} {chunk.where(first)}; correct it, or empty it if it is "
            "missing."
        )
    _refuse_infinity(chunk, name, numbers)
    return numbers


def _as_level(text: str, known: dict[str, Level]) -> Level:
    """Return the level a text stands for: "true" is True, "3.0" is 3; unseen text stays text."""
    for spelling in (text, text.strip(), text.strip().capitalize()):
        if spelling in known:
            return known[spelling]
    number = pd.to_numeric(text, errors="coerce")
    if pd.isna(number) or not np.isfinite(number):
        return text
    return int(number) if float(number).is_integer() else float(number)


# --- labels ----------------------------------------------------------------------------------


def labels_as_trained(chunk: Chunk, name: str, classes: Sequence[Any]) -> NDArray[Any]:
    """Return the labels of a model's target; classes is empty for numbers."""
    kind = "category" if classes else "number"
    labels = column_as_trained(chunk, Column(name, kind, tuple(classes)))
    refuse_unlabelled(chunk, name, labels)
    if classes and isinstance(classes[0], str):
        labels = labels.astype("str")
    elif classes:
        _refuse_other_classes(chunk, name, labels, classes)
        return np.array(labels.tolist(), dtype=type(classes[0]))
    return labels.to_numpy()


def refuse_unlabelled(chunk: Chunk, name: str, labels: pd.Series) -> None:
    """Refuse rows without a label."""
    missing = labels.isna().to_numpy()
    if missing.any():
        raise InvalidInputError(
            f"The target {name!r} must be filled in every row, got {missing.sum():,} of "
            f"{len(labels):,} cells missing, the first {chunk.where(int(missing.argmax()))}; fill "
            "them or delete these rows."
        )


def _refuse_other_classes(
    chunk: Chunk, name: str, labels: pd.Series, classes: Sequence[Any]
) -> None:
    other = ~labels.isin(list(classes)).to_numpy()
    if other.any():
        first = int(other.argmax())
        raise InvalidInputError(
            f"The target {name!r} must hold the model's classes {short(list(classes))}, got "
            f"{short(labels.iloc[first])} {chunk.where(first)}."
        )
