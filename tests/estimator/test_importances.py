"""``feature_importances_``: the mean size of the attributions of training rows."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_selection import SelectFromModel

from sasanet import Architecture, SASANetClassifier, SASANetRegressor, load
from sasanet.errors import ShortFitWarning
from sasanet.estimator.fitting import importances

RANDOM = np.random.default_rng(0)
N_ROWS = 600
X = pd.DataFrame(RANDOM.normal(size=(N_ROWS, 4)), columns=list("abcd"))
X["b"] = RANDOM.choice(["x", "y", "z"], N_ROWS)
X = X.mask(RANDOM.random(X.shape) < 0.1)
SCORE = 2 * X["a"].fillna(0) + 3 * (X["b"] == "x")
CASES = {
    "binary": (SASANetClassifier, (SCORE > 1).to_numpy()),
    "multiclass": (SASANetClassifier, np.digitize(SCORE, [-0.5, 2])),
    "regression": (SASANetRegressor, 1000 * SCORE.to_numpy()),
}
SMALL = Architecture(width=8, marginal_layers=(6,))
QUICK = {"max_epochs": 10, "learning_rate": 2e-2, "teacher_weight": 0, "random_state": 0}


@pytest.fixture(scope="module", params=list(CASES))
def model(request):
    """Return a model that learned from all rows: none is held out."""
    kind, y = CASES[request.param]
    return kind(SMALL, validation_fraction=0, **QUICK).fit(X, y)


def check_importances(model, rows):
    """They are the mean |φ| over these rows and all classes, in the units of φ."""
    values = np.abs(model.explain(rows).values)
    expected = values.mean(axis=(0, *range(2, values.ndim)))
    np.testing.assert_allclose(model.feature_importances_, expected, rtol=1e-9)


def test_they_are_the_mean_size_of_attributions_over_evenly_spaced_training_rows(model):
    assert model.feature_importances_.shape == (4,)
    most = max(256 // len(model.base_value_), importances._FEWEST_ROWS)
    step = math.ceil(N_ROWS / most)
    check_importances(model, X[::step])
    for other in (X, X[1::step], X[: len(X[::step])]):  # the twins: other rows
        with pytest.raises(AssertionError):
            check_importances(model, other)


def test_rows_that_only_choose_the_epoch_do_not_count():
    kind, y = CASES["binary"]
    train, rest = slice(0, 250), slice(250, None)
    model = kind(SMALL, **QUICK).fit(X[train], y[train], validation=(X[rest], y[rest]))
    check_importances(model, X[train])  # few enough for all of them
    with pytest.raises(AssertionError):
        check_importances(model, X)


def test_features_that_decide_come_first(model):
    assert set(np.argsort(model.feature_importances_)[-2:]) == {0, 1}


def test_they_are_saved_with_the_model(model, tmp_path):
    model.save(tmp_path / "model")
    found = load(tmp_path / "model").feature_importances_
    assert found.dtype == model.feature_importances_.dtype
    assert found.tobytes() == model.feature_importances_.tobytes()


def test_a_new_fit_has_new_ones():
    kind, y = CASES["binary"]
    model = kind(SMALL, **QUICK).fit(X[:100], y[:100])
    assert model.feature_importances_.shape == (4,)
    assert model.fit(X[["c", "d"]][:100], y[:100]).feature_importances_.shape == (2,)


def test_a_network_that_cannot_explain_has_none(tmp_path):
    kind, y = CASES["binary"]
    shape = Architecture(width=8, marginal_layers=(6,), attribution="none")
    model = kind(shape, **QUICK).fit(X[:100], y[:100])
    assert not hasattr(model, "feature_importances_")
    model.save(tmp_path / "model")
    assert not hasattr(load(tmp_path / "model"), "feature_importances_")
    model = model.set_params(network=SMALL).fit(X[:100], y[:100])
    assert hasattr(model, "feature_importances_")
    assert not hasattr(
        model.set_params(network=shape).fit(X[:100], y[:100]), "feature_importances_"
    )


def test_scikit_learn_selects_features_by_them():
    kind, y = CASES["binary"]
    model = kind(SMALL, validation_fraction=0, **QUICK)
    selected = SelectFromModel(model, max_features=2, threshold=-np.inf).fit(X, y)
    assert list(selected.get_feature_names_out()) == ["a", "b"]


@pytest.mark.parametrize(("seconds", "n_parts"), [(60.0, 16), (1e-9, 1)])
def test_under_a_time_limit_they_are_of_the_rows_that_it_allows(monkeypatch, seconds, n_parts):
    kind, y = CASES["regression"]
    sizes, asked = importances._sizes, []
    monkeypatch.setattr(importances, "_sizes", lambda *of: asked.append(len(of[1])) or sizes(*of))
    quick = QUICK | {"max_epochs": 1}
    model = kind(SMALL, validation_fraction=0, time_limit=seconds, **quick)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShortFitWarning)
        model.fit(X, y)
    assert len(asked) == n_parts
    every = X[:: math.ceil(N_ROWS / 256)]
    check_importances(model, every if n_parts == 16 else every[::16])
