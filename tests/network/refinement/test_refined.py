"""Effort always pays: refined attributions are closer, add up, and know their own error."""

import numpy as np
import pandas as pd
import pytest
import torch

from sasanet import Architecture, SASANetClassifier, SASANetRegressor
from sasanet.audit.reference import enumerated
from sasanet.datasets import load_penguins, make_gaussian_linear, make_gaussian_probit
from sasanet.errors import InvalidInputError, RefinementWarning
from sasanet.network import inference
from sasanet.network.refinement.effort import read_effort
from sasanet.network.refinement.run import refined

SEQUENCE = Architecture(
    marginal="sequence",
    attribution="attention",
    positions=None,
    width=16,
    marginal_layers=(16,),
    marginal_heads=2,
    marginal_head_width=8,
    attribution_width=16,
    attribution_layers=(16,),
    attribution_heads=2,
    attribution_head_width=8,
    attribution_steps=60,
)
# Small: what is tested takes many coalitions, each of them a pass through the network.
SMALL = {"width": 32, "marginal_layers": (16,)}
LEARNED = SMALL | {"attribution_width": 32, "attribution_layers": (32,), "attribution_steps": 60}
NETWORKS = {
    "formula": Architecture(**SMALL),
    "learned": Architecture(attribution="context", **LEARNED),
    "sequence": SEQUENCE,
}


@pytest.fixture(scope="module", params=list(NETWORKS))
def fitted(request):
    """Return a model of thirteen features, some cells missing, and rows of it."""
    table = make_gaussian_probit(1_000, n_features=13, correlation=0.5, missing=0.05)
    network = NETWORKS[request.param]
    model = SASANetClassifier(network, random_state=0, max_epochs=4, teacher_weight=0)
    n_rows = {"formula": 100, "learned": 40, "sequence": 12}[request.param]
    return model.fit(table.X, table.y), table.X[:n_rows]


def exact_values(model, X):
    return enumerated(model.network_, model._encode(X)[1])[..., 0]


@pytest.fixture(scope="module")
def truth(fitted):
    """Return the Shapley values of the rows, by enumeration."""
    return exact_values(*fitted)


@pytest.fixture(scope="module")
def found(fitted):
    """Return the rows' explanation, refined by 64 orders."""
    model, X = fitted
    return model.explain(X, n_orders=64)


def rmse(values, truth):
    return np.sqrt(np.square(values - truth).mean())


def assert_errors_are_honest(values, error_std, truth):
    """The deviations are as large as the stated standard errors say, and without a bias."""
    known = error_std > 1e-9
    z = (values - truth)[known] / error_std[known]
    assert known.sum() > 100
    chance = 2 / np.sqrt(known.sum())
    assert 0.85 - chance < np.sqrt((z**2).mean()) < 1.15 + chance
    assert np.abs(z.mean()) < 0.1 + chance
    # From 93 to 97 %, give or take two standard deviations of a share of 95 %.
    assert np.abs((np.abs(z) < 1.96).mean() - 0.95) < 0.02 + chance * np.sqrt(0.95 * 0.05)


def test_refined_values_have_honest_errors(found, truth):
    assert_errors_are_honest(found.values, found.error_std, truth)


def test_the_check_notices_a_bias_and_overconfidence(found, truth):
    with pytest.raises(AssertionError):
        assert_errors_are_honest(found.values + found.error_std, found.error_std, truth)
    with pytest.raises(AssertionError):
        assert_errors_are_honest(found.values, found.error_std / 1.5, truth)


@pytest.mark.parametrize("n_orders", [4, 16, 64])
def test_effort_pays_from_the_first_order_on(fitted, truth, n_orders):
    model, X = fitted
    plain, refined = model.explain(X), model.explain(X, n_orders=n_orders)
    assert rmse(refined.values, truth) < 0.9 * rmse(plain.values, truth)


def test_rows_with_few_cells_are_exact(fitted):
    """Up to eleven present features all coalitions are evaluated."""
    model, X = fitted
    few = X[:3].copy()
    few.iloc[:, [0, 5]] = np.nan
    found = model.explain(few, n_orders=4)
    assert (found.error_std == 0).all()
    np.testing.assert_allclose(found.values, exact_values(model, few), atol=1e-6)


def test_a_row_is_refined_alone_as_among_others(fitted, found):
    model, X = fitted
    alone = model.explain(X[3:5], n_orders=64)
    np.testing.assert_allclose(alone.values, found.values[3:5], atol=1e-6)
    np.testing.assert_allclose(alone.error_std, found.error_std[3:5], rtol=1e-3, atol=1e-7)


def test_wrong_attributions_are_put_right(fitted, truth):
    """Refining trusts nothing: from nonsense it finds the same values, only with more noise."""
    model, X = fitted
    X = X[:12]
    network, (_, cells) = model.network_, model._encode(X)
    nonsense = torch.randn(*cells.shape, 1, generator=torch.Generator().manual_seed(0)).double()
    nonsense *= ~cells.isnan()[..., None]
    totals = inference.outputs(network, cells)
    generator = torch.Generator().manual_seed(0)
    values, errors = refined(network, cells, nonsense, totals, 64, generator)
    deviation = rmse(values[..., 0].numpy(), truth[:12])
    assert deviation < 0.2 * rmse(nonsense[..., 0].numpy(), truth[:12])
    assert deviation < 1.3 * errors.square().mean().sqrt()  # and it is known how far they are off


def test_refined_values_still_add_up_and_absent_features_get_nothing(fitted):
    model, X = fitted
    found = model.explain(X, n_orders=8)
    np.testing.assert_allclose(found.prediction, model.decision_function(X), atol=1e-9)
    missing = X.isna().to_numpy()
    assert missing.any()
    assert (found.values[missing] == 0).all()
    assert (found.error_std[missing] == 0).all()


def test_more_orders_mean_a_smaller_error(fitted):
    model, X = fitted
    few, many = (model.explain(X[:12], n_orders=n).error_std.mean() for n in (8, 256))
    assert many < few / 2  # with so many the formula no longer matters


def test_a_wanted_standard_error_is_reached_and_true(fitted, truth):
    model, X = fitted
    target = 0.004
    found = model.explain(X, max_error=target)
    assert 0 < found.error_std.max() <= target
    assert rmse(found.values, truth) < 1.1 * target


def test_what_cannot_be_reached_is_said(fitted, monkeypatch):
    from sasanet.network.refinement import effort

    monkeypatch.setattr(effort, "_MOST_ORDERS", 20)
    model, X = fitted
    with pytest.warns(RefinementWarning, match=r"of 5 rows did not reach .* within 20 orders"):
        found = model.explain(X[:5], max_error=1e-6)
    assert found.error_std.max() > 1e-6


def test_a_wanted_error_is_in_the_targets_units():
    table = make_gaussian_linear(600, n_features=12, correlation=0.3)
    large = SASANetRegressor(random_state=0, max_epochs=4, teacher_weight=0).fit(
        table.X, 1000 * table.y
    )
    found = large.explain(table.X[:20], max_error=5.0)
    assert 0.05 < found.error_std.max() <= 5.0
    truth = enumerated(large.network_, large._encode(table.X[:20])[1])[..., 0]
    truth = truth * large.target_.scale
    assert np.abs(found.values - truth).max() < 6 * 5.0


def test_exact_attributions_have_no_error():
    X, y = load_penguins()
    model = SASANetClassifier(random_state=0, max_epochs=2, teacher_weight=0).fit(X, y)
    for effort in ({"n_orders": 8}, {"max_error": 0.01}):
        found = model.explain(X[:20], **effort)
        assert (found.error_std == 0).all()
        np.testing.assert_array_equal(found.values, model.explain(X[:20]).values)


def test_refining_is_repeatable(fitted):
    model, X = fitted
    assert (
        model.explain(X[:9], n_orders=8).values == model.explain(X[:9], n_orders=8).values
    ).all()


def test_rows_with_one_or_no_feature_are_exact(fitted):
    model, X = fitted
    bare = pd.DataFrame(np.nan, index=range(3), columns=X.columns)
    bare.iloc[0, 0] = bare.iloc[1, 3] = 1.0
    found = model.explain(bare, n_orders=8)
    np.testing.assert_allclose(found.error_std, 0, atol=1e-6)
    np.testing.assert_allclose(found.values, exact_values(model, bare), atol=1e-6)


BAD_EFFORTS = {
    "n_orders must be an integer of at least 0, got ": [
        {"n_orders": n} for n in (True, -4, -0.5, 8.0, float("nan"), "much", None)
    ],
    "n_orders must be an integer of at least 4, got ": [{"n_orders": n} for n in (1, 2, 3)],
    "max_error must be a number above 0": [
        *({"max_error": e} for e in (True, 0, -0.5, float("nan"), float("inf"), "small")),
        {"n_orders": 8, "max_error": 0.1},  # both: which is meant?
    ],
}


@pytest.mark.parametrize(
    ("sentence", "effort"),
    [(text, bad) for text, efforts in BAD_EFFORTS.items() for bad in efforts],
)
def test_a_bad_effort_is_refused_in_one_sentence(sentence, effort):
    """Before the rows are read: there is no model here to explain with."""
    with pytest.raises(InvalidInputError) as caught:
        SASANetClassifier().explain(None, **effort)
    text = str(caught.value)
    assert text.startswith(sentence)
    assert all(repr(given) in text for given in effort.values())
    assert "\n" not in text


def test_no_effort_is_the_plain_explanation():
    assert read_effort(0, None) is None
    assert read_effort(np.int64(7), None) == 7
    assert read_effort(0, 3) == 3.0
    assert isinstance(read_effort(0, 3), float)  # a whole number is an error too, not orders
