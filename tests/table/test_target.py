"""Labels: base values, what is held out, what is refused, and the way back to user units."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from sasanet.errors import InvalidInputError
from sasanet.table.target import read_classes, read_quantities


def classes(y, weights=None):
    return read_classes(y, np.ones(len(y)) if weights is None else np.array(weights, float))


def quantities(y, weights=None):
    return read_quantities(y, np.ones(len(y)) if weights is None else np.array(weights, float))


# --- base values -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "weights", "odds"),
    [
        ([0, 1, 0, 0], None, 1 / 3),
        ([0, 1, 0, 0], [1, 6, 1, 1], 2.0),
        (["no", "yes", "yes"], None, 2.0),
        ([True, False, True], [1, 4, 1], 0.5),
        ([7, -3, 7, 7], None, 3.0),
    ],
)
def test_the_base_of_two_classes_is_the_log_odds(y, weights, odds):
    target = classes(y, weights)
    assert target.task == "binary"
    assert target.base == pytest.approx((math.log(odds),))
    assert target.network_base == target.base
    assert target.scale == 1.0


@pytest.mark.parametrize(
    ("weights", "shares"), [(None, (0.25, 0.5, 0.25)), ([1, 1, 1, 7], (0.1, 0.2, 0.7))]
)
def test_the_base_of_many_classes_is_their_log_priors(weights, shares):
    target = classes(["a", "b", "b", "c"], weights)
    assert target.task == "multiclass"
    assert np.exp(target.base) == pytest.approx(shares)
    assert target.network_base == target.base


@pytest.mark.parametrize(("weights", "mean", "std"), [(None, 3.0, 8**0.5), ([3, 0, 1], 2.5, 2.598)])
def test_the_base_of_a_quantity_is_its_mean(weights, mean, std):
    target = quantities([1.0, 1.0, 7.0], weights)
    assert target.task == "regression"
    assert target.base == pytest.approx((mean,))
    assert target.scale == pytest.approx(std, abs=1e-3)
    assert target.network_base == (0.0,)
    assert target.labels == ()


def check_standardised(numbers, weights):
    """The network reads a target of mean 0 and variance 1, by weight."""
    assert np.average(numbers, weights=weights) == pytest.approx(0, abs=1e-9)
    assert np.average(np.square(numbers), weights=weights) == pytest.approx(1)


def test_quantities_are_standardised_by_weight():
    y, weights = np.array([1e6, 1e6 + 2, 1e6 + 7, 1e6 - 5]), np.array([1.0, 2.0, 0.5, 0.0])
    check_standardised(quantities(y, weights).numbers, weights)
    with pytest.raises(AssertionError):
        check_standardised(quantities(y).numbers, weights)


def test_a_class_without_weight_still_has_a_finite_base():
    target = classes(["a", "b", "c"], [1, 1, 0])
    assert all(map(math.isfinite, target.base))
    assert target.base[2] < target.base[0] - 5
    assert math.isfinite(classes([0, 1], [0, 1]).base[0])


def test_only_ratios_of_weights_count():
    y, weights = ["a", "b", "c", "a"], [1, 2, 0, 5]
    assert classes(y, np.array(weights) * 1e-6).base == pytest.approx(classes(y, weights).base)


# --- what the labels are -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "labels", "numbers"),
    [
        (["b", "a", "b"], ("a", "b"), [1, 0, 1]),
        (np.array(["b", "a", "c"], dtype=object), ("a", "b", "c"), [1, 0, 2]),
        (pd.Series(["b", "a", "b"]), ("a", "b"), [1, 0, 1]),
        (pd.Series(["b", "a", "b"], dtype="category"), ("a", "b"), [1, 0, 1]),
        (pd.Series(["b", "a", "b"], index=[7, 8, 9], dtype="string"), ("a", "b"), [1, 0, 1]),
        ([10, 2, 30], (2, 10, 30), [1, 0, 2]),
        ([1.0, 0.0, 1.0], (0.0, 1.0), [1, 0, 1]),
        ([True, False, True], (False, True), [1, 0, 1]),
    ],
)
def test_labels_of_every_kind_become_their_rank(y, labels, numbers):
    target = classes(y)
    assert target.labels == labels
    assert [type(label) for label in target.labels] == [type(label) for label in labels]
    assert target.numbers.tolist() == numbers
    assert target.numbers.dtype == np.float64
    assert target.read(y).tolist() == numbers


@pytest.mark.parametrize(
    "y",
    [
        [1, 2, 6],
        [1.0, 2.0, 6.0],
        np.array([1, 2, 6], dtype=np.uint8),
        np.array([1, 2, 6], dtype=np.float32),
        ["1", "2", "6"],
        pd.Series([1, 2, 6], index=[3, 3, 3]),
        pd.Series([1, 2, 6], dtype="Int64"),
    ],
)
def test_numbers_of_every_kind_are_read(y):
    target = quantities(y)
    assert target.base == pytest.approx((3.0,))
    np.testing.assert_allclose(target.to_raw(target.numbers[:, None])[:, 0], [1, 2, 6])
    np.testing.assert_allclose(target.read(y), target.numbers)


def test_a_constant_quantity_is_its_mean_and_nothing_else():
    target = quantities([5, 5, 5])
    assert (target.base, target.scale) == ((5.0,), 1.0)
    assert (target.numbers == 0).all()


@pytest.mark.parametrize(
    "scale",
    [
        1e6,
        1e-6,
        1e-14,
    ],
)
def test_the_units_of_a_quantity_do_not_matter(scale):
    check_standardised(quantities(np.array([1.0, 2.0, 4.0]) * scale).numbers, np.ones(3))


def test_units_are_log_odds_or_those_of_the_target():
    assert classes([0, 1]).units == "log-odds"
    assert classes([0, 1, 2]).units == "log-odds"
    assert quantities([0, 1]).units == "target"


def test_outputs_come_back_in_raw_units():
    np.testing.assert_allclose(quantities([2, 4]).to_raw(np.array([[0.0], [2.0]])), [[3.0], [5.0]])
    target = classes([0, 1, 2, 2])
    found = target.to_raw(np.zeros((2, 4, 3)))
    np.testing.assert_allclose(found, np.broadcast_to(target.base, (2, 4, 3)))


@pytest.mark.parametrize(("n_rows", "cap"), [(2, 4.0), (54, 4.0), (1000, math.log(1000))])
def test_no_log_odds_beyond_what_the_rows_support(n_rows, cap):
    assert classes([0, 1]).cap(n_rows) == pytest.approx(cap)
    assert quantities([0, 1]).cap(n_rows) == math.inf


# --- what is refused ---------------------------------------------------------------------------

MISSING = [
    pytest.param(["a", np.nan, "b"], id="list"),
    pytest.param(np.array([1.0, 0.0, np.nan]), id="float"),
    pytest.param(np.array(["a", None, "b"], dtype=object), id="None"),
    pytest.param(np.array(["a", np.nan, "b"], dtype=object), id="object"),
    pytest.param(pd.Series(["a", None, "b"]), id="str"),
    pytest.param(pd.Series(["a", None, "b"], dtype="string"), id="string"),
    pytest.param(pd.Series(["a", None, "b"], dtype="category"), id="category"),
    pytest.param(pd.Series([1, None, 0], dtype="Int64"), id="Int64"),
    pytest.param(pd.Series([True, None, False], dtype="boolean"), id="boolean"),
]


@pytest.mark.parametrize("y", MISSING)
def test_a_missing_class_is_refused(y):
    with pytest.raises(ValueError, match=r"NaN|missing"):
        classes(y)


@pytest.mark.parametrize(
    "y", [[1.0, np.nan], [1.0, None], [1.0, np.inf], pd.Series([1, None], dtype="Int64")]
)
def test_a_missing_or_infinite_quantity_is_refused(y):
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        quantities(y)


@pytest.mark.parametrize("y", [["a", "a"], [1, 1, 1], [True]])
def test_a_single_class_is_refused_by_name(y):
    with pytest.raises(InvalidInputError, match="at least two classes") as info:
        classes(y)
    assert str(info.value).endswith(f"only one class, {[y[0]]}")


def test_quantities_are_no_classes():
    with pytest.raises(ValueError, match="continuous"):
        classes([0.5, 1.25, 3.0])


def test_classes_are_no_quantities():
    with pytest.raises(InvalidInputError, match=r"must hold numbers.*'blue'.*SASANetClassifier"):
        quantities(["blue", "red"])


@pytest.mark.parametrize(
    ("y", "other", "strange"),
    [
        (["a", "b"], ["a", "zebra"], "['zebra']"),
        (["a", "b"], ["A", "a", "A"], "['A']"),
        ([0, 1, 2], [0, 5, -1], "[-1, 5]"),
        ([0, 1, 2], ["0", "1"], "['0', '1']"),
        (["a", "b"], [1, 2], "[1, 2]"),
    ],
)
def test_a_label_not_in_training_is_refused_by_name(y, other, strange):
    target = classes(y)
    with pytest.raises(InvalidInputError, match="y must hold the classes") as info:
        target.read(other)
    assert str(info.value).endswith(f"got {strange}")
    assert str(y) in str(info.value)


def test_other_labels_are_read_by_the_training_labels():
    assert classes(["a", "b", "c"]).read(["c", "c", "a"]).tolist() == [2, 2, 0]
    assert quantities([0.0, 2.0]).read([5, 1]).tolist() == [4.0, 0.0]


# --- what is held out --------------------------------------------------------------------------


def check_shares(held_out, labels, fraction):
    """Every class gives its share of rows, up to one row."""
    for label in np.unique(labels):
        count = (labels == label).sum()
        assert abs(held_out[labels == label].sum() - fraction * count) <= 1


@pytest.mark.parametrize("fraction", [0.1, 0.25, 0.5])
def test_each_class_holds_out_its_share(fraction):
    labels = np.repeat([0, 1, 2], [600, 90, 11])
    target = classes(labels)
    held_out = target.hold_out(fraction, np.random.RandomState(0))
    assert held_out.dtype == bool
    assert held_out.shape == labels.shape
    check_shares(held_out, labels, fraction)
    with pytest.raises(AssertionError):
        check_shares(np.arange(701) < fraction * 701, labels, fraction)


@pytest.mark.parametrize("fraction", [0.1, 0.33])
def test_quantities_hold_out_their_fraction(fraction):
    held_out = quantities(np.arange(300)).hold_out(fraction, np.random.RandomState(0))
    assert held_out.sum() == round(fraction * 300)
    assert held_out[:150].any()
    assert held_out[150:].any()


@pytest.mark.parametrize("make", [classes, quantities])
def test_one_seed_holds_out_the_same_rows(make):
    target = make(np.arange(400) % 2)
    first, again, other = (target.hold_out(0.1, np.random.RandomState(s)) for s in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()


@pytest.mark.parametrize("make", [classes, quantities])
@pytest.mark.parametrize(("n_rows", "fraction"), [(10, 0.1), (14, 0.1), (400, 0.0)])
def test_tiny_tables_hold_out_nothing(make, n_rows, fraction):
    held_out = make(np.arange(n_rows) % 2).hold_out(fraction, np.random.RandomState(0))
    assert held_out.shape == (n_rows,)
    assert not held_out.any()


def test_every_class_keeps_rows_to_learn_from():
    labels = np.repeat([0, 1, 2], [50, 2, 1])
    held_out = classes(labels).hold_out(0.9, np.random.RandomState(0))
    assert set(labels[~held_out]) == {0, 1, 2}


def test_quantities_keep_rows_to_learn_from():
    assert not quantities(np.arange(100)).hold_out(0.999, np.random.RandomState(0)).all()


# --- forgetting --------------------------------------------------------------------------------


def check_forgotten(target, original):
    assert len(target.numbers) == 0
    assert (target.task, target.base, target.scale, target.labels) == (
        original.task,
        original.base,
        original.scale,
        original.labels,
    )


@pytest.mark.parametrize("target", [classes(["a", "b", "a"]), quantities([1, 2, 4])])
def test_labels_are_forgotten_and_their_meaning_kept(target):
    check_forgotten(target.forget_labels(), target)
    assert len(target.numbers) == 3
    with pytest.raises(AssertionError):
        check_forgotten(target, target)
