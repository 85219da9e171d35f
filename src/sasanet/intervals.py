"""Uncertainty of what is measured: bootstrap intervals over rows, and means of random draws.

Most findings are smooth functions of means over rows, so one bootstrap serves them all: rows are
resampled with replacement, and means and statistic follow. Rows are the only unit of resampling;
whatever belongs to one row (features, outputs, noise of the reference values) moves with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sasanet.arrays import Floats

Statistic = Callable[[Floats], Floats]  # means (..., c) → (...)
Interval = tuple[float, float, float]  # value, low, high

UNDEFINED: Interval = (math.nan, math.nan, math.nan)
_RESAMPLES = 500
_MOST_KEPT = 10_000  # rows whose resampling is kept: ten megabytes
Z = 1.959964  # half of a 95 % interval, in standard errors


def mean(numbers: Floats) -> Interval:
    """Return the mean of one number per row: (n,) → value, low, high.

    Examples
    --------
    >>> mean(np.ones(8))
    (1.0, 1.0, 1.0)
    """
    return bootstrap(lambda means: means[..., 0], numbers[:, None])


def bootstrap(statistic: Statistic, per_row: Floats) -> Interval:
    """Return a statistic of column means and its percentile interval.

    Parameters
    ----------
    statistic : function
        Means (..., c) → (...).
    per_row : ndarray (n, c)
        The columns.

    Returns
    -------
    tuple of float
        Value, low, high; all NaN if the rows do not define the statistic.

    Examples
    --------
    >>> ratio = lambda means: means[..., 0] / means[..., 1]
    >>> bootstrap(ratio, np.array([[1.0, 2.0], [3.0, 6.0], [2.0, 4.0]]))
    (0.5, 0.5, 0.5)
    """
    value, draws = _resample(statistic, per_row)
    if not np.isfinite(value) or not len(draws):
        return UNDEFINED
    low, high = np.quantile(draws, [0.025, 0.975])
    return value, float(low), float(high)


def bootstrap_around(statistic: Statistic, per_row: Floats) -> Interval:
    """Return a statistic of at least 0, ± 1.96 of its bootstrap standard errors.

    For sums of absolute values: noise makes them larger, resampling makes them larger again, so
    that percentiles would lie beside the value instead of around it.

    Examples
    --------
    >>> size = lambda means: np.abs(means).sum(axis=-1)
    >>> bootstrap_around(size, np.full((8, 2), -0.5))
    (1.0, 1.0, 1.0)
    """
    value, draws = _resample(statistic, per_row)
    half = Z * float(draws.std())
    return value, max(0.0, value - half), value + half


def bootstrap_half_width(
    metric: Callable[[NDArray[np.intp]], float], n_rows: int, n_resamples: int, most_rows: int
) -> float:
    """Return 1.96 bootstrap standard errors of any metric of rows, however it is computed.

    Parameters
    ----------
    metric : function
        Positions of rows → number; NaN where these rows do not define it.
    n_rows : int
        How many rows there are.
    n_resamples : int
        How often they are resampled.
    most_rows : int
        Of a larger table a random part of so many rows is resampled: the error shrinks with the
        root of the number of rows.

    Returns
    -------
    float
        NaN where fewer than two resamples, or rows, define the metric.

    Examples
    --------
    >>> numbers = np.arange(100.0)
    >>> round(bootstrap_half_width(lambda rows: numbers[rows].mean(), 100, 400, 1000), 1)
    5.5
    """
    random = np.random.default_rng(0)
    part = random.permutation(n_rows)[:most_rows]
    draws = np.array([metric(random.choice(part, len(part))) for _ in range(n_resamples)])
    draws = draws[~np.isnan(draws)]
    error = float(np.std(draws)) if len(draws) > 1 and n_rows > 1 else math.nan
    return float(Z * error * np.sqrt(len(part) / n_rows))


def wilson(successes: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Return Wilson's 95 % interval of proportions, which is never empty: low, high.

    Examples
    --------
    >>> low, high = wilson(np.array([0.0]), np.array([10.0]))
    >>> low.round(3), high.round(3)
    (array([0.]), array([0.278]))
    """
    share, z2 = np.clip(successes / counts, 0.0, 1.0), Z**2
    middle = share + z2 / (2 * counts)
    half = Z * np.sqrt(share * (1 - share) / counts + z2 / (4 * counts**2))
    scale = 1 + z2 / counts
    return np.maximum(0.0, (middle - half) / scale), np.minimum(1.0, (middle + half) / scale)


@lru_cache(maxsize=1)  # an audit asks for the same rows again and again
def _counts(n: int) -> NDArray[np.uint16]:
    """Return how often each of n rows is drawn: [resamples, n].

    One seed for all: findings of the same rows move together, and an audit can be repeated.
    """
    counts = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), size=_RESAMPLES)
    return counts.astype(np.uint16)


def _resample(statistic: Statistic, per_row: Floats) -> tuple[float, Floats]:
    """Return the statistic of the rows, and of resampled rows where it is defined there."""
    n = len(per_row)
    counts = _counts(n) if n <= _MOST_KEPT else _counts.__wrapped__(n)
    # Around the means, so that equal rows give exactly equal draws.
    means = per_row.mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        draws = statistic(means + counts @ (per_row - means) / n)
        return float(statistic(means)), draws[np.isfinite(draws)]


class Batch(NamedTuple):
    """How many draws there were, their mean, and the sum of squared deviations from it.

    Numbers and arrays that broadcast, of numpy or of torch.
    """

    count: Any
    mean: Any
    squares: Any


def merge(a: Batch, b: Batch) -> Batch:
    """Return two batches of draws as one.

    Sums of squares would be shorter, but lose half of the digits: draws that agree must have an
    error of zero, not of 1e-8.

    Examples
    --------
    >>> merge(Batch(1, 3.0, 0.0), Batch(1, 5.0, 0.0))
    Batch(count=2, mean=4.0, squares=2.0)
    """
    count, step = a.count + b.count, b.mean - a.mean
    squares = a.squares + b.squares + step**2 * (a.count * b.count / count)
    return Batch(count, a.mean + step * (b.count / count), squares)


class RunningMean:
    """Mean of draws that come in batches, with its standard error."""

    def __init__(self) -> None:
        self._all = Batch(0, np.zeros(()), np.zeros(()))

    def add(self, draws: Floats) -> None:
        """Add a batch; draws lie along the second axis: (n, draws, ...)."""
        mean = draws.mean(axis=1)
        squares = ((draws - mean[:, None]) ** 2).sum(axis=1)
        self._all = merge(self._all, Batch(draws.shape[1], mean, squares))

    @property
    def mean(self) -> Floats:
        """The mean of all draws so far: (n, ...)."""
        found: Floats = self._all.mean
        return found

    def error_std(self) -> Floats:
        """Return the standard error of the mean; NaN where a single draw cannot tell."""
        count, mean, squares = self._all
        if count < 2:
            return np.full_like(mean, math.nan)
        return np.asarray(np.sqrt(squares / (count * (count - 1))))
