"""What counts as a table."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sasanet.errors import (
    InvalidInputError,
    MissingPackageError,
    SasanetError,
)
from sasanet.table.encoder import TableEncoder
from sasanet.table.reading import read_table

NAN = np.nan


# --- what counts as a table ---


def test_a_dataframe_is_read_as_it_is(mixed_table):
    assert read_table(mixed_table) is mixed_table


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


@pytest.mark.parametrize("cell", [["a"], [], ["a", "b"], (0.5, 1.5), [["a"]]])
def test_rows_whose_cells_are_all_lists_of_one_length_are_a_table_of_lists(cell):
    for X in ([[cell, 1], [cell, 2]], ([cell, 1],)):
        table = read_table(X)
        assert table.shape == (len(X), 2)
        assert table.iloc[0, 0] == cell
    assert read_table([[cell]]).iloc[0, 0] == cell  # one row alone, and its only cell


def test_a_row_with_tags_is_read_alike_alone_and_among_others():
    X = [[[]], [["a"]], [["a", "b"]], [["a"]], [["b"]], [["a"]]]
    encoder = TableEncoder().fit(X)
    together = encoder.transform(X)
    for i in range(len(X)):
        np.testing.assert_array_equal(encoder.transform(X[i : i + 1])[0], together[i])


def test_arrays_of_three_dimensions_are_no_table():
    for X in (np.zeros((2, 2, 2)), [np.zeros((2, 2))]):
        with pytest.raises(InvalidInputError, match="shape"):
            read_table(X)


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


@pytest.mark.parametrize("source", ["folder/", Path("folder"), iter([pd.DataFrame({"a": [1]})])])
def test_a_source_in_place_of_a_table_is_told_where_it_can_go(source):
    with pytest.raises(InvalidInputError, match="files, datasets and streams are read by fit"):
        read_table(source)
