"""Chance alone: how large the calibration error of a perfectly calibrated v is."""

from __future__ import annotations

import numpy as np
import pytest

from sasanet.audit import calibration, chance

N = 400
TASKS = ["binary", "multiclass", "regression"]


def drawn(task, seed):
    """Return predictions and labels that are drawn from them."""
    random = np.random.default_rng(seed)
    if task == "regression":  # the spread of the labels depends on the prediction
        predicted = random.standard_normal((N, 1))
        return predicted, predicted + np.exp(predicted / 2) * random.standard_normal((N, 1))
    if task == "binary":
        predicted = random.beta(0.5, 3.0, (N, 1))
        return predicted, (random.random((N, 1)) < predicted).astype(float)
    predicted = random.dirichlet([1.0, 0.5, 0.1], N)
    labels = (random.random((N, 1)) > predicted.cumsum(1)[:, :-1]).sum(1)
    return predicted, np.eye(3)[labels]


def error_and_chance(task, seed, factor=1.0):
    """Return the calibration error of v and those by chance; a factor makes v too bold."""
    predicted, observed = drawn(task, seed)
    predicted = predicted.mean(0) + factor * (predicted - predicted.mean(0))
    predicted = predicted if task == "regression" else predicted.clip(0, 1)
    predicted = predicted / (predicted.sum(1, keepdims=True) if task == "multiclass" else 1.0)
    bins = calibration._bin_numbers(predicted)
    residual = np.bincount(bins.ravel(), (observed - predicted).ravel())
    error = np.abs(residual).sum() / predicted.size
    return error, chance.chance_errors(predicted, observed, bins, task)


def share_beyond_chance(found):
    return np.mean([error > chance.high(errors) for error, errors in found])


@pytest.mark.parametrize("task", TASKS)
def test_a_calibrated_v_is_beyond_chance_once_in_twenty(task):
    """Of 100 tables 5 are expected to be; 12 or more would have a probability of 0.4 %."""
    found = [error_and_chance(task, seed) for seed in range(100)]
    assert share_beyond_chance(found) < 0.12
    errors, expected = np.mean([(error, by_chance.mean()) for error, by_chance in found], axis=0)
    assert errors == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("task", TASKS)
def test_a_bold_v_is_noticed(task):
    found = [error_and_chance(task, seed, factor=1.8) for seed in range(20)]
    assert share_beyond_chance(found) > 0.8


def test_one_draw_of_the_labels_serves_all_sizes():
    """The mean over sizes varies as much as one size does, not less: the labels are the same."""
    predicted, observed = drawn("binary", 0)
    bins = calibration._bin_numbers(predicted)
    one = chance.chance_errors(predicted, observed, bins, "binary")
    other = chance.chance_errors(predicted * 0.95, observed, bins, "binary")
    assert np.corrcoef(one, other)[0, 1] > 0.9


def test_draws_of_their_own_would_be_noticed(monkeypatch):
    predicted, observed = drawn("binary", 0)
    bins = calibration._bin_numbers(predicted)
    one = chance.chance_errors(predicted, observed, bins, "binary")
    fresh = np.random.default_rng(1)
    monkeypatch.setattr(chance.np.random, "default_rng", lambda _: fresh)
    other = chance.chance_errors(predicted * 0.95, observed, bins, "binary")
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.3


def test_certain_predictions_leave_nothing_to_chance():
    predicted = np.repeat([[0.0], [1.0]], 50, axis=0)
    bins = calibration._bin_numbers(predicted)
    assert not chance.chance_errors(predicted, predicted, bins, "binary").any()


def test_many_features_have_evenly_spaced_sizes():
    assert calibration._sizes(3) == [0, 1, 2, 3]
    assert calibration._sizes(32) == list(range(33))
    sizes = calibration._sizes(500)
    assert (sizes[0], sizes[-1], len(sizes)) == (0, 500, 33)
    assert np.ptp(np.diff(sizes)) <= 1
