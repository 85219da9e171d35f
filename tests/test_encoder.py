"""The encoder: what each kind of column becomes, what is refused, and in which words."""

from __future__ import annotations

import datetime
import gc
import json
import sys
import time
import weakref
from dataclasses import FrozenInstanceError
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from sasanet import encoder as encoder_module
from sasanet.encoder import Column, TableEncoder
from sasanet.errors import (
    InvalidInputError,
    MissingPackageError,
    SasanetError,
    SavedFileError,
    UnknownLevelWarning,
)
from sasanet.table import TableTypeError, read_table

NAN = np.nan


def learn(values, **options):
    """Fit a one-column table called x and return (encoder, its cells)."""
    table = pd.DataFrame({"x": values})
    encoder = TableEncoder(**options).fit(table)
    return encoder, encoder.transform(table)[:, 0]


def place(encoder, values):
    return encoder.transform(pd.DataFrame({"x": values}))[:, 0]


@pytest.fixture
def mixed():
    """Return a table with one column of every kind, and missing cells."""
    return pd.DataFrame(
        {
            "age": [20, 30, 40, 50],
            "income": [1.5, NAN, 0.5, 1.5],
            "city": ["Rome", "Oslo", None, "Rome"],
            "member": [True, False, True, True],
            "size": pd.Categorical(["M", "S", None, "L"], categories=["S", "M", "L", "XL"]),
            "visits": pd.array([3, None, 1, 2], dtype="Int64"),
            "code": [7, 7, 9, 8],
        }
    )


# --- what each kind of column becomes ---


def test_a_table_becomes_one_float32_number_per_cell(mixed):
    cells = TableEncoder(categorical=["code"]).fit(mixed).transform(mixed)
    expected = [
        [0, 1, 2, 2, 2, 2, 1],
        [1, NAN, 1, 1, 1, NAN, 1],
        [2, 0, NAN, 2, NAN, 0, 3],
        [3, 1, 2, 2, 3, 1, 2],
    ]
    np.testing.assert_array_equal(cells, np.array(expected, dtype=np.float32))
    assert cells.dtype == np.float32
    assert cells.flags.c_contiguous


def test_the_encoder_describes_its_columns(mixed):
    encoder = TableEncoder(categorical=["code"]).fit(mixed)
    assert encoder.names == tuple(mixed.columns)
    assert encoder.is_number == (True, True, False, False, False, True, False)
    assert encoder.places == (4, 2, 3, 3, 4, 3, 4)
    assert encoder.named
    with pytest.raises(FrozenInstanceError):
        encoder.columns[0].name = "other"


@pytest.mark.parametrize(
    ("values", "levels"),
    [
        (["b", "a", None], ("a", "b")),
        (pd.Series(["b", "a", None], dtype=object), ("a", "b")),
        (pd.Series(["b", "a", NAN], dtype=object), ("a", "b")),
        (pd.Series(["b", "a", pd.NA], dtype="string"), ("a", "b")),
        (pd.Series(["b", "a", None], dtype="string[pyarrow]"), ("a", "b")),
        ([True, False, True], (False, True)),
        (pd.Series([True, False, None], dtype=object), (False, True)),
        (pd.Series([True, False, None], dtype="boolean"), (False, True)),
        (pd.Series([True, False, None], dtype="bool[pyarrow]"), (False, True)),
        (pd.Categorical(["b", "a", None], categories=["c", "b", "a"]), ("b", "a")),
        (pd.Categorical(["b", "a", "b"], categories=["b", "a"], ordered=True), ("b", "a")),
        (pd.Categorical([30, 10, 10], categories=[30, 20, 10]), (30, 10)),
        (pd.Categorical([2.5, 1.0, None]), (1, 2.5)),
        (pd.cut(pd.Series([15, 5, 5]), [0, 10, 20]), ("(0, 10]", "(10, 20]")),
        (pd.Series([1, "a", 2.5], dtype=object), ("1", "2.5", "a")),
        (pd.Series(["yes", True, None], dtype=object), ("True", "yes")),
    ],
)
def test_categories_are_learned_with_their_levels_in_order(values, levels):
    encoder, cells = learn(values)
    assert encoder.columns[0].kind == "category"
    assert encoder.columns[0].levels == levels
    assert [type(level) for level in encoder.columns[0].levels] == [type(v) for v in levels]
    missing = pd.isna(pd.Series(values)).to_numpy()
    np.testing.assert_array_equal(np.isnan(cells), missing)
    assert set(cells[~missing]) == set(range(1, len(levels) + 1))


@pytest.mark.parametrize(
    "values",
    [
        [1, 3, 2],
        np.array([1, 3, 2], dtype=np.uint8),
        np.array([1, 3, 2], dtype=np.float16),
        np.array([1, 3, 2], dtype=np.longdouble),
        pd.Series([1, 3, 2], dtype="Int64"),
        pd.Series([1, 3, 2], dtype="Float64"),
        pd.Series([1, 3, 2], dtype="int64[pyarrow]"),
        pd.Series([1, 3, 2], dtype="double[pyarrow]"),
        pd.Series([1, 3, 2], dtype="Sparse[float64]"),
        pd.Series([1, 3.0, np.float32(2)], dtype=object),
        pd.Series([Decimal(1), Decimal(3), 2], dtype=object),
        pd.Series([np.int64(1), np.int8(3), 2], dtype=object),
    ],
)
def test_numbers_of_every_dtype_read_the_same(values):
    encoder, cells = learn(values)
    assert encoder.columns[0] == Column("x", "number", (), (1.0, 2.0, 3.0), 2.0, np.std([1, 2, 3]))
    np.testing.assert_array_equal(cells, [0, 2, 1])


@pytest.mark.parametrize(
    "values",
    [
        pd.Series([1, None, 2], dtype="Int64"),
        pd.Series([1.0, None, 2.0], dtype="double[pyarrow]"),
        pd.Series([1, None, 2], dtype=object),
        pd.Series([1, NAN, 2], dtype=object),
        pd.Series([1, pd.NA, 2], dtype=object),
        pd.Series([1, pd.NaT, 2], dtype=object),
        pd.Series([Decimal(1), Decimal("NaN"), Decimal(2)], dtype=object),
    ],
)
def test_missing_numbers_are_nan_cells_whatever_their_spelling(values):
    np.testing.assert_array_equal(learn(values)[1], [0, NAN, 1])


def test_an_arrow_decimal_column_is_a_number_and_an_arrow_dictionary_a_category():
    pa = pytest.importorskip("pyarrow")
    decimals = pd.Series([Decimal("1.5"), None], dtype=pd.ArrowDtype(pa.decimal128(5, 2)))
    np.testing.assert_array_equal(learn(decimals)[1], [0, NAN])
    words = pd.Series(pd.arrays.ArrowExtensionArray(pa.array(["b", "a", None]).dictionary_encode()))
    np.testing.assert_array_equal(learn(words)[1], [2, 1, NAN])


@pytest.mark.parametrize("values", [[NAN, NAN], [None, None], pd.Series([pd.NA, pd.NaT])])
def test_a_column_missing_throughout_training_is_a_number_with_one_knot(values):
    encoder, cells = learn(values)
    assert encoder.columns[0] == Column("x", "number", knots=(0.0,))
    assert np.isnan(cells).all()
    np.testing.assert_array_equal(place(encoder, [-5.0, 5.0]), [0, 0])


@pytest.mark.parametrize("dtype", ["string", "category"])
def test_a_text_column_missing_throughout_training_is_a_category_without_levels(dtype):
    encoder, cells = learn(pd.Series([None, None], dtype=dtype))
    assert encoder.places == (1,)
    assert np.isnan(cells).all()
    with pytest.warns(UnknownLevelWarning, match="Rome"):
        np.testing.assert_array_equal(place(encoder, ["Rome"]), [0])


def test_rows_with_nothing_present_are_fine(mixed):
    encoder = TableEncoder().fit(mixed)
    empty = pd.DataFrame([[None] * 7], columns=mixed.columns)
    assert np.isnan(encoder.transform(empty)).all()


# --- numbers on their ruler ---


def test_a_number_lies_between_its_knots_and_flat_beyond_them():
    encoder, _ = learn([0.0, 10.0, 30.0])
    places = place(encoder, [-1e9, 0.0, 5.0, 10.0, 15.0, 30.0, 1e300])
    np.testing.assert_array_equal(places, [0, 0, 0.5, 1, 1.25, 2, 2])


def test_a_constant_column_has_one_place():
    encoder, cells = learn([7.0, 7.0])
    assert encoder.places == (1,)
    np.testing.assert_array_equal(cells, [0, 0])
    np.testing.assert_array_equal(place(encoder, [6.0, 8.0]), [0, 0])


def test_standard_numbers_have_mean_zero_and_deviation_one():
    values = [1.0, 2.0, 3.0, NAN, 10.0]
    encoder, cells = learn(values, numbers="standard")
    expected = (np.array(values) - 4.0) / np.std([1, 2, 3, 10])
    np.testing.assert_allclose(cells, expected, rtol=1e-6)
    assert encoder.columns[0].knots == (1.0, 2.0, 3.0, 10.0)


@pytest.mark.parametrize("value", [0.0, 0.1, -3.0, 1e308, 5e-324])
def test_the_deviation_of_a_constant_column_is_one(value):
    encoder, cells = learn([value] * 1000, numbers="standard")
    assert (encoder.columns[0].mean, encoder.columns[0].std) == (value, 1.0)
    np.testing.assert_array_equal(cells, 0)


@pytest.mark.parametrize("numbers", ["knots", "standard"])
def test_the_largest_and_smallest_floats_get_finite_cells(numbers):
    largest = sys.float_info.max
    extremes = [-largest, 0.0, 5e-324, 1e-310, 1.0, largest]
    for values in (extremes, extremes[1:4], extremes[2:], [1.0, 1.0 + 1e-15]):
        encoder, cells = learn(values, numbers=numbers)
        assert np.isfinite(cells).all()
        assert (np.diff(cells) >= 0).all()
        column = encoder.columns[0]
        assert np.isfinite([column.mean, column.std]).all()
        assert column.std > 0
        assert np.isfinite(place(encoder, [*extremes, 7e-311, largest / 3])).all()


def test_few_distinct_values_are_all_knots():
    encoder, cells = learn([3, 1, 2, 2, 2], n_knots=3)
    assert encoder.columns[0].knots == (1.0, 2.0, 3.0)
    np.testing.assert_array_equal(cells, [2, 0, 1, 1, 1])


def test_many_distinct_values_give_knots_with_equally_many_rows_between_them():
    values = np.random.default_rng(0).lognormal(size=6400)
    encoder, cells = learn(values)
    knots = np.array(encoder.columns[0].knots)
    assert len(knots) == 64
    assert np.isin(knots, values).all()
    assert (knots[0], knots[-1]) == (values.min(), values.max())
    rows, _ = np.histogram(cells, bins=np.arange(64))
    assert rows.min() >= 0.9 * 6400 / 63
    assert rows.max() <= 1.1 * 6400 / 63


def test_dominating_values_are_their_own_knots_and_the_rest_gets_the_others():
    rng = np.random.default_rng(1)
    tail = rng.lognormal(8, 1, size=600)
    values = np.concatenate([np.zeros(9000), np.full(400, 99999.0), tail])
    encoder, _ = learn(values, n_knots=16)
    knots = encoder.columns[0].knots
    assert len(knots) == 16
    assert {0.0, 99999.0, values.max()} <= set(knots)
    assert np.isin(knots, tail).sum() >= 13


def test_when_knots_are_short_the_heaviest_value_gets_one():
    values = [0.0] + [1.0] * 40 + [2.0] * 50 + [3.0]
    assert learn(values, n_knots=3)[0].columns[0].knots == (0.0, 2.0, 3.0)


@pytest.mark.parametrize("n_knots", [2, 3, 4, 5, 16, 64])
@pytest.mark.parametrize("seed", range(5))
def test_knots_are_few_sorted_real_values_and_include_both_ends(n_knots, seed):
    rng = np.random.default_rng(seed)
    values = np.round(rng.standard_cauchy(2000), seed % 3)
    values[: 400 * seed] = rng.integers(0, seed + 1, 400 * seed)
    knots = np.array(learn(values, n_knots=n_knots)[0].columns[0].knots)
    assert len(knots) == min(n_knots, len(np.unique(values)))
    assert (np.diff(knots) > 0).all()
    assert np.isin(knots, values).all()
    assert {values.min(), values.max()} <= set(knots)
    distinct, counts = np.unique(values, return_counts=True)
    dominating = distinct[counts > len(values) / n_knots]
    if len(set(dominating) | {values.min(), values.max()}) <= n_knots:
        assert set(dominating) <= set(knots)


# --- categories on their ruler ---


def test_codes_named_as_categorical_are_levels_and_3_is_3_point_0():
    encoder, cells = learn([3, 1, 3], categorical=["x"])
    assert encoder.columns[0].levels == (1, 3)
    np.testing.assert_array_equal(cells, [2, 1, 2])
    np.testing.assert_array_equal(place(encoder, [3.0, NAN, 1.0]), [2, NAN, 1])
    np.testing.assert_array_equal(place(encoder, pd.array([3, None], dtype="Int64")), [2, NAN])
    assert learn([3.0, 1.0, NAN], categorical=["x"])[0].columns == encoder.columns


def test_a_level_too_large_to_be_an_exact_integer_stays_a_float():
    (level,) = learn([1e300], categorical=["x"])[0].columns[0].levels
    assert isinstance(level, float)


def test_codes_in_an_array_are_named_by_position():
    X = np.array([[5.0, 1.0], [5.0, 2.0], [NAN, 3.0]])
    encoder = TableEncoder(categorical=[np.int64(0)]).fit(X)
    assert encoder.is_number == (False, True)
    np.testing.assert_array_equal(encoder.transform(X)[:, 0], [1, 1, NAN])


def test_codes_equal_as_floats_are_one_level():
    values = pd.Series([0.1, Decimal("0.1"), 0.2], dtype=object)
    encoder, cells = learn(values, categorical=["x"])
    assert encoder.columns[0].levels == (0.1, 0.2)
    np.testing.assert_array_equal(cells, [1, 1, 2])


def test_large_codes_keep_every_digit():
    codes = [2**60, 2**60 + 1]
    encoder, cells = learn(codes, categorical="x")
    assert encoder.columns[0].levels == tuple(codes)
    np.testing.assert_array_equal(cells, [1, 2])


def test_unknown_categorical_names_are_refused_with_the_names_there_are(mixed):
    with pytest.raises(InvalidInputError, match=r"\['Age'\] not in \['age', 'income'"):
        TableEncoder(categorical=["Age"]).fit(mixed)


@pytest.mark.parametrize("values", [[0, 1], [0.0, 1.0], [False, True], pd.Categorical([0, 1])])
def test_booleans_match_zero_and_one(values):
    encoder, _ = learn([True, False, True])
    np.testing.assert_array_equal(place(encoder, values), [1, 2])


def test_zeros_and_ones_of_training_match_booleans():
    encoder, _ = learn([0, 1, 2])
    np.testing.assert_array_equal(place(encoder, [False, True]), [0, 1])


def test_a_mixture_of_text_and_numbers_reads_the_same_row_by_row():
    values = pd.Series([1, "a", 2.5, "1", None, 1.0], dtype=object)
    encoder, cells = learn(values)
    np.testing.assert_array_equal(cells, [1, 3, 2, 1, NAN, 1])
    rows = [place(encoder, values.iloc[[i]].infer_objects())[0] for i in range(len(values))]
    np.testing.assert_array_equal(rows, cells)


def test_unseen_levels_get_place_zero_and_one_warning_for_the_whole_table():
    table = pd.DataFrame({name: ["a", "b"] for name in "pqrst"})
    encoder = TableEncoder().fit(table)
    other = table.assign(p=["x", "a"], q=["y", "z"], r=["w", "w"], s=["v", None])
    with pytest.warns(UnknownLevelWarning) as caught:
        cells = encoder.transform(other)
    np.testing.assert_array_equal(cells, [[0, 0, 0, 0, 1], [1, 0, 0, NAN, 2]])
    assert len(caught) == 1
    message = str(caught[0].message)
    for part in ("'p' ['x']", "'q' ['y', 'z']", "'r' ['w']", "and 1 more."):
        assert part in message
    assert "'s'" not in message
    assert caught[0].filename == __file__


def test_unused_categories_of_the_dtype_are_not_unseen_levels():
    encoder, _ = learn(["a", "b"])
    values = pd.Categorical(["b", None], categories=["new", "b"])
    np.testing.assert_array_equal(place(encoder, values), [2, NAN])


def test_text_never_matches_levels_that_are_numbers():
    encoder, _ = learn([3, 1], categorical=["x"])
    with pytest.warns(UnknownLevelWarning, match="'3'"):
        np.testing.assert_array_equal(place(encoder, ["3"]), [0])


def test_too_many_levels_for_float32_are_refused(monkeypatch):
    monkeypatch.setattr(encoder_module, "_MOST_LEVELS", 2)
    learn(["a", "b"])
    with pytest.raises(InvalidInputError, match="'x' must have at most 2 levels, however: 3"):
        learn(["a", "b", "c"])


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
    encoder, _ = learn([1.0, 2.0])
    for attempt in (learn, lambda values: place(encoder, values)):
        with pytest.raises(InvalidInputError, match="Column 'x' contains infinity"):
            attempt(bad)


def test_infinite_codes_are_refused_by_name():
    encoder, _ = learn([1.0, 2.0], categorical=["x"])
    with pytest.raises(InvalidInputError, match="Column 'x' contains infinity"):
        place(encoder, [1.0, np.inf])
    with pytest.raises(InvalidInputError, match="Column 'x' contains infinity"):
        learn([1.0, -np.inf], categorical=["x"])


@pytest.mark.parametrize("values", [[1j, 2.0], pd.Series([np.complex64(2j)], dtype=object)])
def test_complex_numbers_are_refused(values):
    with pytest.raises(InvalidInputError, match="Complex data not supported"):
        learn(values)


@pytest.mark.parametrize(
    "values",
    [
        pd.to_datetime(["2020-01-01", "2021-01-01"]),
        pd.to_datetime(["2020-01-01"], utc=True),
        pd.to_timedelta([1, 2], unit="D"),
        pd.period_range("2020", periods=2, freq="M"),
        [datetime.date(2020, 1, 1), None],
        [datetime.time(12), None],
        pd.Series([np.timedelta64(1, "D")], dtype=object),
        pd.Categorical(pd.to_datetime(["2020-01-01"])),
        pd.Series(pd.to_datetime(["2020-01-01"])).astype("timestamp[us][pyarrow]"),
    ],
)
def test_dates_and_times_are_refused_with_a_remedy(values):
    sentence = "Column 'x' must not hold dates.*days since a date"
    with pytest.raises(InvalidInputError, match=sentence):
        learn(values)
    for trained in ([1.0, 2.0], ["a", "b"]):
        with pytest.raises(InvalidInputError, match=sentence):
            place(learn(trained)[0], values)


@pytest.mark.parametrize("cell", [{"a": 1}, [1], (1,), b"raw", np.zeros(2), object()])
def test_cells_that_are_neither_text_nor_number_are_refused(cell):
    values = pd.Series([1.5, None, cell], dtype=object)
    with pytest.raises(
        TableTypeError, match=r"'x'.*argument must be a string or a number"
    ) as caught:
        learn(values)
    assert isinstance(caught.value, SasanetError)
    assert isinstance(caught.value, TypeError)
    assert type(cell).__name__ in str(caught.value)


def test_arrow_lists_are_refused():
    pa = pytest.importorskip("pyarrow")
    values = pd.Series([[1], [2]], dtype=pd.ArrowDtype(pa.list_(pa.int64())))
    with pytest.raises(TableTypeError, match="must be a string or a number"):
        learn(values)


@pytest.mark.parametrize("values", [["3.5", "4"], ["low", None], pd.Categorical(["3.5"])])
def test_text_in_a_number_column_is_refused_with_the_conversion(values):
    encoder, _ = learn([1.0, 2.0])
    with pytest.raises(InvalidInputError, match=r"'x' must hold numbers.*'(3.5|low)'.*to_numeric"):
        place(encoder, values)


# --- columns of the table ---


def test_a_changed_order_of_names_is_repaired(mixed):
    encoder = TableEncoder().fit(mixed)
    turned = mixed[mixed.columns[::-1]]
    np.testing.assert_array_equal(encoder.transform(turned), encoder.transform(mixed))


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
    with pytest.raises(InvalidInputError, match=r"unique, however twice: \['a'\]"):
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


# --- what counts as a table ---


def test_a_dataframe_is_read_as_it_is(mixed):
    assert read_table(mixed) is mixed


@pytest.mark.parametrize(
    "X",
    [
        [[1.5, "a", True], [2.5, None, False]],
        ((1.5, "a", True), (2.5, None, False)),
        np.array([[1.5, "a", True], [2.5, None, False]], dtype=object),
    ],
)
def test_rows_of_python_values_keep_the_type_of_every_column(X):
    encoder = TableEncoder().fit(X)
    assert encoder.is_number == (True, False, False)
    np.testing.assert_array_equal(encoder.transform(X), [[0, 1, 2], [1, NAN, 1]])


@pytest.mark.parametrize(
    ("X", "numbers"),
    [
        (np.array([[1, 2], [3, 4]]), True),
        (np.array([[1.0, 2.0], [3.0, 4.0]], dtype=np.float32, order="F"), True),
        (np.array([[True, False], [False, True]]), False),
        (np.array([["a", "b"], ["c", "d"]]), False),
    ],
)
def test_arrays_of_every_dtype_are_tables_labelled_by_position(X, numbers):
    table = read_table(X)
    assert list(table.columns) == [0, 1]
    assert TableEncoder().fit(X).is_number == (numbers, numbers)


def test_the_masked_cells_of_an_array_are_missing():
    X = np.ma.masked_array([[1.0, 2.0], [3.0, 4.0]], mask=[[0, 1], [0, 0]])
    np.testing.assert_array_equal(TableEncoder().fit(X).transform(X), [[0, NAN], [1, 0]])


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_tables_of_other_libraries_are_read(library):
    module = pytest.importorskip(library)
    make = module.DataFrame if library == "polars" else module.table
    table = make({"n": [1, None, 3], "s": ["b", None, "a"], "b": [True, None, False]})
    encoder = TableEncoder().fit(table)
    assert encoder.named
    np.testing.assert_array_equal(encoder.transform(table), [[0, 2, 2], [NAN] * 3, [1, 1, 1]])


def test_tables_that_only_speak_the_interchange_protocol_are_read():
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"n": [1.5, 2.5], "s": ["b", "a"]})

    class Foreign:
        def __dataframe__(self, nan_as_null=False, allow_copy=True):
            return table.__dataframe__(nan_as_null, allow_copy)

    np.testing.assert_array_equal(
        TableEncoder().fit(Foreign()).transform(Foreign()), [[0, 2], [1, 1]]
    )


def test_without_pyarrow_other_libraries_ask_for_it(monkeypatch):
    class Foreign:
        __arrow_c_stream__ = None

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingPackageError, match="pyarrow"):
        read_table(Foreign())


@pytest.mark.parametrize(
    "X",
    [
        np.zeros(3),
        [1.0, 2.0],
        [],
        pd.Series([1.0]),
        np.zeros((2, 2, 2)),
        [[1, 2], [3]],
        {"a": [1]},
        None,
    ],
)
def test_what_is_not_two_dimensional_is_refused(X):
    with pytest.raises(InvalidInputError, match="Reshape your data"):
        read_table(X)


def test_a_column_of_another_library_is_not_a_table():
    polars = pytest.importorskip("polars")
    with pytest.raises(InvalidInputError, match="Reshape your data"):
        read_table(polars.Series([1.0, 2.0]))


@pytest.mark.parametrize("container", ["csr_matrix", "csr_array", "dok_array", "coo_matrix"])
def test_sparse_tables_are_refused(container):
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(TypeError, match="Sparse") as caught:
        read_table(getattr(sparse, container)(np.eye(3)))
    assert isinstance(caught.value, SasanetError)


@pytest.mark.parametrize(
    ("shape", "sentence"),
    [
        ((0, 15), r"0 sample\(s\) \(shape=\(0, 15\)\) while a minimum of 1 is required\."),
        ((12, 0), r"0 feature\(s\) \(shape=\(12, 0\)\) while a minimum of 1 is required\."),
    ],
)
def test_empty_tables_are_refused_in_sklearns_words(shape, sentence):
    for X in (np.empty(shape), pd.DataFrame(np.empty(shape))):
        with pytest.raises(InvalidInputError, match=sentence):
            read_table(X)
        with pytest.raises(InvalidInputError, match=sentence):
            TableEncoder().fit(np.zeros((2, 15))).transform(X)


@pytest.mark.parametrize(
    "options",
    [{"numbers": "rank"}, {"n_knots": 1}, {"n_knots": 2.5}, {"n_knots": True}],
)
def test_impossible_settings_are_refused(options):
    with pytest.raises(InvalidInputError, match=next(iter(options))):
        TableEncoder(**options)


# --- memory and disk ---


def test_the_encoder_keeps_no_reference_to_the_table(mixed):
    table = mixed.copy()
    encoder = TableEncoder().fit(table)
    encoder.transform(table)
    watch = weakref.ref(table)
    del table
    gc.collect()
    assert watch() is None


def test_transform_changes_neither_the_table_nor_the_encoder(mixed):
    before = mixed.copy()
    encoder = TableEncoder().fit(mixed)
    learned = encoder.columns
    encoder.transform(mixed[mixed.columns[::-1]])
    pd.testing.assert_frame_equal(mixed, before)
    assert encoder.columns is learned


@pytest.mark.parametrize("numbers", ["knots", "standard"])
def test_a_saved_encoder_reads_tables_identically(mixed, numbers):
    rng = np.random.default_rng(0)
    table = pd.concat([mixed] * 50, ignore_index=True)
    table["noise"] = rng.standard_normal(200)
    table["code"] = rng.integers(0, 9, 200) / 2
    encoder = TableEncoder(numbers, n_knots=8, categorical=["code", "member"]).fit(table)
    text = json.dumps(encoder.to_dict(), allow_nan=False)
    again = TableEncoder.from_dict(json.loads(text))
    assert again.columns == encoder.columns
    assert again.named
    assert again.to_dict() == encoder.to_dict()
    np.testing.assert_array_equal(again.transform(table), encoder.transform(table))
    levels = [type(level) for column in encoder.columns for level in column.levels]
    assert [type(level) for column in again.columns for level in column.levels] == levels


def test_a_saved_encoder_is_independent_of_the_living_one(mixed):
    encoder = TableEncoder().fit(mixed)
    encoder.to_dict()["columns"][0]["name"] = "other"
    assert encoder.names[0] == "age"


def test_levels_beyond_float64_survive_saving():
    encoder, cells = learn(pd.Series([10**400, 1], dtype=object), categorical=["x"])
    np.testing.assert_array_equal(cells, [2, 1])
    saved = json.loads(json.dumps(encoder.to_dict()))
    assert TableEncoder.from_dict(saved).columns == encoder.columns


def spoil(saved, path, value):
    """Return a deep copy of ``saved`` with one value replaced; ``...`` removes the field."""
    saved = json.loads(json.dumps(saved))
    inner = saved
    for key in path[:-1]:
        inner = inner[key]
    if value is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return saved


NUMBER, CATEGORY = ("columns", 0), ("columns", 2)  # age and city


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("numbers",), ...),
        (("numbers",), "rank"),
        (("n_knots",), "64"),
        (("n_knots",), True),
        (("categorical",), "city"),
        (("categorical",), [1.5]),
        (("named",), 1),
        (("foreign",), 1),
        (("columns",), []),
        (("columns",), {}),
        (NUMBER, "age"),
        ((*NUMBER, "name"), 5),
        ((*NUMBER, "name"), "city"),
        ((*NUMBER, "kind"), "date"),
        ((*NUMBER, "kind"), "category"),
        ((*NUMBER, "kind"), ["number"]),
        ((*NUMBER, "mean"), ...),
        ((*NUMBER, "extra"), 1),
        ((*NUMBER, "mean"), NAN),
        ((*NUMBER, "mean"), "0"),
        ((*NUMBER, "std"), 0.0),
        ((*NUMBER, "std"), np.inf),
        ((*NUMBER, "std"), None),
        ((*NUMBER, "knots"), []),
        ((*NUMBER, "knots"), [2.0, 1.0]),
        ((*NUMBER, "knots"), [1.0, 1.0]),
        ((*NUMBER, "knots"), [1.0, NAN]),
        ((*NUMBER, "knots"), [1.0, np.inf]),
        ((*NUMBER, "knots"), [1.0, 10**400]),
        ((*NUMBER, "knots"), [False, True]),
        ((*NUMBER, "knots"), ["1", "2"]),
        ((*NUMBER, "knots"), 3.0),
        ((*NUMBER, "levels"), ["a"]),
        ((*CATEGORY, "kind"), "number"),
        ((*CATEGORY, "knots"), [1.0]),
        ((*CATEGORY, "levels"), ["a", "a"]),
        ((*CATEGORY, "levels"), [1, 1.0]),
        ((*CATEGORY, "levels"), [1, True]),
        ((*CATEGORY, "levels"), ["a", 1]),
        ((*CATEGORY, "levels"), [["a"]]),
        ((*CATEGORY, "levels"), [None]),
        ((*CATEGORY, "levels"), [NAN]),
        ((*CATEGORY, "levels"), "ab"),
    ],
)
def test_a_spoiled_saved_encoder_is_refused(mixed, path, value):
    saved = TableEncoder().fit(mixed).to_dict()
    TableEncoder.from_dict(saved)
    with pytest.raises(SavedFileError, match="saved encoder"):
        TableEncoder.from_dict(spoil(saved, path, value))


@pytest.mark.parametrize("saved", [None, [], "encoder", {}])
def test_what_is_no_saved_encoder_is_refused(saved):
    with pytest.raises(SavedFileError, match="saved encoder"):
        TableEncoder.from_dict(saved)


# --- speed: bounds are ten times and more what a slow machine needs ---


def test_fifty_thousand_levels_encode_without_a_loop_over_cells():
    codes = np.random.default_rng(0).permutation(500_000) % 50_000
    table = pd.DataFrame({"x": np.char.add("level", codes.astype(str))})
    start = time.perf_counter()
    encoder = TableEncoder().fit(table)
    cells = encoder.transform(table)
    assert time.perf_counter() - start < 10
    assert encoder.places == (50_001,)
    assert (cells.min(), cells.max()) == (1, 50_000)


def test_a_thousand_columns_encode_quickly():
    table = pd.DataFrame(np.random.default_rng(0).standard_normal((2000, 1000)))
    start = time.perf_counter()
    cells = TableEncoder().fit(table).transform(table)
    assert time.perf_counter() - start < 20
    assert (cells.min(), cells.max()) == (0, 63)
