"""What is remembered of a table's columns: plain data.

:class:`Column` is what the encoder learned of one of them; :class:`Columns` is as much of all of
them as a network needs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from reprlib import repr as short
from typing import Any

import numpy as np

from sasanet import errors
from sasanet.table.reading import NUMBERS, Level

_KIND = {  # in words: one column, several
    "number": ("number", "numbers"),
    "category": ("category", "categories"),
    "dates": ("column of dates", "columns of dates"),
    "tags": ("column of tags", "columns of tags"),
    "vectors": ("column of vectors", "columns of vectors"),
    "text": ("column of text", "columns of text"),
    "ids": ("column of ids", "columns of ids"),
}
_LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True)
class Column:
    """What the encoder remembers about one column: plain data, no arrays."""

    name: str
    kind: str  # "number", "category", or one of BAGS
    levels: tuple[Level, ...] = ()  # categories: the known levels, in order
    knots: tuple[float, ...] = ()  # numbers: values of the training column, increasing
    mean: float = 0.0
    std: float = 1.0
    seen: bool = True  # whether training had any value of a number
    parts: tuple[Column, ...] = ()  # bags: the plain columns that each cell is read as
    zone: str = ""  # dates: their time zone

    @property
    def places(self) -> int:
        """How many places the ruler has."""
        return len(self.knots) if self.kind == "number" else len(self.levels) + 1

    @property
    def rulers(self) -> tuple[Column, ...]:
        """The plain columns that cells are placed on: itself, or its parts."""
        return self.parts or (self,)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON-able data: of a bag its parts, of plain columns the rest."""
        if self.parts:
            parts = [part.to_dict() for part in self.parts]
            return {"name": self.name, "kind": self.kind, "zone": self.zone, "parts": parts}
        return {name: value for name, value in vars(self).items() if name in _PLAIN}


_PLAIN = ("name", "kind", "levels", "knots", "mean", "std", "seen")
_BAG = ("name", "kind", "zone", "parts")
BAGS = ("dates", "tags", "vectors", "text", "ids")  # the kinds of bags: see sasanet.table.bags


@dataclass(frozen=True)
class Columns:
    """What the network must know of the table: places per cell, and which are numbers.

    Each of the N columns has one cell, or several if it is a bag. The first cells of all columns
    come first, then the further cells of bags; ``owners`` has the column of each of these.
    ``directions`` says in which columns the output may only rise (1) or fall (−1); empty: in none.
    """

    places: tuple[int, ...]
    is_number: tuple[bool, ...]
    owners: tuple[int, ...] = ()
    directions: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.places) - len(self.owners)

    @classmethod
    def of(cls, columns: Sequence[Column]) -> Columns:
        """Return as much of columns as a network needs."""
        rulers = rulers_of(columns)
        owners = tuple(j for j, column in enumerate(columns) for _ in column.rulers[1:])
        is_number = tuple(ruler.kind == "number" for ruler in rulers)
        return cls(tuple(ruler.places for ruler in rulers), is_number, owners)


def rulers_of(columns: Sequence[Column]) -> tuple[Column, ...]:
    """Return the plain column of every cell: the first of all columns, then those of bags."""
    further = [part for column in columns for part in column.rulers[1:]]
    return (*(column.rulers[0] for column in columns), *further)


def with_rulers(columns: Sequence[Column], rulers: Sequence[Column]) -> tuple[Column, ...]:
    """Return columns with other plain columns for their cells, in the order of the cells."""
    further, found = iter(rulers[len(columns) :]), []
    for column, first in zip(columns, rulers, strict=False):
        parts = (first, *(next(further) for _ in column.rulers[1:]))
        found.append(replace(column, parts=parts) if column.parts else first)
    return tuple(found)


def count_kinds(columns: Sequence[Column]) -> str:
    """Return how many columns of each kind there are, in words.

    Examples
    --------
    >>> count_kinds([Column("age", "number"), Column("job", "category")])
    '1 number, 1 category'
    """
    counts = {"number": 0, "category": 0, **Counter(column.kind for column in columns)}
    return ", ".join(f"{n} {name_of_kind(kind, n)}" for kind, n in counts.items())


def name_of_kind(kind: str, count: int = 1) -> str:
    """Return what so many columns of one kind are called.

    Examples
    --------
    >>> name_of_kind("dates")
    'column of dates'
    """
    return _KIND[kind][count != 1]


def family(value: Any) -> str:
    """Return which levels this one can be compared with: "truth", "number" or "text"."""
    truth = isinstance(value, bool | np.bool_)
    return "truth" if truth else "number" if isinstance(value, NUMBERS) else "text"


def expect(holds: Any, what: str, value: object) -> None:
    """Refuse a saved encoder in which something does not hold."""
    if not holds:
        raise errors.SavedFileError(f"In the saved encoder {what}, got {short(value)}.")


def read_fields(saved: Any, names: tuple[str, ...]) -> list[Any]:
    """Return the values of these fields, which must be all there are."""
    found = sorted(saved) if isinstance(saved, dict) else saved
    expect(found == sorted(names), f"there must be the fields {', '.join(names)}", found)
    return [saved[name] for name in names]


def column_from_dict(saved: Any) -> Column:
    """Rebuild a column from its saved fields, checking every one."""
    if isinstance(saved, dict) and "parts" in saved:
        return _bag_from_dict(saved)
    fields = read_fields(saved, _PLAIN)
    name, kind, levels, knots, mean, std, seen = fields
    expect(isinstance(seen, bool), "seen must be true or false", seen)
    known = isinstance(name, str) and kind in ("number", "category")
    expect(known, "a column must have a name and be a number or a category", (name, kind))
    listed = isinstance(levels, list | tuple) and isinstance(knots, list | tuple)
    expect(listed, f"levels and knots of {name!r} must be lists", (levels, knots))
    plain = all(type(level) in (str, bool, int, float) for level in levels)
    plain = plain and len(set(levels)) == len(levels) and len(set(map(family, levels))) < 2
    expect(plain, f"the levels of {name!r} must be unique and all text, numbers or truths", levels)
    reals = [*knots, mean, std, *(level for level in levels if type(level) is float)]
    finite = all(type(real) in (int, float) and abs(real) <= _LARGEST for real in reals)
    expect(finite and std > 0, f"{name!r} must have finite numbers and std > 0", reals)
    expect(sorted(set(knots)) == list(knots), f"the knots of {name!r} must increase", knots)
    fitting = bool(knots) and not levels if kind == "number" else not knots
    expect(fitting, f"numbers have knots, categories levels: {name!r}", (levels, knots))
    numbers = tuple(map(float, knots))
    return Column(name, kind, tuple(levels), numbers, float(mean), float(std), seen)


def _bag_from_dict(saved: Any) -> Column:
    """Rebuild a bag, whose parts are plain columns."""
    name, kind, zone, parts = read_fields(saved, _BAG)
    known = isinstance(name, str) and kind in BAGS and isinstance(zone, str)
    expect(known, "a bag must have a name, a kind and a zone", (name, kind, zone))
    listed = isinstance(parts, list | tuple) and parts
    expect(listed, f"the parts of {name!r} must be a list", parts)
    plain = all(isinstance(part, dict) and "parts" not in part for part in parts)
    expect(plain, f"the parts of {name!r} must be plain columns", parts)
    found = tuple(map(column_from_dict, parts))
    names = {part.name for part in found}
    expect(len(names) == len(found), f"the parts of {name!r} must have different names", names)
    return Column(name, kind, parts=found, zone=zone)
