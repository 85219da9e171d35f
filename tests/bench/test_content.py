"""A table's checksum is that of its content, whichever way the table is held."""

import hashlib

import numpy as np
import pandas as pd
import pytest

from bench.tables import content, data, fetch

TABLE = pd.DataFrame({"a": [1.5, np.nan, -0.0], "b": ["x", None, "é "], "c": [True, False, True]})


def test_the_checksum_is_the_one_the_committed_sums_were_taken_with():
    cells = np.array([1.5, np.nan, 0.0], "<f8").tobytes(), np.array([0, -1, 1], "<i4").tobytes()
    written = b"3\nnumber a\n" + cells[0] + b"words b\n" + "x\0é \0".encode() + cells[1]
    written += b"number c\n" + np.array([1, 0, 1], "<f8").tobytes()
    assert content.checksum(TABLE) == hashlib.sha256(written).hexdigest()


@pytest.mark.parametrize("kind", [object, "category", "string"])
def test_the_checksum_does_not_depend_on_how_columns_are_held(kind):
    same = TABLE.astype({"a": "float32", "b": kind, "c": "int8"})
    assert content.checksum(same) == content.checksum(TABLE)


@pytest.mark.parametrize(
    "other",
    [
        TABLE.rename(columns={"a": "A"}),
        TABLE[["b", "a", "c"]],
        TABLE[::-1],
        TABLE[:2],
        TABLE.assign(a=[1.5, np.nan, 1e-300]),
        TABLE.assign(a=[1.5, 0.0, 0.0]),
        TABLE.assign(b=["x", None, "é"]),
        TABLE.assign(b=["x", "", "é "]),
    ],
)
def test_the_checksum_changes_with_a_name_an_order_or_a_cell(other):
    assert content.checksum(other) != content.checksum(TABLE)


def test_every_table_has_a_checksum():
    names = [line.split()[1] for line in content.CHECKSUMS.read_text().splitlines()]
    assert {fetch.source_of(name) for name in names} == set(data.SOURCES)
    assert all(len(str(content.expected(name))) == 64 for name in names)
