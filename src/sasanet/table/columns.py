"""What is remembered of a table's columns: plain data.

:class:`Column` is what the encoder learned of one of them; :class:`Columns` is as much of all of
them as a network needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from reprlib import repr as short
from typing import Any

import numpy as np

from sasanet import errors
from sasanet.table.reading import NUMBERS, Level

_LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True)
class Column:
    """What the encoder remembers about one column: plain data, no arrays."""

    name: str
    kind: str  # "number" or "category"
    levels: tuple[Level, ...] = ()  # categories: the known levels, in order
    knots: tuple[float, ...] = ()  # numbers: values of the training column, increasing
    mean: float = 0.0
    std: float = 1.0
    seen: bool = True  # whether training had any value of a number

    @property
    def places(self) -> int:
        """How many places the ruler has."""
        return len(self.knots) if self.kind == "number" else len(self.levels) + 1


@dataclass(frozen=True)
class Columns:
    """What the network must know of the table: places per column, and which are numbers.

    ``directions`` says where the output may only rise (1) or fall (−1); empty: nowhere.
    """

    places: tuple[int, ...]
    is_number: tuple[bool, ...]
    directions: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.places)


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
    complete = isinstance(saved, dict) and set(saved) == set(names)
    expect(complete, f"there must be the fields {', '.join(names)}", saved)
    return [saved[name] for name in names]


def column_from_dict(saved: Any) -> Column:
    """Rebuild a column from its saved fields, checking every one."""
    fields = read_fields(saved, tuple(Column.__annotations__))
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
