"""Refined attributions are unbiased, add up, and know their own error."""

import numpy as np
import pytest
import torch

from sasanet import SASANetClassifier, SASANetRegressor, audit
from sasanet.datasets import load_penguins
from sasanet.errors import InvalidInputError


@pytest.fixture(scope="module", params=["set", "sequence"])
def fitted(request):
    X, y = load_penguins()
    model = SASANetClassifier(request.param, random_state=0, max_epochs=4, attribution_steps=60)
    return model.fit(X, y), X


def exact_values(model, X):
    with torch.inference_mode():
        return audit._enumerated(model.network_, model._encode(X)[1])[0]


def assert_errors_are_honest(values, error_std, truth):
    """The deviations are as large as the stated standard errors say, and without a bias."""
    known = error_std > 1e-6
    z = (values - truth)[known] / error_std[known]
    assert known.sum() > 500
    assert 0.85 < np.sqrt((z**2).mean()) < 1.2
    assert np.abs(z.mean()) < 0.1


def test_refined_values_are_unbiased_with_honest_errors(fitted):
    model, X = fitted
    refined = model.explain(X[:120], refine=64)
    assert_errors_are_honest(refined.values, refined.error_std, exact_values(model, X[:120]))


def test_the_check_notices_a_bias_and_overconfidence(fitted):
    model, X = fitted
    refined, truth = model.explain(X[:120], refine=64), exact_values(model, X[:120])
    with pytest.raises(AssertionError):
        assert_errors_are_honest(refined.values + refined.error_std, refined.error_std, truth)
    with pytest.raises(AssertionError):
        assert_errors_are_honest(refined.values, refined.error_std / 2, truth)


def test_refined_values_still_add_up_and_absent_features_get_nothing(fitted):
    model, X = fitted
    refined = model.explain(X, refine=8)
    np.testing.assert_allclose(refined.prediction, model.decision_function(X), atol=1e-9)
    missing = X.isna().to_numpy()
    assert (refined.values[missing] == 0).all()
    assert (refined.error_std[missing] == 0).all()


def test_more_orders_mean_a_smaller_error(fitted):
    model, X = fitted
    few, many = (model.explain(X[:50], refine=n).error_std.mean() for n in (16, 256))
    assert many < 0.4 * few


def test_refining_is_repeatable_and_in_the_targets_units(fitted):
    model, X = fitted
    assert (model.explain(X[:9], refine=8).values == model.explain(X[:9], refine=8).values).all()
    grams = SASANetRegressor(random_state=0, max_epochs=2, attribution_steps=5)
    known = X["body_mass_g"].notna()
    grams.fit(X[known].drop(columns="body_mass_g"), X.loc[known, "body_mass_g"])
    assert grams.explain(X[:9].drop(columns="body_mass_g"), refine=8).error_std.max() > 1


@pytest.mark.parametrize("refine", [True, 1, -4, 2.5, "much"])
def test_a_bad_number_of_orders_is_refused(fitted, refine):
    model, X = fitted
    with pytest.raises(InvalidInputError, match="refine must be"):
        model.explain(X[:2], refine=refine)
