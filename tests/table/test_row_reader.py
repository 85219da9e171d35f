"""One row read alone: the cells of the same row in a table, bit by bit, and the same refusals."""

from __future__ import annotations

import datetime as dt
import pickle
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from people import people
from sasanet.errors import InvalidInputError, SasanetError, UnknownLevelWarning
from sasanet.table import one_row
from sasanet.table.encoder import TableEncoder

TABLE = people(400)
AS_NUMBERS = (7, 7.25, Decimal("7.5"), np.int8(7), np.float32(0.1), True, np.bool_(False), None)
MISSING = (None, float("nan"), np.nan, pd.NA, pd.NaT, np.float32("nan"), Decimal("nan"))


def check_equal_cells(encoder, table):
    """Every row as a mapping, in another order, and as a sequence has the cells of the table."""
    expected = encoder.transform(table)
    for place, row in enumerate(table.to_dict("records")):
        turned = dict(reversed(row.items()))
        for given in (row, turned, list(row.values()), tuple(row.values()), pd.Series(row)):
            found = encoder.transform_row(given)
            np.testing.assert_array_equal(found, expected[place : place + 1], strict=True)


@pytest.mark.parametrize("numbers", ["knots", "standard"])
def test_rows_by_column_have_the_cells_they_have_in_a_table(numbers):
    encoder, table = TableEncoder(numbers, 7).fit(TABLE), people(60, seed=1)
    reader = one_row.RowReader(encoder.columns, numbers)
    cells = table.astype(object).where(table.notna(), None)
    lists = [cells[name].tolist() for name in encoder.names]
    np.testing.assert_array_equal(reader.read_columns(lists), encoder.transform(table), strict=True)
    backwards = [cells[::-1] for cells in lists]
    with pytest.raises(AssertionError):  # the twin
        np.testing.assert_array_equal(reader.read_columns(backwards), encoder.transform(table))


@pytest.mark.parametrize("numbers", ["knots", "standard"])
def test_a_row_alone_has_the_cells_it_has_in_a_table(numbers):
    check_equal_cells(TableEncoder(numbers, 7).fit(TABLE), people(60, seed=1))


def test_another_rule_between_knots_is_noticed(monkeypatch):
    monkeypatch.setattr(one_row, "_among", lambda knots, number: float(number > knots[0]))
    with pytest.raises(AssertionError):
        check_equal_cells(TableEncoder(n_knots=7).fit(TABLE), people(60, seed=1))


def test_numbers_at_and_between_extreme_knots():
    knots = [-1.7e308, -1.0, 0.0, 5e-324, 2e-308, 0.1, 1 / 3, 1.7e308]
    encoder = TableEncoder().fit(pd.DataFrame({"x": knots}))
    random = np.random.default_rng(0)
    numbers = [*knots, *random.normal(size=500), *(random.uniform(-1, 1, 200) * 1.7e308), 1e-310]
    check_equal_cells(encoder, pd.DataFrame({"x": numbers}))


def test_a_single_knot_and_a_column_never_present():
    table = pd.DataFrame({"one": [3.0, 3.0], "none": [np.nan, np.nan]})
    check_equal_cells(
        TableEncoder().fit(table), pd.DataFrame({"one": [1.0, 3, 9], "none": [1.0] * 3})
    )


@pytest.mark.parametrize("kind", ["number", "category"])
@pytest.mark.parametrize("cell", [*AS_NUMBERS, *MISSING], ids=repr)
def test_cells_of_any_type_mean_the_same(kind, cell):
    codes = [0] if kind == "category" else ()
    encoder = TableEncoder(categorical_features=codes).fit([[0], [7], [7.5], [9], [1]])
    table = pd.DataFrame([[cell]], dtype=object)
    expected = encoder.transform(table, warn=False)
    if kind == "category" and expected[0, 0] == 0:
        with pytest.warns(UnknownLevelWarning):
            found = encoder.transform_row([cell])
    else:
        found = encoder.transform_row([cell])
    np.testing.assert_array_equal(found, expected)


def test_unseen_levels_warn_as_in_a_table():
    encoder = TableEncoder().fit(TABLE)
    row = TABLE.iloc[0].to_dict() | {"city": "Paris"}
    with pytest.warns(UnknownLevelWarning) as of_table:
        encoder.transform(pd.DataFrame([row]))
    with pytest.warns(UnknownLevelWarning) as of_row:
        encoder.transform_row(row)
    assert str(of_row[0].message) == str(of_table[0].message)


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        ({"age": float("inf")}, "infinity"),
        ({"age": 10**400}, "infinity"),
        ({"city": float("inf")}, "infinity"),
        ({"age": "old"}, "must hold numbers as in training, got 'old'"),
        ({"age": dt.date(2020, 1, 1)}, "must not hold dates"),
        ({"city": dt.date(2020, 1, 1)}, "must not hold dates"),
        ({"city": ["Rome"]}, "a string or a number"),
        ({"age": 1j}, "Complex data"),
        ({"Age": 3}, r"Age \(not seen in training"),
    ],
    ids=str,
)
def test_cells_a_table_refuses_are_refused(cells, sentence):
    encoder, row = TableEncoder().fit(TABLE), TABLE.iloc[0].to_dict()
    with pytest.raises(SasanetError, match=sentence):
        encoder.transform_row(row | cells)
    with pytest.raises(SasanetError, match=sentence):
        encoder.transform(pd.DataFrame([row | cells], dtype=object))


@pytest.mark.parametrize(
    "row", ["text", b"text", 5, None, {1, 2}, TABLE, TABLE.to_numpy()], ids=type
)
def test_what_is_no_row_is_refused(row):
    with pytest.raises(TypeError, match="mapping of names to cells"):
        TableEncoder().fit(TABLE).transform_row(row)


def test_rows_of_another_length_are_refused():
    encoder = TableEncoder().fit(TABLE)
    with pytest.raises(InvalidInputError, match="must have 5 cells, got 4"):
        encoder.transform_row([1, 2, "Rome", "S"])
    with pytest.raises(InvalidInputError, match=r"city \(missing"):
        encoder.transform_row({"age": 1, "income": 2, "size": "S", "member": True})
    twice = pd.Series([1, 2, "Rome", "S", True, 3], index=[*TABLE.columns, "age"])
    with pytest.raises(InvalidInputError, match=r"age \(more than once"):
        encoder.transform_row(twice)


def test_an_encoder_that_learns_again_reads_rows_anew():
    encoder = TableEncoder().fit(TABLE)
    encoder.transform_row(TABLE.iloc[0])
    encoder.fit(pd.DataFrame({"x": [1.0, 2.0, 3.0]}))
    assert encoder.transform_row({"x": 3}).tolist() == [[2.0]]


def test_an_encoder_that_has_read_a_row_can_be_pickled():
    encoder = TableEncoder().fit(TABLE)
    expected = encoder.transform_row(TABLE.iloc[0])
    again = pickle.loads(pickle.dumps(encoder))
    np.testing.assert_array_equal(again.transform_row(TABLE.iloc[0]), expected)
