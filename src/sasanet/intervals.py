"""Numbers per row in, a statistic of their means with its 95 % interval out.

Every finding is a smooth function of means over rows, so one bootstrap serves them all: rows are
drawn anew with replacement, means and statistic follow. Rows are the only unit of resampling;
whatever belongs to one row (features, outputs, the truth's noise) moves with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sasanet.arrays import Floats

Statistic = Callable[[Floats], Floats]  # means (..., c) → (...)
Interval = tuple[float, float, float]  # value, low, high

UNDEFINED: Interval = (math.nan, math.nan, math.nan)
_RESAMPLES = 500
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
    """Return a statistic at least 0 and ± 1.96 of its bootstrap standard errors.

    For sums of absolute values: noise makes them larger, drawing anew makes them larger again, so
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


def wilson(successes: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Return Wilson's 95 % interval of shares, which is never empty: low, high.

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


def _resample(statistic: Statistic, per_row: Floats) -> tuple[float, Floats]:
    """Return the statistic of the rows, and of rows drawn anew where it is defined there."""
    n = len(per_row)
    # One seed for all: findings of the same rows move together, and an audit can be repeated.
    counts = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), size=_RESAMPLES)
    # Around the means, so that equal rows give exactly equal draws.
    means = per_row.mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        draws = statistic(means + counts @ (per_row - means) / n)
        return float(statistic(means)), draws[np.isfinite(draws)]


class Moments:
    """Mean and squared deviations of draws that come in batches.

    Batches are merged around their own means. Sums of squares would be shorter, but lose half of
    the digits: draws that agree exactly must have an error of zero, not of 1e-8.
    """

    def __init__(self) -> None:
        self.count = 0
        self.mean: Floats = np.zeros(())
        self._squares: Floats = np.zeros(())

    def add(self, draws: Floats) -> None:
        """Add a batch; draws lie along the second axis: (n, draws, ...)."""
        new, mean = draws.shape[1], draws.mean(axis=1)
        total = self.count + new
        step = mean - self.mean
        deviations = ((draws - mean[:, None]) ** 2).sum(axis=1)
        self._squares = self._squares + deviations + step**2 * (self.count * new / total)
        self.mean = self.mean + step * (new / total)
        self.count = total

    def error_std(self) -> Floats:
        """Return the standard error of the mean; NaN where a single draw cannot tell."""
        if self.count < 2:
            return np.full_like(self.mean, math.nan)
        return np.sqrt(self._squares / (self.count * (self.count - 1)))
