"""A sketch of a number column in bounded memory, which can be merged with others.

Up to 16,384 distinct values are counted exactly. Beyond, values are kept in buffers by level, where
one of level l stands for 2^l rows: a full buffer is sorted and every second value moves up a level
(Munro and Paterson, 1980; Karnin, Lang and Liberty, "Optimal quantile approximation in streams",
2016). With buffers of k values the rank of any of n values is off by at most n log2(n / k) / (2 k):
0.15 % at ten million rows, and far less in practice, as errors of different buffers cancel.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sasanet.arrays import Floats

_EXACT = 16_384  # distinct values that are counted one by one
_BUFFER = 4_096


@dataclass
class QuantileSketch:
    """Counts of distinct values or, where there are too many, values that stand for others.

    Examples
    --------
    >>> sketch = QuantileSketch()
    >>> sketch.add(np.array([2.0, 1.0, 2.0]))
    >>> sketch.summary()
    (array([1., 2.]), array([1., 2.]))
    """

    distinct: Floats = field(default_factory=lambda: np.empty(0))
    counts: Floats = field(default_factory=lambda: np.empty(0))
    levels: list[Floats] | None = None  # values by level, once there are too many to count
    low: float = math.inf
    high: float = -math.inf
    moments: Moments = field(default_factory=lambda: Moments())
    odd: bool = False  # which of two neighbours moves up: in turn

    @property
    def is_exact(self) -> bool:
        """Whether every distinct value is still counted."""
        return self.levels is None

    def add(self, values: Floats) -> None:
        """Count more values, in any order; NaN is not allowed."""
        if not len(values):
            return
        self.moments = self.moments.merged(Moments.of(values))
        ordered = np.sort(values)
        self.low, self.high = min(self.low, ordered[0]), max(self.high, ordered[-1])
        if self.levels is None:
            distinct, counts = np.unique(ordered, return_counts=True)
            self._count(distinct, counts.astype(float))
        else:
            self._insert(ordered)

    def merge(self, other: QuantileSketch) -> None:
        """Count what another sketch has counted."""
        self.moments = self.moments.merged(other.moments)
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        if other.levels is None:
            if self.levels is None:
                self._count(other.distinct, other.counts)
            else:
                self._insert_counted(other.distinct, other.counts)
            return
        self._give_up_counting()
        for level, values in enumerate(other.levels):
            self._put(level, values)

    def summary(self) -> tuple[Floats, Floats]:
        """Return distinct values in order, and how many rows each stands for."""
        if self.levels is None:
            return self.distinct, self.counts
        weights = [np.full(len(values), 2.0**k) for k, values in enumerate(self.levels)]
        ends, none = np.array([self.low, self.high]), np.zeros(2)
        return _tally(np.concatenate([*self.levels, ends]), np.concatenate([*weights, none]))

    def _count(self, distinct: Floats, counts: Floats) -> None:
        self.distinct, self.counts = _tally(
            np.concatenate([self.distinct, distinct]), np.concatenate([self.counts, counts])
        )
        if len(self.distinct) > _EXACT:
            self._give_up_counting()

    def _give_up_counting(self) -> None:
        if self.levels is None:
            self.levels = []
            self._insert_counted(self.distinct, self.counts)
            self.distinct = self.counts = np.empty(0)

    def _insert_counted(self, distinct: Floats, counts: Floats) -> None:
        """Put a value that c rows have on the levels of the binary digits of c."""
        whole = counts.astype(np.int64)
        for level in range(int(whole.max(initial=0)).bit_length()):
            self._put(level, distinct[(whole >> level) & 1 == 1])

    def _insert(self, ordered: Floats) -> None:
        """Put sorted values on the level where they fill no more than a buffer."""
        level = max(0, math.ceil(math.log2(len(ordered) / _BUFFER)))
        step = 2**level
        whole = len(ordered) - len(ordered) % step
        self._put(level, ordered[step // 2 : whole : step] if level else ordered)
        if level and whole < len(ordered):
            self._put(0, ordered[whole:])

    def _put(self, level: int, values: Floats) -> None:
        assert self.levels is not None
        while len(self.levels) <= level:
            self.levels.append(np.empty(0))
        self.levels[level] = np.concatenate([self.levels[level], values])
        while level < len(self.levels) and len(self.levels[level]) >= 2 * _BUFFER:
            full = np.sort(self.levels[level])
            pairs = len(full) // 2 * 2
            self.levels[level] = full[pairs:]
            self.odd = not self.odd
            if level + 1 == len(self.levels):
                self.levels.append(np.empty(0))
            moved = full[int(self.odd) : pairs : 2]
            self.levels[level + 1] = np.concatenate([self.levels[level + 1], moved])
            level += 1


@dataclass(frozen=True)
class Moments:
    """Count, mean and sum of squared distances from it; long doubles, as squares may be large."""

    n: float = 0
    mean: Any = 0.0
    squares: Any = 0.0

    @classmethod
    def of(cls, values: Floats, weights: Floats | None = None) -> Moments:
        """Return the moments of some values; with weights, n counts these."""
        unit = float(np.abs(values).max(initial=0)) or 1.0  # sums and squares of 1e308 overflow
        scaled = values / unit
        total = len(values) if weights is None else float(weights.sum())
        if not total:
            return cls()
        mean = np.average(scaled, weights=weights)
        squares = np.average((scaled - mean) ** 2, weights=weights) * total
        wide = np.longdouble(unit)
        return cls(total, wide * mean, wide * wide * squares)

    def merged(self, other: Moments) -> Moments:
        """Return the moments of both (Chan, Golub and LeVeque, 1979)."""
        n = self.n + other.n
        if not n:
            return self
        apart = other.mean - self.mean
        mean = self.mean + apart * (other.n / n)
        squares = self.squares + other.squares + apart * apart * (self.n * (other.n / n))
        return Moments(n, mean, squares)

    @property
    def std(self) -> float:
        """The standard deviation."""
        return float(np.sqrt(self.squares / self.n)) if self.n else 0.0


def _tally(values: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Return distinct values in order, and the sum of the counts of each."""
    distinct, places = np.unique(values, return_inverse=True)
    return distinct, np.bincount(places, counts, minlength=len(distinct)).astype(float)
