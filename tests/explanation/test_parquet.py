"""Explanations on disk."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from made_explanations import CLASSES, assert_same, make, table
from sasanet.errors import InvalidInputError, MissingPackageError, SavedFileError
from sasanet.explanation.explanation import Explanation

# --- files ---------------------------------------------------------------------------------------

KEPT: dict[str, Any] = {
    "text": pd.Series(["a", None, "b"]),
    "objects": pd.Series(["a", None, np.nan], dtype=object),
    "objects of numbers": pd.Series([2**60 + 1, None, 3], dtype=object),
    "objects of booleans": pd.Series([True, None, False], dtype=object),
    "nothing": pd.Series([None, None, None], dtype=object),
    "int8": pd.Series([1, 2, 3], dtype="int8"),
    "float32": pd.Series([0.1, np.nan, 3], dtype="float32"),
    "Int64": pd.Series([1, None, 3], dtype="Int64"),
    "boolean": pd.Series([True, None, False], dtype="boolean"),
    "bool": pd.Series([True, False, False]),
    "string": pd.Series(["a", None, ""], dtype="string"),
    "ordered": pd.Categorical(["x", None, "y"], ["unused", "y", "x"], ordered=True),
    "number levels": pd.Categorical([3, None, 1], [3, 2, 1]),
    "boolean levels": pd.Categorical([True, None, False]),
    "value.0": pd.Series([1.0, 2.0, 3.0]),  # names like those inside the file
    "data.0.text": pd.Series([1.0, 2.0, 3.0]),
    "number.0": pd.Series([1.0, 2.0, 3.0]),
    "__index_level_0__": pd.Series([1.0, 2.0, 3.0]),
}
INDEXES = {
    "range": pd.RangeIndex(3),
    "text": pd.Index(["x", "y", "y"], name="number.0"),
    "levels": pd.MultiIndex.from_tuples(
        [("a", 1), ("a", 2), ("b", 1)], names=["data.0.text", None]
    ),
}


@pytest.mark.parametrize("index", INDEXES.values(), ids=INDEXES.keys())
@pytest.mark.parametrize("outputs", [(), ("a",), CLASSES])
def test_what_was_saved_comes_back(
    tmp_path: Path, index: pd.Index, outputs: tuple[str, ...]
) -> None:
    e = make(outputs, pd.DataFrame(KEPT).set_index(index))
    e = replace(e, error_std=np.abs(e.values) / 7, units="€")
    for saved in (e, replace(e, error_std=None), e[:, "int8"], e[1]):
        saved.save(tmp_path / "e.parquet")
        assert_same(Explanation.load(str(tmp_path / "e.parquet")), saved)
    assert [path.name for path in tmp_path.iterdir()] == ["e.parquet"]


def test_no_rows_come_back_as_no_rows(tmp_path: Path, one: Explanation, multi: Explanation) -> None:
    for saved in (one[[]], multi[[]]):
        saved.save(tmp_path / "e.parquet")
        assert_same(Explanation.load(tmp_path / "e.parquet"), saved)


REFUSED: dict[str, Any] = {
    "mixed": pd.Series([1, "a"], dtype=object),
    "dicts": pd.Series([{"a": 1}, {"b": 2}]),  # would come back as {"a": 1, "b": None}
    "complex": pd.Series([1j, 2]),
    "mixed levels": pd.Categorical([1, "a"]),
    "huge": pd.Series([2**70, 1], dtype=object),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_column_that_would_change_is_refused_by_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / "e.parquet"
    path.write_bytes(b"what was here before")
    e = make(data=pd.DataFrame({"fine": [1, 2], name: REFUSED[name]}))
    with pytest.raises(InvalidInputError, match=f"every cell, got column .*'{name}'"):
        e.save(path)
    assert path.read_bytes() == b"what was here before"
    assert list(tmp_path.iterdir()) == [path]


def test_row_labels_that_would_change_are_refused(tmp_path: Path, one: Explanation) -> None:
    mixed = replace(one, data=one.data.set_index(pd.Index([*range(11), "a"], dtype=object)))
    with pytest.raises(InvalidInputError, match="keep every cell"):
        mixed.save(tmp_path / "e.parquet")


def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, one: Explanation, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "e.parquet"
    one.save(path)

    def full_disk(table: Any, file: Any, **_: Any) -> None:  # noqa: ARG001
        file.write(b"half")
        raise OSError("no space left")

    monkeypatch.setattr(pq, "write_table", full_disk)
    with pytest.raises(OSError, match="no space left"):
        one[0].save(path)
    assert_same(Explanation.load(path), one)
    assert list(tmp_path.iterdir()) == [path]


@pytest.fixture(name="saved")
def saved_file(tmp_path: Path, one: Explanation) -> Path:
    one.save(tmp_path / "e.parquet")
    return tmp_path / "e.parquet"


def test_a_truncated_file_is_refused(saved: Path) -> None:
    whole = saved.read_bytes()
    for part in (0, 3, len(whole) // 3, len(whole) - 9, len(whole) - 1):
        saved.write_bytes(whole[:part])
        with pytest.raises(SavedFileError, match=r"e\.parquet is not a saved explanation"):
            Explanation.load(saved)


def test_a_foreign_file_is_refused(saved: Path) -> None:
    table().to_parquet(saved)
    with pytest.raises(SavedFileError, match="format must be 1, got None"):
        Explanation.load(saved)
    saved.write_text("row,feature\n")
    with pytest.raises(SavedFileError):
        Explanation.load(saved)


def test_a_file_whose_note_is_nested_without_end_is_refused(saved: Path) -> None:
    kept = pq.read_table(saved)
    deep = kept.replace_schema_metadata({**kept.schema.metadata, b"sasanet": b"[" * 100_000})
    pq.write_table(deep, saved)
    with pytest.raises(SavedFileError, match="is not a saved explanation"):
        Explanation.load(saved)


@pytest.mark.parametrize("name", ["nowhere.parquet", "."])
def test_a_missing_file_is_refused_by_its_name(name: str, tmp_path: Path) -> None:
    with pytest.raises(SavedFileError, match=str(tmp_path / name)):
        Explanation.load(tmp_path / name)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"format": 2}, "format must be 1, got 2"),
        ({"units": "target"}, "edited"),
        ({"feature_names": ["job", "age", "flag", "income"]}, "edited"),
        ({"feature_names": ["age"]}, "not a saved"),
        ({"seal": "0" * 64}, "edited"),
    ],
)
def test_an_edited_note_is_noticed(saved: Path, change: dict[str, Any], sentence: str) -> None:
    stored = pq.read_table(saved)
    note = {**json.loads(stored.schema.metadata[b"sasanet"]), **change}
    for edited in (note, [note]):
        metadata = {**stored.schema.metadata, b"sasanet": json.dumps(edited)}
        pq.write_table(stored.replace_schema_metadata(metadata), saved)
        with pytest.raises(SavedFileError, match=sentence if edited is note else "not a saved"):
            Explanation.load(saved)


def test_edited_numbers_are_noticed(saved: Path) -> None:
    stored = pq.read_table(saved)
    place = stored.schema.get_field_index("number.0")
    for column in (pa.array(np.zeros(12)), pa.array(["a"] * 12)):
        pq.write_table(stored.set_column(place, "number.0", column), saved)
        with pytest.raises(SavedFileError):
            Explanation.load(saved)
    pq.write_table(stored.drop_columns(["number.0"]), saved)
    with pytest.raises(SavedFileError):
        Explanation.load(saved)
    pq.write_table(stored, saved)  # the sound twin
    Explanation.load(saved)


def test_an_edited_cell_is_noticed(saved: Path) -> None:
    whole = saved.read_bytes()
    assert b"pilot" in whole
    saved.write_bytes(whole.replace(b"pilot", b"pirat"))
    with pytest.raises(SavedFileError):
        Explanation.load(saved)


def test_a_flipped_byte_never_gives_other_numbers(saved: Path, one: Explanation) -> None:
    whole = saved.read_bytes()
    refused = 0
    for place in range(4, len(whole), 61):
        saved.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        try:
            assert Explanation.load(saved).values.tobytes() == one.values.tobytes()
        except SavedFileError:
            refused += 1
    assert refused > 10


@pytest.mark.parametrize(
    ("package", "extra", "call"),
    [
        ("shap", "shap", lambda e, _: e.to_shap()),
        ("pyarrow", "parquet", lambda e, path: e.save(path)),
        ("pyarrow", "parquet", lambda _, path: Explanation.load(path)),
    ],
)
def test_a_package_that_is_not_there_is_named_with_its_remedy(
    monkeypatch: pytest.MonkeyPatch,
    saved: Path,
    one: Explanation,
    package: str,
    extra: str,
    call: Any,
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackageError, match=rf"'{package}'.*sasanet\[{extra}\]"):
        call(one, saved)
