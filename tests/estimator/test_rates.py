"""Objectives with a log link: rates per exposure, explained as log rates."""

import json

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.metrics import d2_tweedie_score, mean_tweedie_deviance
from sklearn.utils import get_tags

from sasanet import SASANetRegressor, load
from sasanet.errors import InvalidInputError, SavedFileError
from sasanet.objectives import POWERS, deviance
from sasanet.persistence.description import describe, read_model
from sasanet.training.losses import prediction_losses

QUICK = {"random_state": 0, "max_epochs": 3, "teacher_weight": 0}
N = 700


def make_claims(seed=0, n=N):
    """Return a table, counts with known rates, and exposures that hide the rates."""
    random = np.random.default_rng(seed)
    X = pd.DataFrame(random.normal(size=(n, 3)), columns=["age", "power", "density"])
    X["area"] = random.choice(["town", "land"], n)
    rates = np.exp(0.3 + 0.6 * X["age"] - 0.4 * X["power"] + 0.5 * (X["area"] == "town"))
    exposure = np.exp(random.normal(0, 0.8, n) - 0.5 * X["age"]).to_numpy()
    return X, random.poisson(rates * exposure).astype(float), exposure, rates.to_numpy()


@pytest.fixture(scope="module")
def claims():
    """Return the table."""
    return make_claims()


@pytest.fixture(scope="module")
def fitted(claims):
    """Return a Poisson model of it."""
    X, y, exposure, _ = claims
    return SASANetRegressor(objective="poisson", **QUICK).fit(X, y, exposure=exposure)


@pytest.mark.parametrize("objective", POWERS)
def test_losses_are_deviances_and_lead_to_the_mean(objective):
    random = np.random.default_rng(0)
    y, log_mean = random.gamma(0.7, 3.0, 300), random.normal(0, 1, 300)
    outputs = torch.from_numpy(log_mean)[:, None, None]
    found = prediction_losses(outputs, torch.from_numpy(y), objective)[:, 0].numpy()
    np.testing.assert_allclose(found, deviance(y, np.exp(log_mean), POWERS[objective]))
    power = POWERS[objective]
    assert found.mean() == pytest.approx(mean_tweedie_deviance(y, np.exp(log_mean), power=power))
    grid = np.linspace(0.5, 1.5, 1001) * y.mean()
    losses = [deviance(y, np.full_like(y, mean), power).mean() for mean in grid]
    assert grid[np.argmin(losses)] == pytest.approx(y.mean(), rel=2e-3)
    assert abs(np.median(y) / y.mean() - 1) > 0.2  # the twin: a loss that leads elsewhere


def test_the_base_value_is_the_log_of_the_weighted_mean_rate(claims, fitted):
    X, y, exposure, _ = claims
    assert fitted.base_value_[0] == pytest.approx(np.log(y.sum() / exposure.sum()))
    assert abs(np.log((y / exposure).mean()) - fitted.base_value_[0]) > 0.05  # the twin
    nothing = X[:1].astype(object).mask(np.ones((1, 4), dtype=bool))
    assert fitted.predict(nothing)[0] == pytest.approx(y.sum() / exposure.sum())
    assert fitted.value(X[:5], [])[0] == fitted.base_value_[0]


def test_counts_of_an_exposure_are_rates_with_its_weight(claims, fitted):
    X, y, exposure, _ = claims
    twice = SASANetRegressor(objective="poisson", **QUICK)
    rates = twice.fit(X, y / exposure, sample_weight=exposure).predict(X)
    np.testing.assert_array_equal(rates, fitted.predict(X))
    plain = SASANetRegressor(objective="poisson", **QUICK).fit(X, y / exposure)  # the twin
    assert np.abs(np.log(plain.predict(X) / rates)).mean() > 0.02


@pytest.mark.parametrize("objective", POWERS)
def test_attributions_add_up_to_the_log_rate(claims, objective):
    X, y, exposure, _ = claims
    y = y + 0.1 if objective == "gamma" else y
    model = SASANetRegressor(objective=objective, **QUICK).fit(X, y, exposure=exposure)
    found = model.explain(X)
    assert found.units == "log rate"
    np.testing.assert_allclose(found.prediction, np.log(model.predict(X)), atol=1e-9)
    np.testing.assert_allclose(model.predict(X, exposure), model.predict(X) * exposure)
    with pytest.raises(AssertionError):  # the twin: rates themselves
        np.testing.assert_allclose(found.prediction, model.predict(X), atol=1e-9)
    assert "the log rate by" in found.reasons(0)[0]
    powers = {"power": POWERS[objective]}
    score = d2_tweedie_score(y / exposure, model.predict(X), sample_weight=exposure, **powers)
    assert model.score(X, y, exposure=exposure) == pytest.approx(score)


@pytest.mark.parametrize("objective", POWERS)
def test_rates_that_are_all_equal_have_a_score(objective):
    X = np.arange(40.0).reshape(-1, 1)
    model = SASANetRegressor(objective=objective, **QUICK).fit(X, np.full(40, 3.5))
    assert model.score(X, np.full(40, 3.5)) in (0.0, 1.0)
    weights = np.arange(40) % 2  # rows that do not count may be other ones
    y = np.where(weights, 3.5, 7.0)
    assert model.score(X, y, sample_weight=weights) in (0.0, 1.0)
    assert model.score(X, y) < 0.1  # the twin, not all equal


@pytest.mark.parametrize("objective", POWERS)
@pytest.mark.parametrize("size", [1e-300, 1e306, 5e307])
def test_rates_of_any_size_are_finite(objective, size):
    X = np.arange(40.0).reshape(-1, 1)
    y = np.where(X[:, 0] > 20, size, size * 1e-3)
    model = SASANetRegressor(objective=objective, **QUICK).fit(X, y)
    far = np.exp(np.linspace(0, 700, 40)).reshape(-1, 1)
    assert np.isfinite(model.predict(far)).all()
    assert np.isfinite(model.score(X, y))
    assert model.target_.to_target(np.array([720.0])) < np.inf
    with np.errstate(over="ignore"):
        assert np.exp(720.0) == np.inf  # the twin


def test_known_rates_are_found(claims):
    X, y, exposure, rates = claims
    settings = QUICK | {"objective": "poisson", "max_epochs": 12}
    found = SASANetRegressor(**settings).fit(X, y, exposure=exposure).predict(X)
    error = np.abs(np.log(found / rates)).mean()
    assert error < 0.25
    wrong = SASANetRegressor(**settings).fit(X, y).predict(X)  # the twin: no exposure
    assert np.abs(np.log(wrong / rates)).mean() > 1.5 * error


def test_a_source_has_an_exposure_too(claims, fitted):
    X, y, exposure, _ = claims
    table = X.assign(claims=y, years=exposure)
    parts = [table[:300], table[300:]]
    model = SASANetRegressor(objective="poisson", **QUICK)
    model.fit(parts, target="claims", exposure="years")
    np.testing.assert_array_equal(model.predict(X), fitted.predict(X))


def test_validation_rows_have_an_exposure(claims):
    X, y, exposure, _ = claims

    def last_loss(held):
        model = SASANetRegressor(objective="poisson", **QUICK)
        model.fit(X[:500], y[:500], validation=held, exposure=exposure[:500])
        return model.history_[-1]["validation_loss"]

    found = last_loss((X[500:], y[500:], exposure[500:]))
    assert found == pytest.approx(last_loss((X[500:], 2 * y[500:], 2 * exposure[500:])))
    assert found != pytest.approx(last_loss((X[500:], y[500:], 2 * exposure[500:])))  # the twin
    with pytest.raises(InvalidInputError, match="its labels and its exposure"):
        last_loss((X, y))


def test_saved_models_are_the_same(claims, fitted, tmp_path):
    X, _, exposure, _ = claims
    fitted.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X, exposure), fitted.predict(X, exposure))
    assert (again.objective, again.target_.objective) == ("poisson", "poisson")
    assert again.explain(X[:2]).units == "log rate"
    saved = json.loads(json.dumps(describe(fitted, "0" * 64)))
    saved["target"]["objective"] = "cubic"
    with pytest.raises(SavedFileError, match="as objective"):
        read_model(saved)


@pytest.mark.parametrize("change", [{"base": [1e18]}, {"base": [-1e5]}, {"scale": 2.0}])
def test_a_saved_rate_must_be_one_that_training_can_give(fitted, change):
    saved = json.loads(json.dumps(describe(fitted, "0" * 64)))
    read_model(saved)
    saved["target"].update(change)
    with pytest.raises(SavedFileError, match="logarithm of a rate"):
        read_model(saved)


def test_the_calibration_of_rates_counts_exposure(claims, fitted):
    X, y, exposure, _ = claims
    model = fitted
    found = model.audit(X, y, n_rows=90, n_orders=4, exposure=exposure)
    last = found.calibration[-1]
    chosen = mean_tweedie_deviance(y / exposure, model.predict(X), sample_weight=exposure, power=1)
    assert last.loss == pytest.approx(chosen)
    assert found.calibration[0].error < found.calibration[0].noise_high
    assert last.gain > 0
    assert last.slope_low < last.slope < last.slope_high
    assert found.task == "poisson"
    assert "deviance" in str(found)
    alike = model.audit(X, y / exposure, n_rows=90, n_orders=4)  # the twin: rows count alike
    assert alike.calibration[0].error > 2 * found.calibration[0].error


@pytest.mark.parametrize(
    ("changes", "labels", "exposure", "message"),
    [
        ({"objective": "poisson"}, -1.0, 1.0, "at least 0"),
        ({"objective": "gamma"}, 0.0, 1.0, "above 0 for objective='gamma'"),
        ({"objective": "poisson"}, 1.0, 0.0, "exposure must hold"),
        ({"objective": "poisson"}, 1.0, np.nan, "exposure must hold"),
        ({}, 1.0, 1.0, "use 'poisson'"),
        ({"objective": "logistic"}, 1.0, None, "objective must be one of"),
        ({"quantile": 0.9}, 1.0, None, "unless objective='quantile'"),
        ({"objective": "quantile", "quantile": [0.9, 0.1]}, 1.0, None, "rising order"),
        ({"objective": "huber", "teacher_weight": 0.5}, 1.0, None, "as they are"),
    ],
)
def test_what_cannot_be_learned_is_refused(changes, labels, exposure, message):
    y = np.array([1.0, 2.0, 3.0, labels])
    amounts = None if exposure is None else np.array([1.0, 1.0, 2.0, exposure])
    model = SASANetRegressor(max_epochs=1, **changes)
    with pytest.raises(InvalidInputError, match=message):
        model.fit(np.eye(4), y, exposure=amounts)
    assert not hasattr(model, "network_")


def test_zeros_alone_and_exposures_of_other_models_are_refused():
    with pytest.raises(InvalidInputError, match="got only 0"):
        SASANetRegressor(objective="poisson", **QUICK).fit(np.eye(4), np.zeros(4))
    model = SASANetRegressor(**QUICK).fit(np.eye(4), np.arange(4.0))
    with pytest.raises(InvalidInputError, match="unless a rate"):
        model.predict(np.eye(4), exposure=np.ones(4))
    with pytest.raises(InvalidInputError, match="unless a rate"):
        model.audit(np.eye(4), np.arange(4.0), exposure=np.ones(4))


def test_an_objective_that_is_none_is_refused_by_fit_not_by_a_look_at_the_model():
    model = SASANetRegressor(objective=["gamma"])
    assert not get_tags(model).target_tags.positive_only
    with pytest.raises(InvalidInputError, match="objective must be"):
        model.fit(np.eye(4), np.arange(4.0))
    with pytest.raises(InvalidInputError, match="teacher_weight must be"):
        SASANetRegressor(objective="huber", teacher_weight=np.ones(2)).fit(
            np.eye(4), np.arange(4.0)
        )
    assert get_tags(SASANetRegressor(objective="gamma")).target_tags.positive_only


def test_rates_and_one_quantile_keep_directions_and_several_quantiles_refuse_them():
    random = np.random.default_rng(0)
    X = random.normal(size=(80, 2))
    y = random.poisson(np.exp(-X[:, 0])).astype(float)  # falls, against the direction asked for
    along = np.column_stack([np.linspace(-3, 3, 41), np.zeros(41)])
    for objective in ("poisson", "quantile"):
        model = SASANetRegressor(
            objective=objective, max_epochs=5, teacher_weight=0, random_state=0
        ).fit(X, y)
        assert np.diff(model.predict(along)).min() < 0  # the twin: free, it follows the labels
        model.set_params(monotonic_cst=[1, 0]).fit(X, y)
        assert np.diff(model.predict(along)).min() >= -1e-6  # float32 sums
    model.set_params(quantile=[0.1, 0.9])
    with pytest.raises(InvalidInputError, match=r"needs one output, got several quantiles"):
        model.fit(X, y)


def test_a_gamma_fit_of_very_different_amounts_is_saved(tmp_path):
    X = np.arange(40.0).reshape(-1, 1)
    y = np.r_[1e300, np.ones(39)]  # relative to their mean most are 0 in float32
    model = SASANetRegressor(objective="gamma", **QUICK).fit(X, y)
    assert np.isfinite([epoch["train_loss"] for epoch in model.history_]).all()
    model.save(tmp_path / "model")
    assert np.float32(1e-300) == 0  # the twin: its logarithm would be infinite
