"""Held-out rows say how wide intervals are to be, and all that holds by construction still does."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import pytest
import torch

from sasanet import Architecture, SASANetRegressor
from sasanet.estimator.fitting.data import put_rows
from sasanet.objectives import pinball
from sasanet.training import widths
from sasanet.training.losses import Objective
from sasanet.training.shared.fellows import Alone
from small_models import SMALL

LEVELS = (0.1, 0.5, 0.9)
D = 5


def made(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return rows whose noise depends on a column."""
    random = np.random.default_rng(seed)
    X = pd.DataFrame(random.normal(size=(n, D)), columns=[f"x{j}" for j in range(D)])
    y = 2 * X["x0"] + np.exp(0.5 * X["x1"]) * random.normal(size=n)
    return X, y.to_numpy()


@pytest.fixture(scope="module")
def fitted():
    X, y = made(600, 0)
    settings = {"random_state": 0, "max_epochs": 12, "validation_fraction": 0}
    network = Architecture(**SMALL)
    model = SASANetRegressor(network, objective="quantile", quantile=LEVELS, **settings)
    return model.fit(X, y)


def spoiled(model: SASANetRegressor, factors: tuple[float, float, float]) -> SASANetRegressor:
    """Return a copy whose gaps are wrong."""
    found = copy.deepcopy(model)
    found.network_.marginal.scale_outputs(torch.tensor(factors))
    return found


def corrected(model: SASANetRegressor, X: pd.DataFrame, y: np.ndarray) -> SASANetRegressor:
    found = copy.deepcopy(model)
    target, cpu = found.target_, torch.device("cpu")
    rows = put_rows(found.encoder_.transform(X), target.read(y), np.ones(len(y)), cpu)
    objective = Objective("quantile", torch.tensor(target.network_base), 0.65, LEVELS)
    widths.correct_widths(found.network_, rows, objective, Alone())
    return found


def inside(model: SASANetRegressor, X: pd.DataFrame, y: np.ndarray) -> float:
    low, _, high = model.predict(X).T
    return float(((low < y) & (y <= high)).mean())


@pytest.mark.parametrize("factors", [(1.8, 1, 1.8), (0.55, 1, 0.55), (1.5, 1, 0.6)])
def test_wrong_widths_are_found_on_held_out_rows(fitted, factors):
    wrong = spoiled(fitted, factors)
    better = corrected(wrong, *made(400, 1))
    X, y = made(2000, 2)
    assert wrong.score(X, y) < fitted.score(X, y) - 0.002  # the twin
    assert better.score(X, y) > wrong.score(X, y) + 0.002
    assert abs(inside(better, X, y) - 0.8) < 0.04
    masks = np.random.default_rng(0).random((2000, D)) < 0.5
    before, after = (pinball(y, m.value(X, masks), LEVELS).mean() for m in (wrong, better))
    assert after < before  # of coalitions too


def test_what_holds_by_construction_still_holds(fitted):
    X, y = made(300, 1)
    model = corrected(spoiled(fitted, (1.8, 1, 0.6)), X, y)
    np.testing.assert_array_equal(model.value(X[:4], [])[2], fitted.base_value_)
    masks = np.random.default_rng(0).random((40, 16, D)) < 0.5
    assert np.diff(model.value(10 * X[:40], masks), axis=2).min() > 0
    holed = X[:40].mask(masks[:, 0])
    e = model.explain(holed)
    np.testing.assert_allclose(e.prediction, model.predict(holed), atol=1e-9)
    assert (e.values[holed.isna().to_numpy()] == 0).all()
    np.testing.assert_allclose(e.values[..., 1], fitted.explain(holed).values[..., 1], atol=1e-6)
    assert np.abs(e.values[..., 0] - fitted.explain(holed).values[..., 0]).max() > 1e-3  # the twin


def test_right_widths_stay_and_few_rows_say_nothing(fitted):
    X, y = made(400, 1)
    once = corrected(fitted, X, y)
    again = corrected(once, X, y)
    np.testing.assert_allclose(again.predict(X), once.predict(X), rtol=5e-3, atol=5e-3)
    few = corrected(spoiled(fitted, (1.8, 1, 1.8)), X[:40], y[:40])
    np.testing.assert_array_equal(few.predict(X), spoiled(fitted, (1.8, 1, 1.8)).predict(X))


def test_fits_correct_them_by_the_rows_that_choose_the_epoch(monkeypatch):
    (X, y), settings = made(500, 3), {"random_state": 0, "max_epochs": 6}
    asked = []
    real = widths._factors

    def noted(network, marginal, rows, objective):
        asked.append(len(rows))
        return real(network, marginal, rows, objective)

    monkeypatch.setattr(widths, "_factors", noted)
    network = Architecture(**SMALL)
    several = SASANetRegressor(network, objective="quantile", quantile=LEVELS, **settings)
    several.fit(X, y)
    assert asked == [100]
    several.set_params(validation_fraction=0).fit(X, y)
    several.set_params(quantile=0.9, validation_fraction="auto").fit(X, y)
    assert asked == [100]  # no rows to ask, no interval
