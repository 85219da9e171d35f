"""Values of arguments, right and wrong ones, and how some of them are drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from torture.draw import Draw


@dataclass(frozen=True)
class Values:
    """Values of one argument: those that work, those that must be refused, those that may be."""

    good: tuple[Any, ...]
    bad: tuple[Any, ...]
    either: tuple[Any, ...] = ()


NOT_NUMBERS: tuple[Any, ...] = (
    "x",
    None,
    True,
    math.nan,
    1j,
    [1],
    {},
    object(),
    b"1",
    np.array([1, 2]),
)
NOT_COUNTS = (*NOT_NUMBERS, 0, -1, 1.5, np.float64(2.5), math.inf)
NOT_SHARES = (*NOT_NUMBERS, 1, 2.0, -0.1, math.inf)


def draw_arguments(
    draw: Draw, known: dict[str, Values], most: int
) -> tuple[dict[str, Any], bool | None]:
    """Return some arguments, and whether the call must work, must not, or may."""
    found: dict[str, Any] = {}
    works: bool | None = True
    for name in draw.some_of(sorted(known), most):
        values, kind = known[name], draw.random.random()
        if kind < 0.5 or not (values.bad or values.either):
            found[name] = draw.one_of(values.good)
        elif (kind < 0.85 and values.bad) or not values.either:
            found[name], works = draw.one_of(values.bad), False
        else:
            found[name] = draw.one_of(values.either)
            works = None if works else works
    return found, works
