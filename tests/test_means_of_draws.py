"""Means of random draws keep their digits: with a large common offset, and when draws agree."""

import math

import numpy as np
import pytest
import torch

from sasanet import intervals
from sasanet.intervals import Batch, RunningMean
from sasanet.network import inference
from sasanet.network.refinement import draws as random_pairs
from sasanet.network.refinement import run

OFFSET = 1e8  # squares of it leave no digit for a spread of 1
SIZES = (1, 7, 3, 39)


def draws(offset=OFFSET):
    """Return draws with a spread of about 1: [rows, draws, features, outputs]."""
    generator = torch.Generator().manual_seed(0)
    return offset + torch.randn(4, sum(SIZES), 3, 2, generator=generator, dtype=torch.float64)


def by_running_mean(given):
    running = RunningMean()
    for part in given.split(SIZES, 1):
        running.add(part.numpy())
    return torch.tensor(running.mean), torch.tensor(running.error_std())


def by_single_draws(given):
    one = iter(given.unbind(1))
    mean, variance = inference.mean_of_draws(lambda: next(one), given.shape[1])
    return mean, variance.sqrt()


def by_rows(given):
    """Refine as ``refined`` does, each output of a feature as a row of its own."""
    flat = given.permute(0, 2, 3, 1).reshape(-1, given.shape[1])  # [rows, draws]
    zero = torch.zeros(len(flat), 1, 1, dtype=torch.float64)
    means = Batch(zero[:, 0, 0].clone(), zero.clone(), zero.clone())
    for part in flat.split(SIZES, 1):
        for rows in (torch.arange(0, len(flat), 2), torch.arange(1, len(flat), 2)):
            gap = part[rows][:, None, :, None]  # one fold, one output
            run._add(means, rows, random_pairs._means(gap, torch.ones_like(gap), zero[rows, None]))
    shape = (len(given), *given.shape[2:])
    return means.mean.reshape(shape), run._error_std(means).reshape(shape)


WAYS = pytest.mark.parametrize("way", [by_running_mean, by_single_draws, by_rows])


def assert_keeps_its_digits(way):
    given = draws()
    mean, error = way(given)
    wanted = draws(0.0)
    torch.testing.assert_close(mean - OFFSET, given.sub(OFFSET).mean(1), rtol=0, atol=5e-8)
    spread = wanted.std(1) / math.sqrt(sum(SIZES))
    torch.testing.assert_close(error, spread, rtol=1e-6, atol=0)


@WAYS
def test_a_large_common_offset_costs_no_digits_of_the_error(way):
    assert_keeps_its_digits(way)


@WAYS
def test_the_check_notices_sums_of_squares(way, monkeypatch):
    def careless(a, b):
        """Return two batches as one by their sums of squares, as long as they are few."""
        count = a.count + b.count
        total = a.mean * a.count + b.mean * b.count
        squares = a.squares + a.mean**2 * a.count + b.squares + b.mean**2 * b.count
        left = squares - total**2 / count
        return Batch(count, total / count, left * (left > 0))

    for module in (intervals, inference, run):
        monkeypatch.setattr(module, "merge", careless)
    with pytest.raises(AssertionError):
        assert_keeps_its_digits(way)


@pytest.mark.parametrize("way", [by_single_draws, by_rows])
@pytest.mark.parametrize("value", [0.1, 1 / 3, -1e8 / 7])
def test_draws_that_agree_have_an_error_of_exactly_zero(way, value):
    mean, error = way(torch.full((4, sum(SIZES), 3, 2), value, dtype=torch.float64))
    assert (mean == value).all()
    assert (error == 0).all()


def test_sums_of_equal_draws_would_not_be_exact():
    equal = (torch.full((n,), 0.1, dtype=torch.float64) for n in range(3, 60))
    assert any(part.sum() / len(part) != 0.1 for part in equal)  # so: around the first draw


def test_every_fold_is_corrected_by_its_own_expectation():
    """g − û times w plus φ(û), with the û of the pair's fold; the twin takes another fold's."""
    generator = torch.Generator().manual_seed(1)

    def random(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    gap, weight, expected = random(3, 4, 5, 2), random(3, 4, 5, 7), random(3, 4, 7, 2)
    found = random_pairs._means(gap, weight, expected)
    products = torch.einsum("bfpk,bfpm->bfpmk", gap, weight) + expected[:, :, None]
    products = products.flatten(1, 2)
    assert found.count == 20
    torch.testing.assert_close(found.mean, products.mean(1))
    torch.testing.assert_close(found.squares, products.var(1, correction=0) * 20)
    other = random_pairs._means(gap, weight, expected.roll(1, 1))
    with pytest.raises(AssertionError):
        torch.testing.assert_close(other.squares, found.squares)


def test_a_single_draw_has_no_standard_error():
    running = RunningMean()
    running.add(np.ones((2, 1, 3)))
    assert np.isnan(running.error_std()).all()
