"""Rows without a table around them: a mapping, a sequence, or lists by column → their cells.

What a cell means is what :class:`~sasanet.table.encoder.TableEncoder` reads of a table: the places
are bit-identical. A table of one row takes pandas a hundred times as long.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from math import isinf, nan
from reprlib import repr as short
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sasanet.arrays import Floats
from sasanet.errors import InvalidInputError
from sasanet.table.bags.parts import place_bag
from sasanet.table.columns import Column, rulers_of
from sasanet.table.reading import (
    NUMBERS,
    TableTypeError,
    is_readable,
    plain_level,
    refusal,
    text_refusal,
)

LARGEST_SCORE = 1e9  # standard deviations from the mean: networks square what they read
Place = Callable[[Any], float]  # of a cell that is not missing


class RowReader:
    """Read single rows with the rulers of a table's columns.

    Parameters
    ----------
    columns : tuple of Column
        What was learned of the columns.
    numbers : {"knots", "standard"}
        The ruler of numbers.
    """

    def __init__(self, columns: tuple[Column, ...], numbers: str) -> None:
        self.columns, self._numbers = columns, numbers
        self._names = [column.name for column in columns]
        self._every_name = set(self._names)
        rulers = rulers_of(columns)
        self._places: list[Place] = [_ruler(column, numbers) for column in rulers]
        self._place_of = dict(zip(map(id, rulers), self._places, strict=True))
        self._bags = [j for j, column in enumerate(columns) if column.parts]
        self._known = [_known_places(column) for column in columns]

    def read(self, row: Any) -> tuple[NDArray[np.float32], list[str]]:
        """Return the cells of a row, [1, d], and a note on each level never seen in training."""
        cells = self.values(row)
        if self._bags:
            return self._read_bags(cells)
        places = np.empty((1, len(cells)), dtype=np.float32)
        unseen = []
        for j, (cell, place) in enumerate(zip(cells, self._places, strict=True)):
            found = places[0, j] = nan if is_missing(cell) else place(cell)
            if found == 0 and self.columns[j].kind != "number":
                unseen.append(f"{self._names[j]!r} {short([cell])}")
        return places, unseen

    def read_columns(self, columns: Sequence[Sequence[Any]]) -> NDArray[np.float32]:
        """Return the cells of rows given as one list per plain column, [n, d].

        They may hold text, truth values, finite numbers, and ``None`` where a cell is missing.

        Examples
        --------
        >>> reader = RowReader((Column("age", "number", knots=(20.0, 40.0)),), "knots")
        >>> reader.read_columns([[25, None]])
        array([[0.25],
               [ nan]], dtype=float32)
        """
        assert not self._bags, "a bag has no one place"
        places = np.empty((len(columns[0]), len(columns)), dtype=np.float32)
        for j, cells in enumerate(columns):
            column, known, place = self.columns[j], self._known[j], self._places[j]
            if known is None:
                numbers = np.array(cells, dtype=np.float64)  # None becomes NaN
                places[:, j] = place_numbers(numbers, column, self._numbers) if column.seen else nan
                continue
            found = list(map(known.get, cells))
            if None in found:  # unseen, or a level that is written otherwise
                pairs = zip(found, cells, strict=True)
                found = [place(cell) if spot is None else spot for spot, cell in pairs]
            places[:, j] = found
        return places

    def _read_bags(self, cells: Sequence[Any]) -> tuple[NDArray[np.float32], list[str]]:
        """Return the same where some cells are bags: their parts are read as cells of their own."""
        firsts: list[float] = []
        further: list[float] = []
        unseen: dict[str, str] = {}

        def read(cell: Any, ruler: Column, label: str) -> float:
            found = nan if is_missing(cell) else self._place_of[id(ruler)](cell)
            if found == 0 and ruler.kind != "number":
                unseen[label] = f"{label} {short([cell])}"
            return found

        for cell, column in zip(cells, self.columns, strict=True):
            if not column.parts:
                firsts.append(read(cell, column, repr(column.name)))
                continue

            def place(series: pd.Series, part: Column, name: str = column.name) -> NDArray[Any]:
                return np.array([read(series.iloc[0], part, f"{name!r} ({part.name})")])

            found = place_bag(pd.Series([cell], dtype=object), column, place)
            firsts.append(found[0][0])
            further += [part[0] for part in found[1:]]
        return np.array([firsts + further], dtype=np.float32), list(unseen.values())

    def values(self, row: Any) -> Sequence[Any]:
        """Return the cells of a row as given, in the order of training."""
        if isinstance(row, Mapping | pd.Series):
            named = {str(name): cell for name, cell in row.items()}
            if len(row) != len(self._names) or named.keys() != self._every_name:
                raise InvalidInputError(name_diff(self._names, [*map(str, row.keys())]))
            return [named[name] for name in self._names]
        flat = isinstance(row, Sequence) and not isinstance(row, str | bytes)
        if not flat and not (isinstance(row, np.ndarray) and row.ndim == 1):
            raise TableTypeError(
                "row must be a mapping of names to cells, or a sequence of cells, got "
                f"{short(row)} ({type(row).__name__}); give tables to predict and explain"
            )
        if len(row) != len(self._names):
            raise InvalidInputError(
                f"row must have {len(self._names)} cells, got {len(row)}; None stands for a "
                "missing one"
            )
        return row

    def __reduce__(self) -> tuple[type[RowReader], tuple[tuple[Column, ...], str]]:
        return RowReader, (self.columns, self._numbers)  # its functions cannot be pickled


def is_missing(cell: Any) -> bool:
    """Tell whether a cell is missing: None, NaN, and what pandas puts in their place."""
    if cell is None or cell is pd.NA or cell is pd.NaT:
        return True
    return isinstance(cell, NUMBERS) and bool(cell != cell)


def _ruler(column: Column, numbers: str) -> Place:
    """Return the function that finds the place of a column's cells."""
    if column.kind != "number":
        return _level_ruler(column)
    name, knots = column.name, [knot / 2 for knot in column.knots]
    if not column.seen:  # nothing was learned of it: its cells are checked, and absent
        return lambda cell: nan * _number(cell, name)
    if numbers == "standard":
        return lambda cell: _score(_number(cell, name), column)
    return lambda cell: _among(knots, _number(cell, name) / 2)


def _known_places(column: Column) -> dict[Any, float] | None:
    """Return the places of a category's levels, NaN where a cell is missing; None of others."""
    if column.kind != "category":
        return None
    return {None: nan} | {level: float(j) for j, level in enumerate(column.levels, start=1)}


def _level_ruler(column: Column) -> Place:
    known = {level: float(place) for place, level in enumerate(column.levels, start=1)}
    as_text = bool(column.levels) and isinstance(column.levels[0], str)

    def place(cell: Any) -> float:
        if type(cell) is not str and not is_readable(type(cell)):
            raise refusal(column.name, cell)
        level = cell if type(cell) is str else plain_level(cell)
        if isinstance(level, float) and isinf(level):
            raise refusal(column.name, level)
        return known.get(str(level) if as_text else level, 0.0)

    return place


def _number(cell: Any, name: str) -> float:
    """Return a cell of a column of numbers, finite."""
    if not isinstance(cell, NUMBERS):
        readable = is_readable(type(cell))
        raise text_refusal(name, cell, "float(cell)") if readable else refusal(name, cell)
    try:
        number = float(cell)
    except OverflowError:  # a Python integer beyond 1e308
        raise refusal(name, np.inf) from None
    if isinf(number):
        raise refusal(name, number)
    return number


def _score(number: float, column: Column) -> float:
    score = (number - column.mean) / column.std
    return min(max(score, -LARGEST_SCORE), LARGEST_SCORE)


def _among(knots: Sequence[float], number: float) -> float:
    """Return the place of a number among the knots, both halved, as ``np.interp`` computes it."""
    if number <= knots[0]:
        return 0.0
    last = len(knots) - 1
    if number >= knots[last]:
        return float(last)
    below = bisect_right(knots, number) - 1
    slope = 1.0 / (knots[below + 1] - knots[below])
    return min(slope * (number - knots[below]) + below, float(last))


def place_numbers(values: Floats, column: Column, numbers: str) -> Floats:
    """Return the places of a column's numbers, NaN where one is missing: [n]."""
    if numbers == "standard":
        with np.errstate(over="ignore"):
            scores = (values - column.mean) / column.std
        return np.clip(scores, -LARGEST_SCORE, LARGEST_SCORE)
    # Halved, because the distance between two finite numbers may exceed the largest one; capped,
    # because the slope between two knots closer than 1e-308 is infinite.
    knots, last = np.array(column.knots) / 2, len(column.knots) - 1
    places = np.minimum(np.interp(values / 2, knots, np.arange(last + 1)), last)
    places[np.isnan(values)] = np.nan  # np.interp over a single knot forgets NaN
    return places


def name_diff(want: list[str], got: list[str]) -> str:
    """Return what differs between the names of training and those of a table or row."""
    missing = [f"- {name} (missing)" for name in want if name not in got]
    extra = [f"+ {name} (not seen in training)" for name in got if name not in want]
    twice = [f"+ {name} (more than once)" for name in want if got.count(name) > 1]
    groups = (missing, extra, twice)
    lines = [line for group in groups for line in group[:5]]
    hidden = sum(map(len, groups)) - len(lines)
    lines.insert(0, "The feature names should match those that were passed during fit.")
    return "\n".join([*lines, *([f"… and {hidden} more"] if hidden else [])])
