"""class_weight: rows of a class count as if their weights were given one by one."""

import numpy as np
import pytest
import torch
from sklearn.base import clone

from sasanet import SASANetClassifier, SASANetRegressor, load
from sasanet.errors import InvalidInputError
from sasanet.estimator.fitting.class_weights import class_factors
from sasanet.estimator.fitting.data import read_validation
from sasanet.table.target import read_classes

QUICK = {"random_state": 0, "max_epochs": 3, "teacher_weight": 0}


@pytest.fixture(scope="module")
def rare():
    """Return a table in which one of two classes is rare."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    return X, np.where(X[:, 0] + rng.normal(size=400) > 1.8, "yes", "no")


def outputs(model, X):
    return model.decision_function(X)


def test_weights_of_classes_are_weights_of_their_rows(rare):
    X, y = rare
    by_class = SASANetClassifier(class_weight={"yes": 4, "no": 1}, **QUICK).fit(X, y)
    by_row = SASANetClassifier(**QUICK).fit(X, y, np.where(y == "yes", 4.0, 1.0))
    np.testing.assert_allclose(outputs(by_class, X), outputs(by_row, X), atol=1e-4)
    plain = SASANetClassifier(**QUICK).fit(X, y)
    assert np.abs(outputs(by_class, X) - outputs(plain, X)).min() > 0.1  # the twin: no weights


def counts(target):
    return np.bincount(target.numbers.astype(int), minlength=len(target.labels))


def test_balanced_classes_weigh_the_same(rare):
    X, y = rare
    plain, balanced = (
        SASANetClassifier(class_weight=given, **QUICK).fit(X, y) for given in (None, "balanced")
    )
    assert abs(balanced.base_value_[0]) < 1e-9 < 1 < abs(plain.base_value_[0])
    assert (balanced.predict(X) == "yes").sum() > 2 * (plain.predict(X) == "yes").sum()
    found = class_factors("balanced", read_classes(y, np.ones(400)), counts)
    assert found @ np.unique(y, return_counts=True)[1] == pytest.approx(400)


def test_weights_multiply_those_of_rows_and_reach_given_validation_rows(rare):
    X, y = rare
    weights = np.where(X[:, 1] > 0, 2.0, 1.0)
    given = {"yes": 3}
    both = SASANetClassifier(class_weight=given, **QUICK).fit(X, y, weights)
    rows = weights * np.where(y == "yes", 3.0, 1.0)
    assert both.base_value_[0] == pytest.approx(
        np.log(rows[y == "yes"].sum() / rows[y == "no"].sum())
    )
    read = both.encoder_, both.target_, torch.device("cpu")
    stop = read_validation((X[:50], y[:50]), *read, class_factors(given, both.target_, counts))
    ratio = stop.weights[torch.from_numpy(y[:50] == "yes")][0] / stop.weights.min()
    assert float(ratio) == pytest.approx(3)
    stop = read_validation((X[:50], y[:50]), *read, None)  # the twin: no weights
    assert (stop.weights == 1).all()


def test_it_is_saved_with_the_model_and_cloned(rare, tmp_path):
    X, _ = rare
    y = (X[:, 0] > 1).astype(int)
    model = SASANetClassifier(class_weight={1: 2.5, 0: 1}, **QUICK).fit(X, y)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.class_weight == {1: 2.5, 0: 1}
    np.testing.assert_array_equal(outputs(again, X), outputs(model, X))
    assert clone(model).class_weight == {1: 2.5, 0: 1}
    np.testing.assert_array_equal(outputs(again.fit(X, y), X), outputs(model, X))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("balance", "must be None, 'balanced' or a dict"),
        (2.0, "must be None, 'balanced' or a dict"),
        ({"maybe": 2}, "choose from"),
        ({"yes": 0}, "above 0"),
        ({"yes": -1.0}, "above 0"),
        ({"yes": float("nan")}, "above 0"),
        ({"yes": True}, "above 0"),
        ({"yes": "2"}, "above 0"),
    ],
)
def test_other_weights_are_refused(rare, given, says):
    X, y = rare
    with pytest.raises(InvalidInputError, match=says):
        SASANetClassifier(class_weight=given, **QUICK).fit(X, y)


def test_a_regressor_has_none():
    assert "class_weight" not in SASANetRegressor().get_params()
    assert len(SASANetClassifier().get_params()) <= 18
