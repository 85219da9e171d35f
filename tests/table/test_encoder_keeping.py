"""The encoder in memory, on disk, and in a hurry."""

from __future__ import annotations

import gc
import json
import time
import weakref

import numpy as np
import pandas as pd
import pytest

from one_column import learn_column
from sasanet.errors import (
    SavedFileError,
)
from sasanet.table.encoder import TableEncoder

NAN = np.nan


# --- memory and disk ---


def test_the_encoder_keeps_no_reference_to_the_table(mixed_table):
    table = mixed_table.copy()
    encoder = TableEncoder().fit(table)
    encoder.transform(table)
    watch = weakref.ref(table)
    del table
    gc.collect()
    assert watch() is None


def test_transform_changes_neither_the_table_nor_the_encoder(mixed_table):
    before = mixed_table.copy()
    encoder = TableEncoder().fit(mixed_table)
    learned = encoder.columns
    encoder.transform(mixed_table[mixed_table.columns[::-1]])
    pd.testing.assert_frame_equal(mixed_table, before)
    assert encoder.columns is learned


@pytest.mark.parametrize("numbers", ["knots", "standard"])
def test_a_saved_encoder_reads_tables_identically(mixed_table, numbers):
    rng = np.random.default_rng(0)
    table = pd.concat([mixed_table] * 50, ignore_index=True)
    table["noise"] = rng.standard_normal(200)
    table["code"] = rng.integers(0, 9, 200) / 2
    encoder = TableEncoder(numbers, n_knots=8, categorical_features=["code", "member"]).fit(table)
    text = json.dumps(encoder.to_dict(), allow_nan=False)
    again = TableEncoder.from_dict(json.loads(text))
    assert again.columns == encoder.columns
    assert again.named
    assert again.to_dict() == encoder.to_dict()
    np.testing.assert_array_equal(again.transform(table), encoder.transform(table))
    levels = [type(level) for column in encoder.columns for level in column.levels]
    assert [type(level) for column in again.columns for level in column.levels] == levels


def test_a_saved_encoder_is_independent_of_the_living_one(mixed_table):
    encoder = TableEncoder().fit(mixed_table)
    encoder.to_dict()["columns"][0]["name"] = "other"
    assert encoder.names[0] == "age"


def test_levels_beyond_float64_survive_saving():
    encoder, cells = learn_column(pd.Series([10**400, 1], dtype=object), categorical_features=["x"])
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
def test_a_spoiled_saved_encoder_is_refused(mixed_table, path, value):
    saved = TableEncoder().fit(mixed_table).to_dict()
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
    assert (cells.min(), cells.max()) == (0, 31)  # a thousand columns share 32,768 knots
