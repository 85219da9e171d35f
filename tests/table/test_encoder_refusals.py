"""The encoder: which cells and columns are refused, and in which words."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from one_column import learn_column, place_column
from sasanet.errors import (
    InvalidInputError,
    SasanetError,
)
from sasanet.table.encoder import TableEncoder
from sasanet.table.reading import TableTypeError

NAN = np.nan


# --- cells that are refused ---


@pytest.mark.parametrize(
    "bad",
    [
        [1.0, np.inf],
        [-np.inf, 1.0],
        pd.Series([1, np.inf], dtype=object),
        pd.Series([1, 10**400], dtype=object),
        pd.Series([1, -(10**5000)], dtype=object),
        pd.Series([1, Decimal("1e400")], dtype=object),
        np.array([1, np.finfo(np.longdouble).max]),
    ],
)
def test_infinite_numbers_are_refused_by_name(bad):
    encoder, _ = learn_column([1.0, 2.0])
    for attempt in (learn_column, lambda values: place_column(encoder, values)):
        with pytest.raises(InvalidInputError, match="Column 'x' contains infinity"):
            attempt(bad)


def test_infinite_codes_are_refused_by_name():
    encoder, _ = learn_column([1.0, 2.0], categorical_features=["x"])
    with pytest.raises(InvalidInputError, match="Column 'x' contains infinity"):
        place_column(encoder, [1.0, np.inf])
    with pytest.raises(InvalidInputError, match="Column 'x' contains infinity"):
        learn_column([1.0, -np.inf], categorical_features=["x"])


@pytest.mark.parametrize("values", [[1j, 2.0], pd.Series([np.complex64(2j)], dtype=object)])
def test_complex_numbers_are_refused(values):
    with pytest.raises(InvalidInputError, match="Complex data not supported"):
        learn_column(values)


@pytest.mark.parametrize(
    "values",
    [
        pd.to_timedelta([1, 2], unit="D"),
        [datetime.time(12), None],
        pd.Series([np.timedelta64(1, "D")], dtype=object),
        [datetime.date(2020, 1, 1), "soon"],
        [1.5, datetime.date(2020, 1, 1)],
    ],
)
def test_durations_and_dates_among_others_are_refused_with_a_remedy(values):
    with pytest.raises(InvalidInputError, match=r"Column 'x' must not hold d.* (drop|make) "):
        learn_column(values)


@pytest.mark.parametrize(
    "values",
    [
        pd.to_datetime(["2020-01-01", "2021-01-01"]),
        pd.to_datetime(["2020-01-01"], utc=True),
        pd.period_range("2020", periods=2, freq="M"),
        [datetime.date(2020, 1, 1), None],
        pd.Categorical(pd.to_datetime(["2020-01-01"])),
        pd.Series(pd.to_datetime(["2020-01-01"])).astype("timestamp[us][pyarrow]"),
    ],
)
def test_dates_where_training_had_others_are_refused_with_a_remedy(values):
    sentence = "Column 'x' must not hold dates.*make all of its cells dates, or text"
    for trained in ([1.0, 2.0], ["a", "b"]):
        with pytest.raises(InvalidInputError, match=sentence):
            place_column(learn_column(trained)[0], values)


@pytest.mark.parametrize("cell", [{"a": 1}, [1], (1,), b"raw", np.zeros(2), object()])
def test_cells_that_are_neither_text_nor_number_are_refused(cell):
    values = pd.Series([1.5, None, cell], dtype=object)
    with pytest.raises(
        TableTypeError, match=r"'x'.*argument must be a string or a number"
    ) as caught:
        learn_column(values)
    assert isinstance(caught.value, SasanetError)
    assert isinstance(caught.value, TypeError)
    assert type(cell).__name__ in str(caught.value)


def test_arrow_lists_are_refused():
    pa = pytest.importorskip("pyarrow")
    values = pd.Series([[1], [2]], dtype=pd.ArrowDtype(pa.list_(pa.int64())))
    with pytest.raises(TableTypeError, match="must be a string or a number"):
        learn_column(values)


@pytest.mark.parametrize("values", [["3.5", "4"], ["low", None], pd.Categorical(["3.5"])])
def test_text_in_a_number_column_is_refused_with_the_conversion(values):
    encoder, _ = learn_column([1.0, 2.0])
    with pytest.raises(InvalidInputError, match=r"'x' must hold numbers.*'(3.5|low)'.*to_numeric"):
        place_column(encoder, values)


# --- columns of the table ---


def test_a_changed_order_of_names_is_repaired(mixed_table):
    encoder = TableEncoder().fit(mixed_table)
    turned = mixed_table[mixed_table.columns[::-1]]
    np.testing.assert_array_equal(encoder.transform(turned), encoder.transform(mixed_table))


def test_labels_that_are_not_text_are_repaired_too_but_do_not_name_the_table():
    table = pd.DataFrame({2019: [1.0, 2.0], 2020: [30.0, 40.0]})
    encoder = TableEncoder().fit(table)
    assert not encoder.named
    assert encoder.names == ("2019", "2020")
    np.testing.assert_array_equal(encoder.transform(table[[2020, 2019]]), encoder.transform(table))
    np.testing.assert_array_equal(encoder.transform(table.to_numpy()), encoder.transform(table))
    with pytest.raises(InvalidInputError, match="- 2019"):
        encoder.transform(table.rename(columns={2019: 2021}))


def test_other_names_are_refused_with_their_difference():
    encoder = TableEncoder().fit(pd.DataFrame({"age": [1.0], "city": ["a"]}))
    with pytest.raises(InvalidInputError) as caught:
        encoder.transform(pd.DataFrame({"Age": [1.0], "city": ["a"]}))
    assert str(caught.value).splitlines() == [
        "The feature names should match those that were passed during fit.",
        "- age (missing)",
        "+ Age (not seen in training)",
    ]


@pytest.mark.parametrize(
    ("names", "line"),
    [
        (["a"], "- b (missing)"),
        (["a", "b", "c"], "+ c (not seen in training)"),
        (["a", "b", "b"], "+ b (more than once)"),
    ],
)
def test_missing_extra_and_repeated_names_are_listed(names, line):
    encoder = TableEncoder().fit(pd.DataFrame({"a": [1.0], "b": [1.0]}))
    with pytest.raises(InvalidInputError, match="The feature names should match") as caught:
        encoder.transform(pd.DataFrame(np.zeros((1, len(names))), columns=names))
    assert str(caught.value).splitlines()[1:] == [line]


def test_a_long_difference_is_shortened():
    encoder = TableEncoder().fit(pd.DataFrame(np.zeros((1, 500))).add_prefix("a"))
    with pytest.raises(InvalidInputError) as caught:
        encoder.transform(pd.DataFrame(np.zeros((1, 500))).add_prefix("b"))
    lines = str(caught.value).splitlines()
    assert len(lines) == 12
    assert "+ b0 (not seen in training)" in lines
    assert lines[-1] == "… and 990 more"


def test_repeated_names_are_refused_in_training():
    with pytest.raises(InvalidInputError, match=r"unique, got twice: \['a'\]"):
        TableEncoder().fit(pd.DataFrame([[1, 2, 3]], columns=["a", "b", "a"]))


def test_an_array_of_the_right_width_is_read_in_order():
    table = pd.DataFrame({"1": [1.0, 2.0], "0": [30.0, 40.0]})
    encoder = TableEncoder().fit(table)
    np.testing.assert_array_equal(encoder.transform(table.to_numpy()), encoder.transform(table))


def test_a_named_table_is_read_in_order_by_an_encoder_trained_on_an_array():
    X = np.array([[1.0, 30.0], [2.0, 40.0]])
    encoder = TableEncoder().fit(X)
    assert not encoder.named
    named = pd.DataFrame(X, columns=["a", "b"])
    np.testing.assert_array_equal(encoder.transform(named), encoder.transform(X))


def test_the_wrong_number_of_columns_is_refused_in_sklearns_words():
    encoder = TableEncoder().fit(np.zeros((5, 4)))
    sentence = "X has 3 features, but SASANet is expecting 4 features as input."
    with pytest.raises(InvalidInputError, match=sentence):
        encoder.transform(np.zeros((5, 3)))
