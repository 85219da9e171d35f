"""Sketches of numbers, levels and rows: exact while small, bounded and mergeable when large."""

import numpy as np
import pandas as pd
import pytest

from sasanet.streaming import levels
from sasanet.streaming.levels import LevelSketch
from sasanet.streaming.quantiles import _BUFFER, _EXACT, Moments, QuantileSketch
from sasanet.streaming.sample import RowSample

RANDOM = np.random.default_rng(0)


def sketched(parts):
    sketch = QuantileSketch()
    for part in parts:
        sketch.add(part)
    return sketch


def merged(parts):
    whole = QuantileSketch()
    for part in parts:
        whole.merge(sketched([part]))
    return whole


def rank_error(sketch, values):
    """The largest difference between estimated and true ranks, as a share of the rows."""
    distinct, counts = sketch.summary()
    asked = np.quantile(values, np.linspace(0.01, 0.99, 99))
    estimated = np.cumsum(counts)[np.searchsorted(distinct, asked, "right") - 1] / counts.sum()
    true = np.searchsorted(np.sort(values), asked, "right") / len(values)
    return np.abs(estimated - true).max()


@pytest.mark.parametrize("make", [sketched, merged])
def test_few_distinct_values_are_counted_exactly(make):
    values = RANDOM.integers(0, 500, 20_000).astype(float)
    sketch = make(np.array_split(values, 7))
    distinct, counts = np.unique(values, return_counts=True)
    assert sketch.is_exact
    assert np.array_equal(sketch.summary()[0], distinct)
    assert np.array_equal(sketch.summary()[1], counts)


@pytest.mark.parametrize("make", [sketched, merged])
@pytest.mark.parametrize("order", ["random", "sorted"])
def test_ranks_of_many_values_are_off_by_little(make, order):
    values = RANDOM.lognormal(size=300_000)
    if order == "sorted":
        values.sort()
    sketch = make(np.array_split(values, 11))
    assert not sketch.is_exact
    bound = np.log2(len(values) / _BUFFER) / (2 * _BUFFER)
    assert rank_error(sketch, values) < bound < 1e-3
    assert rank_error(sketch, values + 0.1) > bound  # the twin: other values
    assert sum(map(len, sketch.levels)) < 20 * _BUFFER
    assert (sketch.summary()[0][[0, -1]] == [values.min(), values.max()]).all()


def test_a_value_that_dominates_keeps_its_weight():
    values = RANDOM.normal(size=4 * _EXACT)
    values[::3] = 0.0
    distinct, counts = sketched(np.array_split(values, 5)).summary()
    assert counts[distinct == 0].sum() / counts.sum() == pytest.approx(1 / 3, abs=0.01)


def test_moments_of_parts_are_those_of_all_even_where_squares_overflow():
    values = RANDOM.normal(3, 2, 10_000) * 1e200
    weights = RANDOM.random(10_000)
    whole = Moments()
    for part, weight in zip(np.split(values, 10), np.split(weights, 10), strict=True):
        whole = whole.merged(Moments.of(part, weight))
    mean = np.average(values, weights=weights)
    assert float(whole.mean) == pytest.approx(mean, rel=1e-12)
    spread = np.sqrt(np.average(((values - mean) / 1e200) ** 2, weights=weights)) * 1e200
    assert whole.std == pytest.approx(spread, rel=1e-12)


def test_levels_are_counted_and_ordered_as_the_encoder_does():
    sketch = LevelSketch()
    sketch.add(pd.Series(["b", None, "a", "b"]), "c")
    other = LevelSketch()
    other.add(pd.Series(["c", "a"]), "c")
    sketch.merge(other)
    assert sketch.levels(1) == ["a", "b", "c"]
    assert sketch.levels(2) == ["a", "b"]
    mixed = LevelSketch()
    mixed.add(pd.Series([True, 1, "1"], dtype=object), "m")
    assert sorted(mixed.levels(1)) == ["1", "True"]


def test_of_too_many_levels_the_frequent_ones_are_kept(monkeypatch):
    monkeypatch.setattr(levels, "MOST_LEVELS", 50)
    ids = pd.Series([f"id {i}" for i in range(3_000)])
    ids[::10] = "often"
    sketch = LevelSketch()
    for start in range(0, 3_000, 100):
        sketch.add(ids[start : start + 100], "c")
        assert len(sketch.counts) <= 100
    assert "often" in sketch.levels(1)
    assert sketch.lost <= 3_000 / 50


def test_every_row_is_as_likely_to_be_in_the_sample():
    hits = np.zeros(200)
    for seed in range(100):
        sample = RowSample(20, np.random.default_rng(seed))
        for start in range(0, 200, 40):
            sample.add(pd.DataFrame({"a": np.arange(start, start + 40)}), start)
        numbers, frame = sample.rows()
        assert len(numbers) == 20
        assert np.array_equal(frame["a"], numbers)
        hits[numbers] += 1
    assert abs(hits[:40].mean() - 10) < 1.5
    assert abs(hits[160:].mean() - 10) < 1.5


def test_samples_of_two_workers_are_one_sample():
    parts = [RowSample(30, np.random.default_rng(seed)) for seed in (0, 1)]
    for worker, sample in enumerate(parts):
        sample.add(pd.DataFrame({"a": np.arange(100) + 100 * worker}), 100 * worker)
    parts[0].merge(parts[1])
    numbers, frame = parts[0].rows()
    assert len(set(numbers)) == 30
    assert 3 < (numbers >= 100).sum() < 27
    assert np.array_equal(frame["a"], numbers)
