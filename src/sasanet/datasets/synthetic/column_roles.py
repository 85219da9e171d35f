"""The columns of a synthetic table: plain, exchangeable, near copies, independent of everything."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral

import numpy as np
import pandas as pd

from sasanet.errors import InvalidInputError

COPY_CORRELATION = 0.99  # of a redundant column with its source
_MOST_FEATURES = 62  # a coalition is one 64-bit number


@dataclass(frozen=True)
class Roles:
    """The role of every column of a synthetic table, in this order.

    x0, x1, ...: plain · twin0a, twin0b, ...: exchangeable pairs · copy_of_x0, copy_of_x1, ...:
    near copies of the first plain columns · null0, ...: independent of everything. Plain columns
    and twins are the *core*: y depends on them alone.
    """

    n_features: int
    redundant: int
    null: int
    symmetric: int

    def __post_init__(self) -> None:
        for name, low in (("n_features", 1), ("redundant", 0), ("null", 0), ("symmetric", 0)):
            count = getattr(self, name)
            if not isinstance(count, Integral) or count < low:
                raise InvalidInputError(
                    f"{name} must be a whole number of at least {low}, got {count!r}; "
                    "give a count of columns"
                )
        check_between("n_features", self.n_features, 1, _MOST_FEATURES, "make a narrower table")
        taken = self.redundant + self.null + 2 * self.symmetric
        if taken > self.n_features or self.null == self.n_features:
            raise InvalidInputError(
                "redundant + null + 2 * symmetric must be at most n_features, one of which is not "
                f"null, got {taken} of {self.n_features}; raise n_features"
            )
        if self.redundant > self.n_plain:
            raise InvalidInputError(
                f"redundant must be at most the {self.n_plain} plain columns left to copy, "
                f"got {self.redundant}; raise n_features"
            )

    @property
    def n_plain(self) -> int:
        """Columns without a special role."""
        return self.n_features - self.redundant - self.null - 2 * self.symmetric

    @property
    def n_core(self) -> int:
        """Columns that y depends on, the first ones of the table."""
        return self.n_plain + 2 * self.symmetric

    @property
    def twins(self) -> list[tuple[int, int]]:
        """Positions of each exchangeable pair."""
        return [(i, i + 1) for i in range(self.n_plain, self.n_core, 2)]

    @property
    def names(self) -> list[str]:
        """Column names, by role."""
        plain = [f"x{i}" for i in range(self.n_plain)]
        twins = [f"twin{i}{side}" for i in range(self.symmetric) for side in "ab"]
        copies = [f"copy_of_x{i}" for i in range(self.redundant)]
        return plain + twins + copies + [f"null{i}" for i in range(self.null)]


def check_between(name: str, number: float, low: float, high: float, remedy: str) -> None:
    """Raise if a number is outside [low, high] or NaN."""
    if not low <= number <= high:
        upper = "" if math.isinf(high) else f" and at most {high:.6g}"
        raise InvalidInputError(
            f"{name} must be at least {low:.6g}{upper}, got {number!r}; {remedy}"
        )


def check_rows(n_rows: int, missing: float) -> None:
    """Raise if a table would have no rows, or hardly any cells."""
    check_between("n_rows", n_rows, 1, math.inf, "ask for one row or more")
    check_between("missing", missing, 0, 0.99, "give the share of cells to remove")


def remove_cells(table: pd.DataFrame, share: float, random: np.random.Generator) -> pd.DataFrame:
    """Remove cells completely at random, each with the same probability."""
    return table.mask(random.random(table.shape) < share)
