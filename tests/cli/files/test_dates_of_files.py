"""Dates in files: recognised in CSV files, typed in Parquet, refused with their line."""

import json

import pandas as pd
import pytest

import bag_models
from cli_run import done, run
from sasanet.cli.files.column_types import infer_column
from sasanet.cli.files.reading import open_table, read_whole
from sasanet.errors import InvalidInputError


def inferred(tmp_path, cells):
    pd.DataFrame({"day": cells, "n": range(len(cells))}).to_csv(tmp_path / "t.csv", index=False)
    table = open_table(tmp_path / "t.csv", "utf-8")
    return infer_column(read_whole(table, table.names, lambda _: None), "day")[0]


@pytest.mark.parametrize(
    ("cells", "first"),
    [
        (["2026-11-15", "2026-11-16", None], "2026-11-15"),
        (["2026-11-15 14:30", " 2026-11-16T08:00:10.5 ", "NA"], "2026-11-15 14:30"),
        (["2026-11-15T14:30Z", "2026-11-16T14:30Z"], "2026-11-15 14:30+00:00"),
        (["2026-11-15 14:30+01:00", ""], "2026-11-15 14:30+01:00"),
    ],
)
def test_columns_of_iso_dates_are_dates(tmp_path, cells, first):
    found = inferred(tmp_path, cells)
    assert found.iloc[0] == pd.Timestamp(first)
    assert found.isna().sum() == sum(cell in (None, "", "NA") for cell in cells)


@pytest.mark.parametrize("cells", [["15/11/2026", "16/11/2026"], ["2026-11", "2026-12"], ["x"]])
def test_other_text_stays_text(tmp_path, cells):
    assert inferred(tmp_path, cells).tolist() == cells


DAYS = pd.date_range("2026-01-01", periods=12).strftime("%Y-%m-%d").tolist()


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        ([*DAYS, "2026-02-30"], "got '2026-02-30' in line 14 of t.csv"),
        ([*DAYS, "soon"], "either dates or words, got 'soon' in line 14 .* among dates"),
        (
            ["2026-01-01T00:00+01:00", "2026-01-01T00:00Z"],
            r"one offset from UTC, got \+01:00 and Z",
        ),
    ],
)
def test_what_is_nearly_a_column_of_dates_is_refused(tmp_path, cells, sentence):
    with pytest.raises(InvalidInputError, match=sentence):
        inferred(tmp_path, cells)


def test_a_model_of_a_csv_file_explains_csv_and_parquet_files_alike(tmp_path):
    table = bag_models.table()[["posted", "size"]].assign(y=bag_models.target())[:200]
    table.to_csv(tmp_path / "t.csv", index=False)
    table.to_parquet(tmp_path / "t.parquet")
    fit = ["fit", tmp_path / "t.csv", "--target", "y", "--out", tmp_path / "m", "--time-limit", "3"]
    assert "1 number, 0 categories, 1 column of dates" in done(*fit).output
    about = json.loads(done("inspect", tmp_path / "m", "--json").output)
    assert about["columns"][0]["parts"] == ["time", "weekday", "month", "hour"]
    for kind in ("csv", "parquet"):
        out = tmp_path / f"{kind}.parquet"
        done("explain", tmp_path / "m", tmp_path / f"t.{kind}", "--out", out, "--top", "1")
    one, other = (pd.read_parquet(tmp_path / f"{kind}.parquet") for kind in ("csv", "parquet"))
    pd.testing.assert_frame_equal(one, other)
    pd.DataFrame({"posted": ["2026-13-01"], "size": [1.0]}).to_csv(tmp_path / "bad.csv")
    bad = run("predict", tmp_path / "m", tmp_path / "bad.csv", "--out", tmp_path / "p.csv")
    assert "got '2026-13-01' in line 2 of bad.csv" in " ".join(bad.output.split())
