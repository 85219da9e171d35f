"""Tables are read as they come: separators, quotes, encodings, long and broken lines of names."""

import gzip
import io
import tracemalloc

import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest

from cli_run import run
from sasanet.cli.files import csv_table
from sasanet.cli.files.reading import open_table, read_whole
from sasanet.errors import InvalidInputError


def read(path, encoding="utf-8"):
    """Return a whole file as text."""
    table = open_table(path, encoding)
    return read_whole(table, table.names, lambda _: None).frame


def test_quoted_separators_line_breaks_and_nameless_columns_are_read(tmp_path):
    text = ',a,b\n0,"x, y",1\n1,"two\nlines",2\n\n2,z,3\n'
    (tmp_path / "t.csv").write_text(text)
    table = open_table(tmp_path / "t.csv")
    assert table.names == ("a", "b")
    [chunk] = table.chunks(["b", "a"], 10)
    assert chunk.frame["a"].tolist() == ["x, y", "two\nlines", "z"]
    assert chunk.frame["b"].tolist() == ["1", "2", "3"]
    assert chunk.places.tolist() == [2, 4, 6]


def test_row_labels_of_parquet_are_columns_if_they_have_a_name(tmp_path):
    frame = pd.DataFrame({"a": ["x", "y"]}, index=pd.Index([7, 9], name="number"))
    frame.to_parquet(tmp_path / "named.parquet")
    frame.rename_axis(None).to_parquet(tmp_path / "nameless.parquet")
    table = open_table(tmp_path / "named.parquet")
    [chunk] = table.chunks(["number", "a"], 10)
    assert chunk.frame["number"].tolist() == [7, 9]
    assert chunk.places.tolist() == [1, 2]
    assert open_table(tmp_path / "nameless.parquet").names == ("a",)


def test_another_encoding_can_be_named(tmp_path):
    (tmp_path / "t.csv").write_bytes("naïve\né\n".encode("latin-1"))
    table = open_table(tmp_path / "t.csv", "latin-1")
    assert table.names == ("naïve",)


def test_gzip_is_recognised_by_its_content(tmp_path):
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb") as file:
        file.write(b"a\tb\n1\t2\n")
    (tmp_path / "t.txt").write_bytes(packed.getvalue())
    assert open_table(tmp_path / "t.txt").names == ("a", "b")


# --- headers ---------------------------------------------------------------------------------


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_a_header_may_have_more_characters_than_python_allows_in_a_cell(separator, tmp_path):
    names = [f"a column with number {j:05d}" for j in range(6_000)]
    assert len(separator.join(names)) > 131_072
    line = separator.join(["1"] * len(names))
    (tmp_path / "t.csv").write_text(f"{separator.join(names)}\n{line}\n")
    table = open_table(tmp_path / "t.csv")
    assert table.names == tuple(names)
    assert read(tmp_path / "t.csv").iloc[0].tolist() == ["1"] * len(names)


@pytest.mark.parametrize("separator", [",", ";"])
def test_quoted_names_may_hold_line_breaks_and_separators(separator, tmp_path):
    names = ["size\nin mm", "a, b; c", 'say "x"', "plain"]
    quoted = ['"{}"'.format(name.replace('"', '""')) for name in names[:-1]]
    text = separator.join([*quoted, "plain"]) + "\n" + separator.join("1234") + "\n"
    (tmp_path / "t.csv").write_text(text, newline="")
    found = read(tmp_path / "t.csv")
    assert found.columns.tolist() == names
    assert found.iloc[0].tolist() == list("1234")


def test_a_cell_may_be_long(tmp_path):
    (tmp_path / "t.csv").write_text(f"a,b\n{'x' * 200_000},1\n")
    assert len(read(tmp_path / "t.csv")["a"][0]) == 200_000


def test_a_missing_quotation_mark_does_not_take_the_file_into_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_table, "_MOST_CHARACTERS", 200_000)
    for start in ('a,b\n"x,1\n', '"a,b\n'):
        (tmp_path / "t.csv").write_text(start + "y,2\n" * 100_000)
        with pytest.raises(InvalidInputError, match="quotation mark may be missing"):
            read(tmp_path / "t.csv")


def test_a_line_of_gigabytes_is_refused_before_it_is_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_table, "_LONGEST_LINE", 100_000)
    for start in ("", "a,b\n"):
        packed = gzip.compress((start + "0" * 20_000_000).encode())
        (tmp_path / "t.csv.gz").write_bytes(packed)
        tracemalloc.start()
        with pytest.raises(InvalidInputError, match="lines of at most 100,000 characters"):
            read(tmp_path / "t.csv.gz")
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
        tracemalloc.stop()


def test_a_line_may_be_as_long_as_allowed(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_table, "_LONGEST_LINE", 6)
    (tmp_path / "t.csv").write_text("abcd,\nx,y\n")
    assert read(tmp_path / "t.csv")["abcd"].tolist() == ["x"]
    monkeypatch.setattr(csv_table, "_LONGEST_LINE", 5)
    with pytest.raises(InvalidInputError, match="line 1"):
        read(tmp_path / "t.csv")


def test_whole_numbers_of_parquet_beside_nulls_keep_every_digit(tmp_path):
    """Also where one part of a file has nulls and another has none."""
    codes = [2**53 + 1, None, 2**62 + 1, 7, -(2**63), 2**63 - 1]
    table = pyarrow.table({"code": codes, "big": pyarrow.array([2**64 - 1, None] * 3, "uint64")})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    for n_rows in (2, 100):
        source = open_table(tmp_path / "t.parquet")
        chunks = [chunk.frame for chunk in source.chunks(["code", "big"], n_rows)]
        found = [value for frame in chunks for value in frame["code"].tolist()]
        assert [None if value is pd.NA else value for value in found] == codes
        assert chunks[0]["big"].tolist() == ([2**64 - 1, pd.NA] * 3)[:n_rows]


# --- encodings and damage --------------------------------------------------------------------


@pytest.mark.parametrize(
    "encoding", ["klingon", "hex", "base64", "rot13", "zlib", "undefined", "", "utf-8\0", "idna"]
)
def test_what_is_no_encoding_of_text_is_refused_in_one_sentence(encoding, tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n1,2\n")
    with pytest.raises(InvalidInputError, match="--encoding must name an encoding of text"):
        open_table(tmp_path / "t.csv", encoding)


@pytest.mark.parametrize("encoding", ["idna", "punycode", "utf-16", "utf-32", "utf-7", "cp037"])
@pytest.mark.parametrize(
    "content", ["a,y\né,2\n".encode(), b"a,y\n\xff\xfe\x00,2\n" + b"\xdc" * 99]
)
def test_another_encoding_than_the_files_gives_a_sentence_or_a_table(encoding, content, tmp_path):
    (tmp_path / "t.csv").write_bytes(content)
    result = run("fit", tmp_path / "t.csv", "--target", "y", "--out", tmp_path / "m",
                 "--encoding", encoding)  # fmt: skip
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
    assert "Unexpected" not in result.stderr


@pytest.fixture(scope="module")
def parquet(tmp_path_factory):
    path = tmp_path_factory.mktemp("parquet") / "t.parquet"
    words = [f"word {i % 7}" for i in range(400)]
    pd.DataFrame({"a": range(400), "b": words, "y": [0, 1] * 200}).to_parquet(path)
    return path.read_bytes()


@pytest.mark.parametrize("share", [0.02, 0.2, 0.5, 0.9, 0.99])
def test_half_a_parquet_file_is_refused_in_one_sentence(share, parquet, tmp_path):
    (tmp_path / "t.parquet").write_bytes(parquet[: int(share * len(parquet))])
    with pytest.raises(InvalidInputError, match="must be a whole Parquet file"):
        read(tmp_path / "t.parquet")


def test_damaged_parquet_is_refused_in_one_sentence_or_read(parquet, tmp_path):
    """Change a few bytes in many places: whatever pyarrow makes of it, no other error comes out."""
    refused = []
    for start in range(4, len(parquet), 97):
        changed = bytearray(parquet)
        for place in range(start, min(start + 3, len(parquet))):
            changed[place] ^= 0xFF
        (tmp_path / "t.parquet").write_bytes(bytes(changed))
        try:
            read(tmp_path / "t.parquet")
        except InvalidInputError as error:
            refused.append(str(error))
    assert len(refused) > 5
    assert not any("\n" in text for text in refused)
