"""A source gives the same rows in the same parts, whatever it is read from."""

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import dataset, parquet

from sasanet.errors import InvalidInputError
from sasanet.table.sources import is_source, open_source


def test_a_large_row_group_is_several_parts_of_the_same_rows(tmp_path, monkeypatch):
    ids = list(range(230))
    pd.DataFrame({"id": ids}).to_parquet(tmp_path / "rows.parquet", row_group_size=50)
    monkeypatch.setattr("sasanet.table.sources.ROWS_PER_PART", 20)
    source = open_source(tmp_path / "rows.parquet")
    assert [part.n_rows for part in source.parts()][:4] == [20, 20, 10, 20]
    for n_rows in (7, 20, 1000):
        found = pd.concat(source.frames(["id"], n_rows), ignore_index=True)
        assert found["id"].tolist() == ids


def test_folders_named_by_a_value_are_a_column_and_absent_columns_are_missing(tmp_path):
    for year, frame in ((2020, pd.DataFrame({"a": [1, 2]})), (2021, pd.DataFrame({"a": [3]}))):
        (tmp_path / f"year={year}").mkdir()
        frame.to_parquet(tmp_path / f"year={year}" / "rows.parquet")
    pd.DataFrame({"b": [5.0]}).to_parquet(tmp_path / "year=2021" / "rows2.parquet")
    found = pd.concat(open_source(tmp_path).frames(["a", "year"], 10), ignore_index=True)
    assert found["year"].tolist() == [2020, 2020, 2021, 2021]
    assert found["a"].tolist() == [1, 2, 3, pd.NA]


def test_whole_numbers_beside_missing_ones_stay_whole(tmp_path):
    large = 2**53 + 1
    pd.DataFrame({"a": pd.array([large, None], "Int64")}).to_parquet(tmp_path / "a.parquet")
    (found,) = open_source(tmp_path / "a.parquet").frames(None, 10)
    assert found["a"][0] == large
    assert float(large) != large  # what a float would make of it


def test_a_damaged_file_is_named_in_one_sentence(tmp_path):
    path = tmp_path / "rows.parquet"
    pd.DataFrame({"a": range(1000)}).to_parquet(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InvalidInputError, match="must be a whole Parquet file"):
        open_source(path)


def test_a_damaged_name_of_a_column_is_refused_in_one_sentence(tmp_path):
    """Arrow opens such a file, and fails only when the name is asked for."""
    path = tmp_path / "rows.parquet"
    table = pa.Table.from_pandas(pd.DataFrame({"abcdefgh": range(10)}), preserve_index=False)
    parquet.write_table(table.replace_schema_metadata(None), path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"abcdefgh", b"\x8c" * 8))
    with pytest.raises(UnicodeDecodeError):
        _ = dataset.dataset(path).schema.names
    with pytest.raises(InvalidInputError, match="must be a whole Parquet file"):
        open_source(path)


def test_what_is_read_in_parts_only():
    frame = pd.DataFrame({"a": [1]})
    assert all(map(is_source, ("folder", [frame], iter([frame]))))
    assert not any(map(is_source, (frame, frame.to_numpy(), [[1]], [])))
