"""An option at its neutral value changes nothing: the default fit and answer, bit by bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import small_models
from sasanet import Architecture, SASANetClassifier, SASANetRegressor

SHAPE = Architecture(**small_models.SMALL)
QUICK = small_models.QUICK | {"max_epochs": 2}
N = 300
X = small_models._table()[0][:N]
CLASSES = small_models._table()[1][:N]
NUMBERS = small_models._table()[2][:N]
FREE = dict.fromkeys(X.columns, 0)
ONES = np.ones(N)


def classified(given: dict[str, Any], fit: dict[str, Any]) -> Any:
    return SASANetClassifier(SHAPE, **QUICK, **given).fit(X, CLASSES, **fit)


def foreseen(given: dict[str, Any], fit: dict[str, Any]) -> Any:
    return SASANetRegressor(SHAPE, **QUICK, **given).fit(X, NUMBERS, **fit)


def counted(given: dict[str, Any], fit: dict[str, Any]) -> Any:
    counts = np.round(np.abs(NUMBERS))
    return SASANetRegressor(SHAPE, objective="poisson", **QUICK, **given).fit(X, counts, **fit)


def assert_same(one: Any, other: Any) -> None:
    """Compare weights, base values and attributions bit by bit."""
    theirs = other.network_.state_dict()
    for name, weights in one.network_.state_dict().items():
        np.testing.assert_array_equal(weights.numpy(), theirs[name].numpy())
    np.testing.assert_array_equal(one.base_value_, other.base_value_)
    np.testing.assert_array_equal(one.explain(X[:9]).values, other.explain(X[:9]).values)


NEUTRAL = {
    "no class weights": (classified, {"class_weight": None}, {}),
    "equal class weights": (classified, {"class_weight": {0: 1, 1: 1}}, {}),
    "no direction, classes": (classified, {"monotonic_cst": FREE}, {}),
    "equal weights": (classified, {}, {"sample_weight": ONES}),
    "squared errors": (foreseen, {"objective": "squared"}, {}),
    "no direction": (foreseen, {"monotonic_cst": FREE}, {}),
    "an empty direction": (foreseen, {"monotonic_cst": {}}, {}),
    "no time limit": (foreseen, {"time_limit": np.inf}, {}),
    "no rare levels": (foreseen, {"min_level_count": 1}, {}),
    "equal exposure": (counted, {}, {"exposure": ONES}),
}


@pytest.mark.parametrize("name", NEUTRAL)
def test_a_neutral_option_leaves_the_default_fit(name):
    fit, given, with_fit = NEUTRAL[name]
    assert_same(fit(given, with_fit), fit({}, {}))


@pytest.mark.parametrize(
    ("fit", "given", "with_fit"),
    [
        (classified, {"class_weight": {0: 1, 1: 1.01}}, {}),
        (classified, {}, {"sample_weight": ONES + np.eye(N)[0]}),
        (foreseen, {"objective": "huber"}, {}),
        (foreseen, {"monotonic_cst": {"x0": 1}}, {}),
        (counted, {}, {"exposure": ONES + np.eye(N)[0]}),
    ],
)
def test_another_value_is_noticed(fit, given, with_fit):
    with pytest.raises(AssertionError):
        assert_same(fit(given, with_fit), fit({}, {}))


ANSWERS: dict[str, dict[str, Any]] = {
    "groups": {"groups": {}},
    "units": {"units": "raw"},
    "method": {"method": "formula"},
}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_neutral_question_has_the_plain_answer(name):
    model, rows = small_models.fitted("binary"), small_models.rows()
    plain = model.explain(rows).values
    np.testing.assert_array_equal(model.explain(rows, **ANSWERS[name]).values, plain)
    other = model.explain(rows, groups={"two": ["x3", "x4"]}).values  # the twin
    assert other.shape != plain.shape
