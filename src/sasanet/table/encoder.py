"""A table comes in, one number per cell goes out: the place of the value on its column's ruler.

The cell of a bag, such as a date, is read as several: its parts (:mod:`sasanet.table.bags`). The
first parts stand in the places of their columns, the further ones of all columns at the end.

A category's place is the index of its level: 0 is kept for levels never seen in training, 1..L are
known. A number's place is its position among the column's knots (training quantiles), flat beyond
both ends; or, for the paper's embedding, its standard score. NaN is missing: an absent player.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from reprlib import repr as short
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sasanet import errors
from sasanet.errors import InvalidInputError
from sasanet.table.bags.parts import place_bag
from sasanet.table.columns import Column, Columns, column_from_dict, expect, read_fields, rulers_of
from sasanet.table.learning import column_kind, learn_column, warn_of_unique_levels
from sasanet.table.one_row import RowReader, name_diff, place_numbers
from sasanet.table.reading import Level, check_names, read_levels, read_numbers, read_table

_MOST_KNOTS, _FEWEST_KNOTS = 2**15, 4  # of all columns together, and of one
_SETTINGS = ("numbers", "n_knots", "named", "categorical_features", "min_level_count")


@dataclass(frozen=True)
class EncodedTable:
    """Rows in the columns of training and their cells [n, N], to be used several times.

    Every method of a fitted model that takes a table takes this one too, and encodes nothing.
    """

    table: pd.DataFrame
    cells: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.table)

    def take(self, rows: NDArray[np.intp]) -> EncodedTable:
        """Return some of the rows, by position."""
        return EncodedTable(self.table.iloc[rows], self.cells[rows])


class TableEncoder:
    """Learn one ruler per column and read tables with it.

    Parameters
    ----------
    numbers : {"knots", "standard"}
        The ruler of numbers: the position among training quantiles, or (x - mean) / std.
    n_knots : int
        At most so many knots per number column, 2 or more. A value that dominates gets its own.
    categorical_features : sequence of str or int
        Number columns to be read as categories (codes): their names, or positions in an array.
    min_level_count : int
        Nothing is remembered that fewer training rows have: rarer levels are read like those never
        seen, and every knot is the mean of at least so many neighbouring values.

    Examples
    --------
    >>> table = pd.DataFrame({"age": [20, 40, None], "city": ["Rome", None, "Oslo"]})
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.transform(table)
    array([[ 0.,  2.],
           [ 1., nan],
           [nan,  1.]], dtype=float32)
    >>> encoder.transform(pd.DataFrame({"city": ["Rome"], "age": [25.0]}))
    array([[0.25, 2.  ]], dtype=float32)
    """

    def __init__(
        self,
        numbers: str = "knots",
        n_knots: int = 64,
        categorical_features: Sequence[str | int] = (),
        min_level_count: int = 1,
    ) -> None:
        if numbers not in ("knots", "standard"):
            raise InvalidInputError(f"numbers must be 'knots' or 'standard', got {numbers!r}.")
        self.numbers = numbers
        self.n_knots = _read_count("n_knots", n_knots, least=2)
        self.min_level_count = _read_count("min_level_count", min_level_count, least=1)
        self.categorical_features = _read_keys(categorical_features)
        self.columns: tuple[Column, ...] = ()  # what was learned, in the order of training
        self.named = False  # did the training table name its columns by strings?
        self._row_reader: RowReader | None = None  # made when a row is first read alone

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def rulers(self) -> tuple[Column, ...]:
        """The plain column of every cell: those of bags are their parts."""
        return rulers_of(self.columns)

    @property
    def layout(self) -> Columns:
        """What a network must know of the columns."""
        return Columns.of(self.columns)

    @property
    def places(self) -> tuple[int, ...]:
        """How many places the ruler of every cell has."""
        return self.layout.places

    @property
    def is_number(self) -> tuple[bool, ...]:
        """Which cells are numbers."""
        return self.layout.is_number

    @property
    def n_levels(self) -> tuple[int | None, ...]:
        """How many levels each category has, with the one for unseen levels; ``None``: numbers."""
        return tuple(None if c.kind == "number" else c.places for c in self.rulers)

    @property
    def has_text(self) -> bool:
        """Whether any column is free text."""
        return any(column.kind == "text" for column in self.columns)

    def fit(self, X: Any, beside: pd.DataFrame | None = None) -> TableEncoder:
        """Learn the columns of a table (anything ``read_table`` reads).

        Numbers that stand among words in the rows ``beside`` it, held out, are levels here too.
        """
        frame = read_table(X)
        check_names(frame)
        names = [str(label) for label in frame.columns]
        codes, n_knots = self.code_columns(names), self.knots_of(len(names))
        self.columns = tuple(
            learn_column(frame.iloc[:, j], name, n_knots, name in codes, self.min_level_count)
            for j, name in enumerate(names)
        )
        if beside is not None and (words := self._with_words(beside)):
            self.columns = tuple(
                learn_column(frame.iloc[:, j], column.name, n_knots, True, self.min_level_count)
                if j in words
                else column
                for j, column in enumerate(self.columns)
            )
        warn_of_unique_levels(self.columns, len(frame))
        self.named = all(isinstance(label, str) for label in frame.columns)
        return self

    def _with_words(self, rows: pd.DataFrame) -> set[int]:
        """Return which columns of numbers have something else in other rows."""
        return {
            j
            for j, column in enumerate(self.columns)
            if column.kind == "number"
            and rows.iloc[:, j].dtype.kind not in "iufb"
            and column_kind(rows.iloc[:, j], column.name, False) == "category"
        }

    def knots_of(self, n_columns: int) -> int:
        """Return how many knots a number may have at most: fewer in a table of very many columns.

        Each takes as many weights as a cell vector is wide, and every step of training goes through
        all of them: with 2^18 knots a step of 1,000 columns takes three times as long.
        """
        return min(self.n_knots, max(_FEWEST_KNOTS, _MOST_KNOTS // n_columns))

    def refuse_bags(self, who: str) -> None:
        """Refuse columns with several parts on behalf of who cannot read them."""
        if bags := [column for column in self.columns if column.parts]:
            raise InvalidInputError(
                f"{who} needs columns of numbers and categories, got {bags[0].kind} in "
                f"{bags[0].name!r}; turn them into numbers or drop the column."
            )

    def code_columns(self, names: Sequence[str]) -> set[str]:
        """Return the columns to be read as categories whatever they hold."""
        codes = {str(c) for c in self.categorical_features}
        if strangers := codes.difference(names):
            what = f"{short(sorted(strangers))} not in {short(list(names))}"
            raise InvalidInputError(f"categorical_features must name columns of X, got {what}.")
        return codes

    def transform(self, X: Any, warn: bool = True) -> NDArray[np.float32]:
        """Return the place of every cell, float32 [n, N], NaN where the cell is missing."""
        frame = self.align(read_table(X))
        cells = np.empty((len(frame), len(self.rulers)), dtype=np.float32)
        unseen: list[str] = []
        further = len(self.columns)  # where the next bag's further cells begin
        for j, column in enumerate(self.columns):
            if not column.parts:
                cells[:, j] = self._placed(frame.iloc[:, j], column, repr(column.name), unseen)
                continue
            end = further + len(column.parts) - 1
            found = self._placed_parts(frame.iloc[:, j], column, unseen)
            for position, part in zip((j, *range(further, end)), found, strict=True):
                cells[:, position] = part
            further = end
        if unseen and warn:
            self._warn_of_unseen(unseen)
        return cells

    def _placed_parts(
        self, series: pd.Series, column: Column, unseen: list[str]
    ) -> list[NDArray[Any]]:
        """Return the places of the parts of a bag's cells, [n] each."""

        def place(cells: pd.Series, part: Column) -> NDArray[Any]:
            return self._placed(cells, part, f"{column.name!r} ({part.name})", unseen)

        return place_bag(series, column, place)

    def _placed(
        self, series: pd.Series, column: Column, label: str, unseen: list[str]
    ) -> NDArray[Any]:
        """Return the places of a plain column's cells, [n]; levels never seen are noted."""
        if column.kind == "number":
            values = read_numbers(series, column.name)
            # Of a column never present in training nothing was learned: its cells are absent.
            if not column.seen:
                return np.full(len(values), np.nan)
            return place_numbers(values, column, self.numbers)
        places, strangers = _place_levels(series, column)
        unseen += [f"{label} {short(strangers[:3])}"] if strangers else []
        return places

    def transform_row(self, row: Any) -> NDArray[np.float32]:
        """Return the cells of one row, [1, N], without making a table of it.

        They are those of :meth:`transform`. The row is a mapping of the names to cells, or a
        sequence of cells in the order of training; ``None`` and NaN are missing.

        Examples
        --------
        >>> table = pd.DataFrame({"age": [20, 40, None], "city": ["Rome", None, "Oslo"]})
        >>> TableEncoder().fit(table).transform_row({"city": "Rome", "age": 25})
        array([[0.25, 2.  ]], dtype=float32)
        """
        cells, unseen = self._reader().read(row)
        if unseen:
            self._warn_of_unseen(unseen)
        return cells

    def row_values(self, row: Any) -> Sequence[Any]:
        """Return the cells of one row as given, in the order of training."""
        return self._reader().values(row)

    def _reader(self) -> RowReader:
        """Return the reader of single rows, made when the first one comes."""
        reader = self._row_reader
        if reader is None or reader.columns is not self.columns:
            reader = self._row_reader = RowReader(self.columns, self.numbers)
        return reader

    def _warn_of_unseen(self, unseen: list[str]) -> None:
        more = f" and {len(unseen) - 3} more" if len(unseen) > 3 else ""
        rare = f" in {self.min_level_count} rows" if self.min_level_count > 1 else ""
        which = f"Levels never seen{rare} in training get place 0"
        what = f"{which}: {', '.join(unseen[:3])}{more}."
        errors.warn_user(what, errors.UnknownLevelWarning)

    def place(self, position: int, values: list[Any]) -> NDArray[np.float32]:
        """Return the places of some values of one column: [m]."""
        column, series = self.columns[position], pd.Series(values)
        assert not column.parts, "a bag has no one place"
        if column.kind != "number":
            return _place_levels(series, column)[0]
        numbers = read_numbers(series, column.name)
        return place_numbers(numbers, column, self.numbers).astype(np.float32)

    def align(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the columns in the order of training: one rule for every method.

        A table with the labels of training is put in their order. One without names (an array, or
        labels 0, 1, 2, …), or any table where training had no names, is read by position. Other
        names are refused.
        """
        labels: list[Any] = list(frame.columns)
        got, want = [str(label) for label in labels], list(self.names)
        if got == want:
            return frame
        without_names = labels == list(range(len(labels)))
        # Columns named "1" and "0" are not the positions 1 and 0 of an array.
        if sorted(got) == sorted(want) and not (self.named and without_names):
            return frame.set_axis(got, axis=1)[want]
        if self._has_names and not without_names:
            raise InvalidInputError(name_diff(want, got))
        if len(got) != len(want):
            size = f"{len(got)} features, but SASANet is expecting {len(want)} features"
            raise InvalidInputError(f"X has {size} as input.")
        return frame

    def has_labels_of(self, X: Any) -> bool:
        """Tell whether a table is read by its labels, not by position."""
        labels = getattr(X, "columns", None)
        return labels is not None and sorted(map(str, labels)) == sorted(self.names)

    @property
    def _has_names(self) -> bool:
        """Whether the training table had labels other than 0, 1, 2, …."""
        return self.named or self.names != tuple(str(j) for j in range(len(self.columns)))

    def to_dict(self) -> dict[str, Any]:
        """Return everything learned as JSON-able data; ``from_dict`` reads it back."""
        settings = {key: getattr(self, key) for key in _SETTINGS}
        return {**settings, "columns": [column.to_dict() for column in self.columns]}

    @classmethod
    def from_dict(cls, saved: Any) -> TableEncoder:
        """Rebuild an encoder from what ``to_dict`` returned, checking every field."""
        fields = read_fields(saved, (*_SETTINGS, "columns"))
        numbers, n_knots, named, keys, min_level_count, columns = fields
        listed = isinstance(keys, list | tuple) and all(type(key) in (str, int) for key in keys)
        expect(listed, "categorical_features must be a list of names or positions", keys)
        expect(isinstance(named, bool), "named must be true or false", named)
        expect(isinstance(columns, list | tuple) and columns, "columns must be a list", columns)
        try:
            encoder = cls(numbers, n_knots, keys, min_level_count)
        except InvalidInputError as error:
            raise errors.SavedFileError(f"The saved encoder cannot be used: {error}") from None
        encoder.columns, encoder.named = tuple(map(column_from_dict, columns)), named
        expect(len(set(encoder.names)) == len(columns), "names must be unique", encoder.names)
        return encoder


def _read_count(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InvalidInputError(f"{name} must be an integer >= {least}, got {value!r}.")
    return int(value)


def _read_keys(given: Any) -> tuple[str | int, ...]:
    """Return names or positions of columns as plain text and integers."""
    listed = given if isinstance(given, Sequence | np.ndarray | pd.Index | pd.Series) else None
    keys: list[Any] = [given] if isinstance(given, str) else [None] if listed is None else [*listed]
    if not all(isinstance(key, str | int | np.integer) for key in keys):
        raise InvalidInputError(
            "categorical_features must be a list of column names, or of positions in an array, "
            f"got {short(given)}."
        )
    return tuple(str(key) if isinstance(key, str) else int(key) for key in keys)


def _place_levels(series: pd.Series, column: Column) -> tuple[NDArray[np.float32], list[Level]]:
    """Return the places of a category's cells, and the levels never seen in training."""
    codes, levels = read_levels(series, column.name)
    if column.levels and isinstance(column.levels[0], str):  # text is compared as text
        levels = [str(level) for level in levels]
    known = {level: place for place, level in enumerate(column.levels, start=1)}
    places = [known.get(level, 0) for level in levels]
    strangers = [level for level, place in zip(levels, places, strict=True) if place == 0]
    return np.array([*places, np.nan], dtype=np.float32)[codes], strangers
