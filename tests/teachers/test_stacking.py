"""Stacking: weights of at least 0 that lower the loss, whatever the kind of labels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn.linear_model import LogisticRegression

from sasanet.teachers.stacking import losses, stack

RANDOM = np.random.RandomState(0)
N = 3000
SCORES = RANDOM.randn(N)
ONES = np.ones(N)


def mean_loss(labels, expected, loss):
    return losses(labels, expected, loss).mean()


def test_numbers_two_noisy_guesses_are_better_than_one():
    labels = SCORES + 0.5 * RANDOM.randn(N)
    guesses = [SCORES + RANDOM.randn(N), SCORES + RANDOM.randn(N), RANDOM.randn(N)]
    weights, mixed = stack(guesses, labels, ONES, "regression")
    assert (weights >= 0).all()
    assert weights[2] < 0.05
    best = min(mean_loss(labels, guess, "regression") for guess in guesses)
    assert mean_loss(labels, mixed, "regression") < 0.8 * best


def test_two_classes_a_guess_that_is_too_sure_is_corrected():
    labels = (RANDOM.rand(N) < expit(SCORES)).astype(float)
    weights, mixed = stack([expit(3 * SCORES)], labels, ONES, "binary")
    theirs = LogisticRegression(C=1e9, fit_intercept=False).fit(3 * SCORES[:, None], labels)
    assert weights[0] == pytest.approx(theirs.coef_[0, 0], abs=1e-4)
    assert weights[0] < 0.5
    assert mean_loss(labels, mixed, "binary") < mean_loss(labels, expit(3 * SCORES), "binary")


def test_more_classes_give_the_same_as_two_written_out():
    labels = (RANDOM.rand(N) < expit(SCORES)).astype(float)
    guesses = [expit(SCORES + RANDOM.randn(N)), expit(0.3 * SCORES)]
    weights, mixed = stack(guesses, labels, ONES, "binary")
    pairs = [np.stack([1 - guess, guess], 1) for guess in guesses]
    again, both = stack(pairs, np.stack([1 - labels, labels], 1), ONES, "binary")
    np.testing.assert_allclose(again, weights, atol=1e-3)
    np.testing.assert_allclose(both[:, 1], mixed, atol=1e-3)


def test_three_classes_add_up_and_are_better_than_each():
    scores = RANDOM.randn(N, 3) * 2
    classes = [RANDOM.choice(3, p=p) for p in softmax(scores, axis=1)]
    labels = np.eye(3)[classes]
    guesses = [softmax(scores + 2 * RANDOM.randn(N, 3), axis=1) for _ in range(2)]
    _, mixed = stack(guesses, labels, ONES, "binary")
    np.testing.assert_allclose(mixed.sum(1), 1)
    assert mean_loss(labels, mixed, "binary") < min(mean_loss(labels, g, "binary") for g in guesses)


def test_rows_without_weight_do_not_choose():
    labels = np.where(np.arange(N) < 1500, SCORES, -SCORES)
    light = np.where(np.arange(N) < 1500, 1.0, 0.0)
    weights, _ = stack([SCORES, -SCORES], labels, light, "regression")
    np.testing.assert_allclose(weights, [1, 0], atol=1e-2)
