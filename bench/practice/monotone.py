"""A search for rows, coalitions and pairs of values at which a monotone model is not monotone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sasanet.arrays import Floats

_ROUNDING = 1e-6  # of the largest output: eight units in the last place of a 32-bit number
_AT_ONCE = 20_000


@dataclass
class Search:
    """What was found: pairs tried, those where the output moved the wrong way, and by how much.

    ``largest`` is the largest such move as a share of the largest output, whether or not it is
    more than the rounding of 32-bit numbers; only those that are more count as violations.
    """

    pairs: int = 0
    violations: int = 0
    largest: float = 0.0
    moved: int = 0  # pairs where the output moved the right way: a constant model has none

    def add(self, gains: Floats, size: float) -> None:
        """Count the gains, in the direction of the constraint, of some pairs."""
        self.pairs += len(gains)
        self.violations += int((gains < -_ROUNDING * size).sum())
        self.moved += int((gains > _ROUNDING * size).sum())
        self.largest = max(self.largest, float(-gains.min()) / size)


def find_violations(
    model: Any, X: pd.DataFrame, directions: dict[str, int], n_pairs: int, seed: int = 0
) -> Search:
    """Compare v(S) at two values of a constrained column, all else equal, n_pairs times.

    The rows are drawn from X with their missing cells, and half of them get each cell from another
    row; the coalitions are of every size and hold the constrained column.
    """
    rng = np.random.default_rng(seed)
    found, left = Search(), n_pairs
    names = list(directions)
    while left > 0:
        name = names[int(rng.integers(len(names)))]
        count = min(left, _AT_ONCE)
        rows = _rows(X, count, rng)
        low, high = _values(X[name], count, rng)
        known = rng.random((count, X.shape[1])) < rng.random((count, 1))
        known[:, X.columns.get_loc(name)] = True
        before, after = (model.value(rows.assign(**{name: v}), known) for v in (low, high))
        size = max(np.abs(before).max(), np.abs(after).max())
        found.add((after - before) * directions[name], size)
        left -= count
    return found


def _rows(X: pd.DataFrame, count: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return rows of the table; in half of them every cell comes from a row of its own."""
    rows = X.iloc[rng.integers(len(X), size=count)].reset_index(drop=True)
    n_mixed = count // 2
    for column in X.columns:
        mixed = X[column].iloc[rng.integers(len(X), size=n_mixed)]
        rows[column] = pd.concat([mixed, rows[column][n_mixed:]], ignore_index=True)
    return rows


def _values(column: pd.Series, count: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return two values each, the lower one first: seen ones, others, neighbours, extremes."""
    seen = column.dropna().to_numpy(dtype=np.float64)
    low, high = seen.min(), seen.max()
    margin = (high - low) / 2 + 1
    kinds = rng.integers(4, size=(2, count))
    drawn = rng.choice(seen, (2, count))
    anywhere = rng.uniform(low - margin, high + margin, (2, count))
    extreme = rng.choice([low, high, -1e300, 1e300], (2, count))
    values = np.select([kinds == 0, kinds == 1, kinds == 2], [drawn, anywhere, extreme], drawn)
    near = kinds[1] == 3  # a neighbour of the first value
    values[1, near] = values[0, near] + rng.normal(size=near.sum()) * margin * 1e-3
    return values.min(0), values.max(0)
