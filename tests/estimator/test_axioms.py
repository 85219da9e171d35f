"""Shapley's axioms on fitted models, each with a twin that breaks it."""

import copy
from functools import cache

import numpy as np
import pandas as pd
import pytest
import torch

from sasanet import Architecture, SASANetClassifier
from sasanet.datasets import make_gaussian_probit
from sasanet.shapley import exact_shapley, game_of

WIDTHS = {"enumerated": 6, "by formula": 12}  # what is enumerated has at most nine

QUICK = {"max_epochs": 4, "teacher_weight": 0, "network": Architecture(width=64)}


@pytest.fixture(scope="module", params=list(WIDTHS))
def fitted(request):
    """Return a function that fits a model, and rows of its table, few features or many."""
    table = make_gaussian_probit(800, n_features=WIDTHS[request.param], correlation=0.4)

    @cache
    def fit_once(seed):
        return SASANetClassifier(random_state=seed, **QUICK).fit(table.X, table.y)

    def fit(seed=0):
        return copy.deepcopy(fit_once(seed))  # some tests change its weights

    return fit, table.X[:60]


def parts_of_numbers(model):
    """Return what the vectors of number columns are made of, column by column, as views."""
    embedding = model.network_.marginal.embedding
    steps = embedding.steps.unflatten(0, embedding.grid_shape)  # here all have the same length
    return embedding.slopes, steps, embedding.scales


# --- efficiency: the attributions share out exactly what the prediction is above the base ---------


def test_efficiency(fitted):
    fit, X = fitted
    model = fit()
    found = model.explain(X)
    raw = model.decision_function(X)
    np.testing.assert_allclose(found.values.sum(1), raw - model.base_value_, atol=1e-9)
    with pytest.raises(AssertionError):  # the twin: one attribution a little off
        np.testing.assert_allclose(found.values.sum(1) + 1e-6, raw - model.base_value_, atol=1e-9)


# --- nullity: a feature that adds nothing to any coalition gets nothing ---------------------------


def test_nullity(fitted):
    fit, X = fitted
    model = fit()
    assert np.abs(model.explain(X).values[:, 2]).mean() > 1e-3  # the twin: it does matter
    with torch.no_grad():
        for parameter in parts_of_numbers(model):
            parameter[2] = 0.0
    others = np.ones(X.shape[1], dtype=bool)
    others[2] = False
    np.testing.assert_allclose(model.value(X, others), model.decision_function(X), atol=1e-6)
    np.testing.assert_allclose(model.explain(X).values[:, 2], 0, atol=1e-6)


# --- symmetry: features that can stand for each other get the same --------------------------------


def test_symmetry(fitted):
    fit, X = fitted
    model = fit()
    values = model.explain(X).values
    assert np.abs(values[:, 0] - values[:, 1]).mean() > 1e-3  # the twin: they differ
    with torch.no_grad():
        for parameter in parts_of_numbers(model):
            parameter[1] = parameter[0]
    _, cells = model._encode(X)
    cells[:, 1] = cells[:, 0]  # the same place on both rulers
    found = model.network_.requires_grad_(False).attribute(cells, ~cells.isnan())[0]
    gap = (found[:, 0] - found[:, 1]).abs()[:, 0]
    # The formula treats them alike unless one is the last to be pinned and the other is not.
    assert gap.median() < 1e-6
    assert gap.max() < (1e-6 if X.shape[1] <= 9 else 0.02)
    assert (found[:, 0] - found[:, 2]).abs().mean() > 0.1


# --- linearity: the explanation of an average of models is the average of their explanations ------


def test_linearity(fitted):
    fit, X = fitted
    models = [fit(seed) for seed in (0, 1)]
    d = X.shape[1]

    played = {}  # both games below ask for the same coalitions: each model values them once

    def values(masks):
        key = masks.tobytes()
        if key not in played:
            played[key] = np.array([game_of(model, X)(masks) for model in models])
        return played[key]

    def mean_of_raw(masks):
        return values(masks).mean(axis=0)

    def mean_of_shares(masks):
        shares = (1 / (1 + np.exp(-values(masks)))).mean(axis=0)
        return np.log(shares / (1 - shares))

    truth, other = exact_shapley(mean_of_raw, d), exact_shapley(mean_of_shares, d)
    found = np.mean([model.explain(X).values for model in models], axis=0)
    error = np.sqrt(np.mean((found - truth) ** 2)) / truth.std()
    assert error < (1e-5 if d <= 9 else 0.02)
    assert np.sqrt(np.mean((found - other) ** 2)) > np.sqrt(np.mean((found - truth) ** 2))


# --- the same game through other people's code ----------------------------------------------------


def test_shap_finds_the_same_values_of_the_same_game():
    shap = pytest.importorskip("shap")
    table = make_gaussian_probit(600, n_features=6, correlation=0.4)
    model = SASANetClassifier(random_state=0, **QUICK).fit(table.X, table.y)
    for row in range(3):
        game = game_of(model, table.X[row : row + 1])

        def value(masks, game=game):
            return game(np.asarray(masks, dtype=bool))[0]

        theirs = shap.explainers.Exact(value, np.zeros((1, 6)))(np.ones((1, 6))).values[0]
        ours = model.explain(table.X[row : row + 1]).values[0]
        np.testing.assert_allclose(ours, theirs, atol=1e-4)
        wrong = model.explain(pd.concat([table.X[row + 3 : row + 4]])).values[0]
        assert np.abs(wrong - theirs).max() > 1e-2  # the twin: another row's
