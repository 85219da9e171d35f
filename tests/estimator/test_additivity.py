"""The promise as executable text: base value + Σ attributions = raw prediction, on every row."""

import numpy as np
import pytest

from sasanet import Explanation, SASANetClassifier, SASANetRegressor
from sasanet.datasets import load_german_credit, load_penguins
from training_rows import briefly

TOLERANCE = 1e-5  # of max(1, |raw|): the product's promise


def assert_adds_up(explanation, raw):
    total = explanation.base_values + explanation.values.sum(axis=1)
    assert (np.abs(total - raw) <= TOLERANCE * np.maximum(1, np.abs(raw))).all()


def penguin_masses():
    X, _ = load_penguins()
    known = X["body_mass_g"].notna()
    return X[known].drop(columns="body_mass_g"), X.loc[known, "body_mass_g"]


CASES = {
    "binary": (SASANetClassifier, load_german_credit),
    "multiclass": (SASANetClassifier, load_penguins),
    "regression": (SASANetRegressor, penguin_masses),
}


@pytest.fixture(scope="module", params=["set", "sequence"])
def network(request):
    return request.param


@pytest.fixture(scope="module", params=list(CASES))
def case(request, network):
    kind, load = CASES[request.param]
    X, y = load()
    model = kind(briefly(network, 20), max_epochs=2, teacher_weight=0, random_state=0)
    return model.fit(X, y), X[:300]


def raw_output(model, X):
    return getattr(model, "decision_function", model.predict)(X)


def test_attributions_add_up_to_the_prediction(case):
    model, X = case
    assert_adds_up(model.explain(X), raw_output(model, X))


@pytest.mark.parametrize("share", [0.3, 0.9, 1.0])
def test_they_add_up_with_missing_cells_which_get_exactly_nothing(case, share):
    model, X = case
    holes = np.random.RandomState(0).rand(*X.shape) < share
    X = X.mask(holes)
    explanation = model.explain(X)
    assert_adds_up(explanation, raw_output(model, X))
    assert (explanation.values[X.isna().to_numpy()] == 0).all()


def test_the_check_fails_on_a_broken_explanation(case):
    model, X = case
    good = model.explain(X)
    values = good.values.copy()
    values[-1, 0] += 3 * TOLERANCE * np.abs(good.prediction).max()
    broken = Explanation(values, good.base_values, good.data, good.feature_names, good.output_names)
    with pytest.raises(AssertionError):
        assert_adds_up(broken, raw_output(model, X))
