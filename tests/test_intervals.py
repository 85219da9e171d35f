"""Intervals cover the truth as often as they say."""

import numpy as np
import pytest
from scipy.stats import binomtest

from sasanet import intervals


def test_intervals_cover_the_truth_as_often_as_they_say():
    random = np.random.default_rng(1)
    found = [intervals.mean(random.exponential(size=60)) for _ in range(200)]
    covered = np.mean([low <= 1 <= high for _, low, high in found])
    assert 0.88 < covered < 0.99
    assert np.mean([low <= 1.5 <= high for _, low, high in found]) < 0.2


def test_wilsons_interval_is_the_known_one():
    for hits, count in ((0, 10), (3, 30), (30, 30)):
        low, high = intervals.wilson(np.array([hits]), np.array([count]))
        known = binomtest(hits, count).proportion_ci(method="wilson")
        assert (low[0], high[0]) == pytest.approx((known.low, known.high), abs=1e-6)
