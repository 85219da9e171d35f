"""Sampled Shapley values and interactions: unbiased, honest about noise, exact where due."""

import math

import numpy as np
import pytest

from sasanet.intervals import RunningMean
from sasanet.shapley import (
    all_coalitions,
    exact_interactions,
    exact_shapley,
    kernel_shapley,
    permutation_shapley,
    sampled_interactions,
)
from sasanet.shapley.regression import _allocate, _draw, _subsets

ROUNDING = 1e-12
D = 6


def table_game(d, seed=0):
    """Return one game of random values, looked up by the bits of a mask."""
    table = np.random.default_rng(seed).normal(size=2**d)
    return lambda masks: table[masks @ 2 ** np.arange(d)]


def polynomial(degree, d=9):
    """Return a game with an interaction of every team of up to so many features."""
    masks = all_coalitions(d)
    rng = np.random.default_rng(degree)
    dividends = np.where(masks.sum(axis=1) <= degree, rng.normal(size=2**d), 0.0)
    return lambda m: ((m[:, None] | ~masks).all(axis=2)) @ dividends


def spread_of_z(estimates, errors, truth):
    """Return the root mean square of z: 1 when the stated errors are the real ones."""
    z = (np.array(estimates) - truth) / np.array(errors)
    return math.sqrt((z**2).mean())


# --- orders ----------------------------------------------------------------------------------


@pytest.mark.parametrize("antithetic", [True, False])
def test_standard_errors_are_the_real_ones(antithetic):
    value = table_game(D)
    runs = [permutation_shapley(value, D, 100, antithetic, seed) for seed in range(150)]
    values, errors = [r.values for r in runs], [r.error_std for r in runs]
    truth = exact_shapley(value, D)
    assert 0.9 < spread_of_z(values, errors, truth) < 1.12
    bias = np.mean(values, axis=0) - truth
    assert (np.abs(bias) < 4 * np.mean(errors, axis=0) / math.sqrt(len(runs))).all()


def test_pairs_taken_for_single_orders_would_state_wrong_errors():
    value = polynomial(2)  # the two halves of a pair differ, their mean does not
    runs = [permutation_shapley(value, 9, 100, False, seed) for seed in range(20)]
    wrong = np.mean([run.error_std for run in runs])
    assert wrong > 1e6 * permutation_shapley(value, 9, 100).error_std.mean()


def test_one_antithetic_pair_solves_a_game_of_pairs_exactly():
    value = polynomial(2)
    found = permutation_shapley(value, 9, n_orders=2)
    np.testing.assert_allclose(found.values, exact_shapley(value, 9), atol=ROUNDING)
    assert np.isnan(found.error_std).all()  # a single pair cannot know
    assert permutation_shapley(value, 9, n_orders=4).error_std.max() < ROUNDING


@pytest.mark.parametrize(("degree", "antithetic"), [(2, False), (3, True)])
def test_without_the_partner_or_with_triples_one_pair_is_not_enough(degree, antithetic):
    value = polynomial(degree)
    found = permutation_shapley(value, 9, 2, antithetic)
    assert np.abs(found.values - exact_shapley(value, 9)).max() > 0.1


@pytest.mark.parametrize("n_orders", [1, 3])
def test_every_single_order_is_efficient(n_orders):
    value = table_game(D)
    found = permutation_shapley(value, D, n_orders, antithetic=False)
    empty, full = value(all_coalitions(D)[[0, -1]])
    assert found.values.sum() == pytest.approx(full - empty, abs=ROUNDING)


def test_the_ends_are_valued_once_and_every_inner_prefix_once():
    value, asked = table_game(D), []
    found = permutation_shapley(lambda m: asked.append(len(m)) or value(m), D, 10)
    assert sum(asked) == found.n_evaluations == 2 + 10 * (D - 1)
    assert found.n_orders == 10
    alone = permutation_shapley(lambda m: 3.0 * m[:, 0], 1, 2)
    assert alone.values == pytest.approx([3.0])


def test_a_seed_repeats_and_another_does_not():
    value = table_game(D)
    first, again = (permutation_shapley(value, D, 10, random_state=4) for _ in range(2))
    assert (first.values == again.values).all()
    assert (first.values != permutation_shapley(value, D, 10, random_state=5).values).any()


def test_means_of_batches_are_those_of_all_draws():
    draws = np.random.default_rng(0).normal(1e6, 1.0, size=(2, 50, 3))
    running = RunningMean()
    for part in np.split(draws, [1, 7, 30], axis=1):
        running.add(part)
    wanted = draws.std(axis=1, ddof=1) / math.sqrt(50)
    np.testing.assert_allclose(running.mean, draws.mean(axis=1), rtol=1e-14)
    np.testing.assert_allclose(running.error_std(), wanted, rtol=1e-8)


# --- regression ------------------------------------------------------------------------------

SCHEMES = [(paired, sampling) for paired in (True, False) for sampling in ("kernel", "leverage")]


@pytest.mark.parametrize(("paired", "sampling"), SCHEMES)
@pytest.mark.parametrize("d", [1, 2, 3, 6, 7])
def test_all_coalitions_give_the_exact_values(paired, sampling, d):
    value = table_game(d)
    found = kernel_shapley(value, d, max(2, 2**d - 2), paired, sampling)
    np.testing.assert_allclose(found, exact_shapley(value, d), atol=ROUNDING)
    assert (found == kernel_shapley(value, d, 10**6, paired, sampling)).all()


@pytest.mark.parametrize(("paired", "sampling"), SCHEMES)
def test_the_error_falls_with_more_coalitions(paired, sampling):
    d, value = 10, table_game(10)
    truth, empty_full = exact_shapley(value, d), value(all_coalitions(d)[[0, -1]])
    errors = []
    for budget in (60, 240, 960):
        runs = [kernel_shapley(value, d, budget, paired, sampling, s) for s in range(40)]
        np.testing.assert_allclose(np.sum(runs, axis=1), np.diff(empty_full)[0], atol=1e-10)
        errors.append(math.sqrt(np.mean((np.array(runs) - truth) ** 2)))
    # Four times the sample halves the error; without replacement it falls faster still.
    assert errors[1] < errors[0] / 1.7
    assert errors[2] < errors[1] / 2


def importance(paired, sampling, d, budget):
    """Return the mean weight with which each coalition enters, over many draws, and its error."""
    repeats, sums, squares = 800, np.zeros(2**d), np.zeros(2**d)
    rng = np.random.default_rng(0)
    for _ in range(repeats):
        masks, weights = _draw(d, budget, paired, sampling, rng)
        place = masks @ 2 ** np.arange(d)
        assert len(np.unique(place)) == len(place) == budget
        sums[place] += weights
        squares[place] += weights**2
    mean = sums / repeats
    return mean, np.sqrt((squares / repeats - mean**2).clip(0) / repeats)


@pytest.mark.parametrize(("paired", "sampling"), SCHEMES)
@pytest.mark.parametrize("d", [4, 5])
def test_every_coalition_counts_its_kernel_weight_on_average(paired, sampling, d):
    mean, error = importance(paired, sampling, d, budget=6)
    inner = slice(1, -1)
    s = all_coalitions(d).sum(axis=1)[inner]
    kernel = 1 / ([math.comb(d, k) for k in s] * s * (d - s))
    assert (mean[[0, -1]] == 0).all()
    assert (np.abs(mean[inner] - kernel) < 4.5 * error[inner] + ROUNDING).all()
    tilted = kernel * s * (d - s)  # what equal weights under leverage sampling would stand for
    tilted *= kernel.sum() / tilted.sum()
    assert (np.abs(mean[inner] - tilted) > 4.5 * error[inner]).any()


def test_leverage_scores_are_those_of_the_regression():
    d = 6
    masks = all_coalitions(d)[1:-1]
    s = masks.sum(axis=1)
    counts = np.array([math.comb(d, k) for k in s])
    rows = (masks - masks.mean(axis=1, keepdims=True)) / np.sqrt(counts * s * (d - s))[:, None]
    scores = ((rows @ np.linalg.pinv(rows.T @ rows, rcond=1e-10)) * rows).sum(axis=1)
    np.testing.assert_allclose(scores, 1 / counts, atol=ROUNDING)


def test_sizes_take_their_share_until_they_are_full():
    mass, limits = np.array([4.0, 2.0, 1.0, 1.0]), np.array([3.0, 90.0, 2.0, 90.0])
    np.testing.assert_allclose(_allocate(mass, limits, 20), [3, 10, 2, 5])
    np.testing.assert_allclose(_allocate(mass, limits, 4), [2, 1, 0.5, 0.5])
    assert (_allocate(mass, limits, 185) == limits).all()


@pytest.mark.parametrize("count", [3, 12])  # few of many, many of few
def test_subsets_differ_and_are_equally_likely(count):
    rng, hits, repeats = np.random.default_rng(0), np.zeros(2**D), 3_000
    for _ in range(repeats):
        place = _subsets(D, 2, count, rng) @ 2 ** np.arange(D)
        assert len(np.unique(place)) == count
        hits[place] += 1
    share = count / 15
    chosen = all_coalitions(D).sum(axis=1) == 2
    assert hits[~chosen].sum() == 0
    error = math.sqrt(repeats * share * (1 - share))
    assert np.abs(hits[chosen] - repeats * share).max() < 4.5 * error


def test_many_features_and_a_tiny_budget_work():
    weights = np.random.default_rng(0).normal(size=300)
    for sampling in ("kernel", "leverage"):
        found = kernel_shapley(lambda m: m @ weights, 300, 800, sampling=sampling)
        np.testing.assert_allclose(found, weights, atol=1e-8)
        few = kernel_shapley(lambda m: m @ weights, 300, 10, sampling=sampling)
        assert few.sum() == pytest.approx(weights.sum(), abs=1e-8)


# --- interactions ----------------------------------------------------------------------------


def test_sampled_interactions_state_their_real_errors():
    value, pairs = table_game(D), [[0, 1], [5, 2], [3, 4]]
    runs = [sampled_interactions(value, D, pairs, 80, seed) for seed in range(150)]
    truth = exact_interactions(value, D, pairs).values
    values, errors = [r.values for r in runs], [r.error_std for r in runs]
    assert 0.88 < spread_of_z(values, errors, truth) < 1.14
    shifted = truth + 2 * np.mean(errors)  # the check would notice a bias of two errors
    assert spread_of_z(values, errors, shifted) > 1.5


def test_sampled_interactions_of_a_game_of_pairs_have_no_noise():
    value = polynomial(2)
    found = sampled_interactions(value, 9, n_samples=3)
    np.testing.assert_allclose(found.values, exact_interactions(value, 9).values, atol=ROUNDING)
    assert found.error_std.max() < ROUNDING


def test_two_features_have_one_interaction():
    value = table_game(2)
    found = sampled_interactions(value, 2, n_samples=2)
    v = value(all_coalitions(2))
    assert found.values == pytest.approx([v[3] - v[1] - v[2] + v[0]], abs=ROUNDING)


@pytest.mark.parametrize("antithetic", [False, True])
def test_progress_is_shown_when_asked_for_and_counts_every_order(capsys, antithetic):
    for verbose in (False, True):
        permutation_shapley(
            lambda masks: masks.sum(axis=1) * 1.0, 3, 10, antithetic, verbose=verbose
        )
        said = capsys.readouterr().err
        assert ("orders" in said) is verbose
        assert ("10/10" in said) is verbose
