"""Attributions of a probability or a rate are Shapley values of that game, and add up to it."""

import numpy as np
import pytest

from sasanet import SASANetClassifier, SASANetRegressor
from sasanet.errors import InvalidInputError
from sasanet.explanation.explanation import Explanation
from sasanet.shapley import exact_shapley
from small_models import fitted, r2, rows

KINDS = ["binary", "members", "classes", "rate"]


def units(model):
    """Return the units of what a model predicts."""
    return "response" if isinstance(model, SASANetRegressor) else "probability"


def predicted(model, X):
    if isinstance(model, SASANetRegressor):
        return model.predict(X)
    found = model.predict_proba(X)
    return found if found.shape[1] > 2 else found[:, 1]


def truth(model, X, groups=None):
    """Return the Shapley values of the probability game, by enumeration of `model.value`."""
    n_players = model.explain(X[:1], groups=groups).shape[1]

    def value(masks):
        masks = np.broadcast_to(masks, (len(X), *masks.shape))
        return model.value(X, masks, groups=groups, units=units(model))

    return exact_shapley(value, n_players)


@pytest.mark.parametrize("kind", KINDS)
def test_they_are_the_shapley_values_of_what_is_predicted(kind):
    model, X = fitted(kind), rows(8)
    found, true = model.explain(X, units=units(model)), truth(model, X)
    assert r2(found.values, true) > 0.999
    raw = model.explain(X)  # the twin: log-odds, made to add up
    gains = (found.prediction - found.base_values) / (raw.prediction - raw.base_values)
    assert r2(raw.values * gains[:, None], true) < 0.999


@pytest.mark.parametrize("kind", KINDS)
def test_they_add_up_to_the_prediction_and_missing_cells_get_nothing(kind):
    model, X = fitted(kind), rows()
    found = model.explain(X, units=units(model))
    np.testing.assert_allclose(found.prediction, predicted(model, X), atol=1e-12, rtol=1e-12)
    assert (found.values[X.isna().to_numpy()] == 0).all()
    nothing = model.explain(X[:1] * np.nan, units=units(model))
    np.testing.assert_allclose(found.base_values[:1], predicted(model, X[:1] * np.nan))
    assert (nothing.values == 0).all()
    name = {"response": "rate", "probability": "probability"}[units(model)]
    assert found.units == name
    assert f"the {name} by" in found.reasons(0)[0] or f"the {name} of" in found.reasons(0)[0]
    with pytest.raises(AssertionError):  # the twin: log-odds do not
        np.testing.assert_allclose(model.explain(X).prediction, predicted(model, X), atol=1e-12)


def test_over_all_classes_a_feature_moves_no_probability():
    found = fitted("classes").explain(rows(), units="probability")
    np.testing.assert_allclose(found.values.sum(axis=2), 0.0, atol=1e-6)
    assert np.abs(found.values).max() > 0.01  # the twin: of one class it does


@pytest.mark.parametrize("kind", KINDS)
def test_few_players_are_exact(kind):
    model, X = fitted(kind), rows(8)
    names = list(X.columns)
    groups = {"front": names[:3], "middle": names[3:6], "back": names[6:9]}  # 6 players
    found = model.explain(X, groups=groups, units=units(model))
    np.testing.assert_allclose(found.values, truth(model, X, groups), atol=1e-6)
    np.testing.assert_allclose(found.prediction, predicted(model, X), atol=1e-12, rtol=1e-12)


def test_a_row_alone_and_the_order_of_columns_change_nothing():
    model, X = fitted("binary"), rows()
    found = model.explain(X, units="probability")
    alone = model.explain(X[3:4], units="probability")
    np.testing.assert_allclose(alone.values, found.values[3:4], atol=1e-6)
    turned = model.explain(X[list(reversed(X.columns))], units="probability")
    np.testing.assert_allclose(turned.values, found.values, atol=1e-6)


def test_they_can_be_refined_and_saved(tmp_path):
    model, X = fitted("binary"), rows(8)
    found = model.explain(X, units="probability", n_orders=200)
    known = found.error_std > 1e-7
    z = (found.values - truth(model, X))[known] / found.error_std[known]
    assert 0.7 < np.sqrt((z**2).mean()) < 1.3
    found.save(tmp_path / "e.parquet")
    assert Explanation.load(tmp_path / "e.parquet").units == "probability"


@pytest.mark.parametrize("kind", ["classes", "rate"])
def test_the_audit_measures_the_game_of_these_units(kind):
    model, X = fitted(kind), rows()
    model.__dict__.pop("audit_", None)
    found = model.audit(X, n_rows=8, units=units(model))
    assert found["self-game R²"].value > 0.999
    assert found["additivity gap"].value < 1e-12
    assert found.units == {"classes": "probability", "rate": "rate"}[kind]
    assert not hasattr(model, "audit_")


def test_a_loaded_model_explains_the_same(tmp_path):
    model, X = fitted("binary"), rows()
    model.save(tmp_path / "model")
    again = SASANetClassifier.load(tmp_path / "model").explain(X, units="probability")
    assert (again.values == model.explain(X, units="probability").values).all()


def test_other_units_are_refused():
    X = rows()
    with pytest.raises(InvalidInputError, match="units must be one of"):
        fitted("binary").explain(X, units="odds")
    with pytest.raises(InvalidInputError, match="for classifiers, got a regressor"):
        fitted("number").explain(X, units="probability")
    with pytest.raises(InvalidInputError, match="for classifiers, got a regressor"):
        fitted("number").value(X, [], units="probability")
    with pytest.raises(InvalidInputError, match=r"that learn log rates .* got objective='squared'"):
        fitted("number").explain(X, units="response")
    with pytest.raises(InvalidInputError, match=r"that learn log rates .* got a classifier"):
        fitted("binary").value(X, [], units="response")
    with pytest.raises(InvalidInputError, match="need the set network"):
        fitted("sequence").explain(X, units="probability")
