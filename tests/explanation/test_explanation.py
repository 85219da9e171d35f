"""Explanation: what holds for the result object, and what it refuses."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from made_explanations import CLASSES, NAMES, assert_same, make, table
from sasanet.errors import InvalidInputError, SasanetError
from sasanet.explanation.explanation import Explanation
from sasanet.explanation.selection import SelectionError

# --- the object itself ---------------------------------------------------------------------------


@pytest.mark.parametrize("outputs", [(), CLASSES])
def test_prediction_is_base_value_plus_all_attributions(outputs: tuple[str, ...]) -> None:
    e = make(outputs)
    for i in range(len(e)):
        by_hand = e.base_values[i] + sum(e.values[i, j] for j in range(4))
        np.testing.assert_allclose(e.prediction[i], by_hand, rtol=0, atol=1e-12)


BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "flat values": ({"values": np.zeros(12)}, r"values must be .* shape \(12,\)"),
    "scalar base": ({"base_values": 0.5}, r"base_values must have shape \(12,\), got \(\)"),
    "short base": ({"base_values": np.zeros(11)}, r"base_values .* \(12,\), got \(11,\)"),
    "base per class": ({"base_values": np.zeros((12, 3))}, "base_values must have shape"),
    "short errors": ({"error_std": np.zeros((12, 3))}, r"error_std must have shape \(12, 4\)"),
    "missing name": ({"feature_names": NAMES[:3]}, "columns are feature_names"),
    "swapped names": ({"feature_names": NAMES[::-1]}, "columns are feature_names"),
    "stray class": ({"output_names": ("a",)}, "output_names must number 0, got 1"),
    "fewer rows": ({"data": table(11)}, r"data must have shape \(12, 4\), got \(11, 4\)"),
    "array as data": ({"data": np.zeros((12, 4))}, "data must be a table"),
}


@pytest.mark.parametrize(("change", "sentence"), BROKEN.values(), ids=BROKEN.keys())
def test_parts_that_do_not_fit_are_refused(
    one: Explanation, change: dict[str, Any], sentence: str
) -> None:
    replace(one)  # the sound twin passes
    with pytest.raises(InvalidInputError, match=sentence):
        replace(one, **change)


def test_names_must_be_different(multi: Explanation) -> None:
    with pytest.raises(InvalidInputError, match="different output_names must number 3, got 2"):
        replace(multi, output_names=("a", "a", "b"))
    twice = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(InvalidInputError, match="different feature_names must number 2"):
        Explanation(np.zeros((1, 2)), np.zeros(1), twice, ("a", "a"))


def test_a_feature_may_be_called_like_a_class() -> None:
    e = make(("age", "other"))
    assert e.output("age")[:, "age"].shape == (12, 1)


def test_column_numbers_become_names() -> None:
    e = Explanation(np.zeros((1, 2)), np.zeros(1), pd.DataFrame([[1, 2]]), (0, 1))  # type: ignore[arg-type]
    assert e.feature_names == ("0", "1")
    assert list(e.data.columns) == ["0", "1"]


def test_later_changes_of_the_inputs_do_not_reach_it() -> None:
    values, base, data = np.ones((2, 1)), np.ones(2), pd.DataFrame({"a": [1, 2]})
    e = Explanation(values, base, data, ("a",))
    values[:], base[:], data.loc[0, "a"] = 9, 9, 9
    assert e.prediction.tolist() == [2, 2]
    assert e.data["a"].tolist() == [1, 2]


def test_it_is_frozen(one: Explanation) -> None:
    with pytest.raises(FrozenInstanceError):
        one.units = "euro"  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        one.values[0, 0] = 1


def test_repr_says_shape_outputs_and_units(one: Explanation, multi: Explanation) -> None:
    assert repr(one) == "<Explanation: 12 rows × 4 features, one output, in log-odds>"
    text = repr(replace(multi, error_std=np.zeros(multi.shape))[0, "age"])
    for part in ("1 rows × 1 features", "versicolor", "standard errors", "left out"):
        assert part in text


# --- cutting -------------------------------------------------------------------------------------

CUTS: list[tuple[Any, list[int], list[int]]] = [
    (3, [3], [0, 1, 2, 3]),
    (-1, [11], [0, 1, 2, 3]),
    (np.int64(3), [3], [0, 1, 2, 3]),
    (slice(2, 5), [2, 3, 4], [0, 1, 2, 3]),
    ([1, 2], [1, 2], [0, 1, 2, 3]),
    ([], [], [0, 1, 2, 3]),
    (np.arange(12) > 9, [10, 11], [0, 1, 2, 3]),
    (pd.Series(np.arange(12) > 9), [10, 11], [0, 1, 2, 3]),
    ((slice(None), "job"), list(range(12)), [1]),
    ((slice(0, 2), ["income", "age"]), [0, 1], [3, 0]),
    ((5, "age"), [5], [0]),
    ((5, 3), [5], [3]),
    ((slice(2), slice(1, 4)), [0, 1], [1, 2, 3]),
    ((slice(2), pd.Index(["flag"])), [0, 1], [2]),
    ((slice(2), [False, True, True, False]), [0, 1], [1, 2]),
]


@pytest.mark.parametrize("outputs", [(), CLASSES])
@pytest.mark.parametrize(("key", "rows", "columns"), CUTS)
def test_a_cut_takes_every_part_along(
    outputs: tuple[str, ...], key: Any, rows: list[int], columns: list[int]
) -> None:
    full = make(outputs)
    full = replace(full, error_std=np.abs(full.values) / 10)
    assert full.error_std is not None
    want = Explanation(
        full.values[rows][:, columns],
        full.base_values[rows],
        full.data.iloc[rows, columns],
        tuple(NAMES[j] for j in columns),
        outputs,
        full.error_std[rows][:, columns],
        complete=len(columns) == 4,
    )
    assert_same(full[key], want)


def test_an_unknown_feature_is_named_with_close_matches(one: Explanation) -> None:
    for key in ((slice(None), "incme"), (0, ["age", "incme"])):
        with pytest.raises(SelectionError) as caught:
            one[key]
        assert str(caught.value) == "There is no feature 'incme'; did you mean one of ['income']?"
        assert isinstance(caught.value, KeyError)
        assert isinstance(caught.value, SasanetError)


@pytest.mark.parametrize(
    "key", [12, -13, "age", [0, 12], [True] * 11, 1.5, None, (0, 4), (0, 1, 2), (0, None)]
)
def test_what_is_not_there_cannot_be_cut(one: Explanation, key: Any) -> None:
    with pytest.raises(IndexError, match=r"e\[rows, features\] has (12 rows|4 features), got"):
        one[key]


def test_a_loop_over_rows_ends(one: Explanation) -> None:
    rows: Any = one  # by Python's old protocol: 0, 1, 2, … until IndexError
    assert [row.data.index[0] for row in rows] == list(one.data.index)


def test_a_cut_explanation_gives_no_prediction(one: Explanation) -> None:
    assert one[2:4].prediction.tolist() == one.prediction[2:4].tolist()
    reordered = one[:, NAMES[::-1]]
    np.testing.assert_allclose(reordered.prediction, one.prediction, atol=1e-12)
    part = one[:, ["age", "job", "flag"]]
    for cut in (part, part[:, ["job", "age", "flag"]]):
        with pytest.raises(InvalidInputError, match="all features of the model, got a selection"):
            _ = cut.prediction


def test_one_class_of_many(multi: Explanation) -> None:
    e = replace(multi, error_std=np.abs(multi.values)).output("virginica")
    assert e.shape == (12, 4)
    assert e.output_names == ()
    assert e.units == "log-odds of virginica"
    assert e.error_std is not None
    assert e.error_std.shape == (12, 4)
    np.testing.assert_array_equal(e.prediction, multi.prediction[:, 2])
    with pytest.raises(KeyError, match=r"no output 'virginca'; did you mean one of \['virginica'"):
        multi.output("virginca")


def test_classes_that_were_numbers_are_found_by_number() -> None:
    assert make(("0", "1")).output(1).units == "log-odds of 1"


def test_what_rounding_leaves_of_nothing_is_no_reason():
    values = np.array([[0.5, 2e-8, -0.1]])
    e = Explanation(
        values, np.zeros(1), pd.DataFrame({"a": [1], "b": [2], "c": [3]}), ("a", "b", "c")
    )
    assert [said.split()[0] for said in e.reasons(0)] == ["a", "c"]
    assert len(replace(e, values=values * [1, 1e4, 1]).reasons(0)) == 3  # small, but a reason
