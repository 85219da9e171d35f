"""The encoder: what each kind of column becomes, and its place on a ruler."""

from __future__ import annotations

import sys
from dataclasses import FrozenInstanceError
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from one_column import learn_column, place_column
from sasanet.errors import (
    InvalidInputError,
    UnknownLevelWarning,
)
from sasanet.table import encoder as encoder_module
from sasanet.table import learning
from sasanet.table.columns import Column
from sasanet.table.encoder import TableEncoder

NAN = np.nan


# --- what each kind of column becomes ---


def test_a_table_becomes_one_float32_number_per_cell(mixed_table):
    cells = TableEncoder(categorical_features=["code"]).fit(mixed_table).transform(mixed_table)
    expected = [
        [0, 1, 2, 2, 2, 2, 1],
        [1, NAN, 1, 1, 1, NAN, 1],
        [2, 0, NAN, 2, NAN, 0, 3],
        [3, 1, 2, 2, 3, 1, 2],
    ]
    np.testing.assert_array_equal(cells, np.array(expected, dtype=np.float32))
    assert cells.dtype == np.float32
    assert cells.flags.c_contiguous


def test_the_encoder_describes_its_columns(mixed_table):
    encoder = TableEncoder(categorical_features=["code"]).fit(mixed_table)
    assert encoder.names == tuple(mixed_table.columns)
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
    encoder, cells = learn_column(values)
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
    encoder, cells = learn_column(values)
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
    np.testing.assert_array_equal(learn_column(values)[1], [0, NAN, 1])


def test_an_arrow_decimal_column_is_a_number_and_an_arrow_dictionary_a_category():
    pa = pytest.importorskip("pyarrow")
    decimals = pd.Series([Decimal("1.5"), None], dtype=pd.ArrowDtype(pa.decimal128(5, 2)))
    np.testing.assert_array_equal(learn_column(decimals)[1], [0, NAN])
    words = pd.Series(pd.arrays.ArrowExtensionArray(pa.array(["b", "a", None]).dictionary_encode()))
    np.testing.assert_array_equal(learn_column(words)[1], [2, 1, NAN])


@pytest.mark.parametrize("values", [[NAN, NAN], [None, None], pd.Series([pd.NA, pd.NaT])])
def test_a_column_missing_throughout_training_is_a_number_with_one_knot(values):
    encoder, cells = learn_column(values)
    assert encoder.columns[0] == Column("x", "number", knots=(0.0,), seen=False)
    assert np.isnan(cells).all()
    # Nothing was learned about such a column: its cells stay absent when it is filled later.
    np.testing.assert_array_equal(place_column(encoder, [-5.0, 5.0]), [NAN, NAN])


@pytest.mark.parametrize("dtype", ["string", "category"])
def test_a_text_column_missing_throughout_training_is_a_category_without_levels(dtype):
    encoder, cells = learn_column(pd.Series([None, None], dtype=dtype))
    assert encoder.places == (1,)
    assert np.isnan(cells).all()
    with pytest.warns(UnknownLevelWarning, match="Rome"):
        np.testing.assert_array_equal(place_column(encoder, ["Rome"]), [0])


def test_rows_with_nothing_present_are_fine(mixed_table):
    encoder = TableEncoder().fit(mixed_table)
    empty = pd.DataFrame([[None] * 7], columns=mixed_table.columns)
    assert np.isnan(encoder.transform(empty)).all()


# --- numbers on their ruler ---


def test_a_number_lies_between_its_knots_and_flat_beyond_them():
    encoder, _ = learn_column([0.0, 10.0, 30.0])
    places = place_column(encoder, [-1e9, 0.0, 5.0, 10.0, 15.0, 30.0, 1e300])
    np.testing.assert_array_equal(places, [0, 0, 0.5, 1, 1.25, 2, 2])


def test_a_constant_column_has_one_place():
    encoder, cells = learn_column([7.0, 7.0])
    assert encoder.places == (1,)
    np.testing.assert_array_equal(cells, [0, 0])
    np.testing.assert_array_equal(place_column(encoder, [6.0, 8.0]), [0, 0])


def test_standard_numbers_have_mean_zero_and_deviation_one():
    values = [1.0, 2.0, 3.0, NAN, 10.0]
    encoder, cells = learn_column(values, numbers="standard")
    expected = (np.array(values) - 4.0) / np.std([1, 2, 3, 10])
    np.testing.assert_allclose(cells, expected, rtol=1e-6)
    assert encoder.columns[0].knots == (1.0, 2.0, 3.0, 10.0)


@pytest.mark.parametrize("value", [0.0, 0.1, -3.0, 1e308, 5e-324])
def test_the_deviation_of_a_constant_column_is_one(value):
    encoder, cells = learn_column([value] * 1000, numbers="standard")
    assert (encoder.columns[0].mean, encoder.columns[0].std) == (value, 1.0)
    np.testing.assert_array_equal(cells, 0)


@pytest.mark.parametrize("numbers", ["knots", "standard"])
def test_the_largest_and_smallest_floats_get_finite_cells(numbers):
    largest = sys.float_info.max
    extremes = [-largest, 0.0, 5e-324, 1e-310, 1.0, largest]
    for values in (extremes, extremes[1:4], extremes[2:], [1.0, 1.0 + 1e-15]):
        encoder, cells = learn_column(values, numbers=numbers)
        assert np.isfinite(cells).all()
        assert (np.diff(cells) >= 0).all()
        column = encoder.columns[0]
        assert np.isfinite([column.mean, column.std]).all()
        assert column.std > 0
        assert np.isfinite(place_column(encoder, [*extremes, 7e-311, largest / 3])).all()


def test_few_distinct_values_are_all_knots():
    encoder, cells = learn_column([3, 1, 2, 2, 2], n_knots=3)
    assert encoder.columns[0].knots == (1.0, 2.0, 3.0)
    np.testing.assert_array_equal(cells, [2, 0, 1, 1, 1])


def test_many_distinct_values_give_knots_that_are_closer_towards_both_ends():
    """Knot k of K is at the quantile sin²(π k / 2K), but for the last twenty rows of each tail."""
    values = np.random.default_rng(0).lognormal(size=6400)
    encoder, cells = learn_column(values)
    knots = np.array(encoder.columns[0].knots)
    assert len(knots) == 64
    assert np.isin(knots, values).all()
    assert (knots[0], knots[-1]) == (values.min(), values.max())
    rows, _ = np.histogram(cells, bins=np.arange(64))
    wanted = 6400 * np.diff(np.sin(np.pi * np.arange(64) / 126) ** 2)
    np.testing.assert_allclose(rows[12:-12], wanted[12:-12], rtol=0.1)
    assert rows.min() >= 15


def widest_gap():
    """Return the widest gap between 32 knots of a normal column, in standard deviations."""
    values = np.random.default_rng(0).normal(size=20_000)
    return np.diff(learn_column(values, n_knots=32)[0].columns[0].knots).max()


def test_tails_are_not_left_to_one_straight_line(monkeypatch):
    assert widest_gap() < 1.5
    monkeypatch.setattr(learning, "_tail_weights", np.ones_like)  # evenly spaced quantiles
    assert widest_gap() > 2


def test_dominating_values_are_their_own_knots_and_the_rest_gets_the_others():
    rng = np.random.default_rng(1)
    tail = rng.lognormal(8, 1, size=600)
    values = np.concatenate([np.zeros(9000), np.full(400, 99999.0), tail])
    encoder, _ = learn_column(values, n_knots=16)
    knots = encoder.columns[0].knots
    assert len(knots) == 16
    assert {0.0, 99999.0, values.max()} <= set(knots)
    assert np.isin(knots, tail).sum() >= 13


def test_when_knots_are_short_the_heaviest_value_gets_one():
    values = [0.0] + [1.0] * 40 + [2.0] * 50 + [3.0]
    assert learn_column(values, n_knots=3)[0].columns[0].knots == (0.0, 2.0, 3.0)


@pytest.mark.parametrize("n_knots", [2, 3, 4, 5, 16, 64])
@pytest.mark.parametrize("seed", range(5))
def test_knots_are_few_sorted_real_values_and_include_both_ends(n_knots, seed):
    rng = np.random.default_rng(seed)
    values = np.round(rng.standard_cauchy(2000), seed % 3)
    values[: 400 * seed] = rng.integers(0, seed + 1, 400 * seed)
    knots = np.array(learn_column(values, n_knots=n_knots)[0].columns[0].knots)
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
    encoder, cells = learn_column([3, 1, 3], categorical_features=["x"])
    assert encoder.columns[0].levels == (1, 3)
    np.testing.assert_array_equal(cells, [2, 1, 2])
    np.testing.assert_array_equal(place_column(encoder, [3.0, NAN, 1.0]), [2, NAN, 1])
    np.testing.assert_array_equal(
        place_column(encoder, pd.array([3, None], dtype="Int64")), [2, NAN]
    )
    assert learn_column([3.0, 1.0, NAN], categorical_features=["x"])[0].columns == encoder.columns


def test_a_level_too_large_to_be_an_exact_integer_stays_a_float():
    (level,) = learn_column([1e300], categorical_features=["x"])[0].columns[0].levels
    assert isinstance(level, float)


def test_codes_in_an_array_are_named_by_position():
    X = np.array([[5.0, 1.0], [5.0, 2.0], [NAN, 3.0]])
    encoder = TableEncoder(categorical_features=[np.int64(0)]).fit(X)
    assert encoder.is_number == (False, True)
    np.testing.assert_array_equal(encoder.transform(X)[:, 0], [1, 1, NAN])


def test_codes_equal_as_floats_are_one_level():
    values = pd.Series([0.1, Decimal("0.1"), 0.2], dtype=object)
    encoder, cells = learn_column(values, categorical_features=["x"])
    assert encoder.columns[0].levels == (0.1, 0.2)
    np.testing.assert_array_equal(cells, [1, 1, 2])


def test_large_codes_keep_every_digit():
    codes = [2**60, 2**60 + 1]
    encoder, cells = learn_column(codes, categorical_features="x")
    assert encoder.columns[0].levels == tuple(codes)
    np.testing.assert_array_equal(cells, [1, 2])


def test_unknown_categorical_names_are_refused_with_the_names_there_are(mixed_table):
    with pytest.raises(InvalidInputError, match=r"\['Age'\] not in \['age', 'income'"):
        TableEncoder(categorical_features=["Age"]).fit(mixed_table)


@pytest.mark.parametrize("values", [[0, 1], [0.0, 1.0], [False, True], pd.Categorical([0, 1])])
def test_booleans_match_zero_and_one(values):
    encoder, _ = learn_column([True, False, True])
    np.testing.assert_array_equal(place_column(encoder, values), [1, 2])


def test_zeros_and_ones_of_training_match_booleans():
    encoder, _ = learn_column([0, 1, 2])
    np.testing.assert_array_equal(place_column(encoder, [False, True]), [0, 1])


def test_a_mixture_of_text_and_numbers_reads_the_same_row_by_row():
    values = pd.Series([1, "a", 2.5, "1", None, 1.0], dtype=object)
    encoder, cells = learn_column(values)
    np.testing.assert_array_equal(cells, [1, 3, 2, 1, NAN, 1])
    rows = [place_column(encoder, values.iloc[[i]].infer_objects())[0] for i in range(len(values))]
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
    encoder, _ = learn_column(["a", "b"])
    values = pd.Categorical(["b", None], categories=["new", "b"])
    np.testing.assert_array_equal(place_column(encoder, values), [2, NAN])


def test_text_never_matches_levels_that_are_numbers():
    encoder, _ = learn_column([3, 1], categorical_features=["x"])
    with pytest.warns(UnknownLevelWarning, match="'3'"):
        np.testing.assert_array_equal(place_column(encoder, ["3"]), [0])


def test_numbers_of_very_many_columns_have_fewer_knots(monkeypatch):
    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(300, 40)))
    assert set(TableEncoder().fit(wide).places) == {64}  # the twin: without a bound in reach
    monkeypatch.setattr(encoder_module, "_MOST_KNOTS", 400)
    assert set(TableEncoder().fit(wide).places) == {10}
    assert TableEncoder().knots_of(10**9) == 4
