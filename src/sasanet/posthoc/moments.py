"""Batches of equally distributed draws in, their mean and its standard error out."""

from __future__ import annotations

import math

import numpy as np

from sasanet.posthoc.game import Floats


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
