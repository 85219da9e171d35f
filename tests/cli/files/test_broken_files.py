"""Broken files: one sentence, exit code 1, and what was there before stays as it was."""

import gzip

import pandas as pd
import pytest

from cli_run import done, files, run

ROWS = [f"{20 + i},{'a' if i % 3 else 'b'},{i % 2}" for i in range(40)]
HEADER = "age,job,y"
GOOD = "\n".join([HEADER, *ROWS])


def lines(*changed, header=HEADER):
    """Return the good table with some rows replaced: (position, row)."""
    rows = list(ROWS)
    for position, row in changed:
        rows[position] = row
    return "\n".join([header, *rows]).encode()


BROKEN = {  # name: (bytes of the file, what the sentence must mention)
    "empty": (b"", "the empty file"),
    "blank": (b"\n\n  \n", "only blank lines"),
    "header only": (HEADER.encode(), "must have rows"),
    "too many cells in a row": (lines((7, "27,a,1,9")), "got 4 in line 9"),
    "too few cells in a row": (lines((7, "27,a")), "got 2 in line 9"),
    "no names": ("\n".join(r.replace("a", "1").replace("b", "2") for r in ROWS).encode(), "names"),
    "one name twice": (lines(header="age,age,y"), "twice"),
    "no such target": (lines(header="age,job,outcome"), "--target must name a column"),
    "constant target": ("\n".join([HEADER, *(r[:-1] + "1" for r in ROWS)]).encode(), "two diff"),
    "labels missing": (lines((3, "23,a,")), "line 5"),
    "all cells of a column missing": (
        "\n".join([HEADER, *("," + r.split(",", 1)[1] for r in ROWS)]).encode(),
        "--exclude 'age'",
    ),
    "a word among numbers": (lines((11, "unknown,a,1")), "'unknown' in line 13"),
    "infinity": (lines((11, "inf,a,1")), "'inf' in line 13"),
    "a number beyond floats": (lines((11, "1e999,a,1")), "'1e999' in line 13"),
    "a huge integer": (lines((11, "92233720368547758070,a,1")), "92233720368547758070 in line 13"),
    "another encoding": (GOOD.replace("20,", "20é,").encode("latin-1"), "byte 0xe9"),
    "text in UTF-16": (GOOD.encode("utf-16"), "--encoding utf-16"),
    "UTF-16 without its mark": (GOOD.encode("utf-16-le"), "line 1"),
    "an open quotation mark": (lines((30, '50,"a,1')), "quotation mark"),
    "half a gzip file": (gzip.compress(GOOD.encode())[:60], "gzip"),
    "damaged Parquet": (b"PAR1" + GOOD.encode(), "Parquet"),
    "a spreadsheet": (b"PK\x03\x04" + bytes(40), "spreadsheet"),
    "a target of names": (
        "\n".join([HEADER, *(f"{r[:-1]}person {i}" for i, r in enumerate(ROWS))]).encode(),
        "classes",
    ),
    "nothing but the target": ("\n".join(["y", *(r[-1] for r in ROWS)]).encode(), "beside"),
}


def is_one_sentence(text):
    return text.count("\n") == 1 and text.endswith(".\n") and "Traceback" not in text


def test_there_are_twenty_kinds():
    assert len(BROKEN) >= 20


def test_what_counts_as_one_sentence():
    assert is_one_sentence("A table must have rows.\n")
    assert not is_one_sentence("Traceback (most recent call last): boom.\n")
    assert not is_one_sentence("One.\nTwo.\n")
    assert not is_one_sentence("")


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fitted")
    (folder / "good.csv").write_text(GOOD)
    done("fit", folder / "good.csv", "--target", "y", "--out", folder / "m", "--time-limit", 1)
    return folder


def test_the_table_they_are_made_from_is_fine(fitted):
    assert (fitted / "m" / "model.json").exists()


@pytest.mark.parametrize("kind", BROKEN)
def test_fit_refuses_it_in_one_sentence(kind, fitted, tmp_path):
    content, mention = BROKEN[kind]
    path = tmp_path / "broken.csv"
    path.write_bytes(content)
    before = files(fitted)
    result = run("fit", path, "--target", "y", "--out", fitted / "m", "--force")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert is_one_sentence(result.stderr), result.stderr
    assert mention in result.stderr
    assert files(fitted) == before


EXPLAINED = {  # broken for a model that knows the columns age (numbers) and job
    "empty": (b"", "the empty file"),
    "header only": (HEADER.encode(), "must have rows"),
    "a row with too many cells": (lines((35, "27,a,1,9")), "got 4 in line 37"),
    "a column missing": (lines(header="age,work,y"), "without 'job'"),
    "a word in a number column": (lines((35, "old,a,1")), "'old' in line 37"),
    "infinity": (lines((35, "inf,a,1")), "'inf' in line 37"),
    "another encoding": (GOOD.replace("59,", "59é,").encode("latin-1"), "byte 0xe9"),
}


@pytest.mark.parametrize("command", ["predict", "explain"])
@pytest.mark.parametrize("kind", EXPLAINED)
def test_an_existing_file_survives_a_broken_one(kind, command, fitted, tmp_path, monkeypatch):
    monkeypatch.setattr("sasanet.scale.work._NUMBERS_AT_ONCE", 1)  # chunks of 100 rows
    content, mention = EXPLAINED[kind]
    (tmp_path / "broken.csv").write_bytes(content)
    (tmp_path / "out.csv").write_text("yesterday's")
    before = files(tmp_path)
    words = (command, fitted / "m", tmp_path / "broken.csv", "--out", tmp_path / "out.csv")
    result = run(*words, "--force")
    assert result.exit_code == 1
    assert is_one_sentence(result.stderr), result.stderr
    assert mention in result.stderr
    assert files(tmp_path) == before


@pytest.mark.parametrize(
    ("words", "mention"),
    [
        (("explain", "none", "{good}", "--out", "{new}.csv"), "There is no model"),
        (("explain", "{folder}", "{good}", "--out", "{new}.csv"), "model.json"),
        (("explain", "{m}", "none.csv", "--out", "{new}.csv"), "There is no file"),
        (("explain", "{m}", "{folder}", "--out", "{new}.csv"), "the directory"),
        (("explain", "{m}", "{good}", "--out", "{good}"), "must not be the table"),
        (("explain", "{m}", "{good}", "--out", "{new}.xlsx"), "must end in"),
        (("explain", "{m}", "{good}", "--out", "{new}/a/b.csv"), "There is no directory"),
        (("explain", "{m}", "{good}", "--out", "{new}.csv", "--id", "Job"), "perhaps 'job'"),
        (("explain", "{m}", "{good}", "--out", "{new}.csv", "--max-error", "0"), "max_error"),
        (("explain", "{m}", "{good}", "--out", "{new}.csv", "--orders", "2"), "at least 4"),
        (("explain", "{m}", "{good}", "--out", "{new}.csv", "--class", "1"), "one output"),
        (("explain", "{m}", "{good}", "--out", "{new}.csv", "--encoding", "klingon"), "klingon"),
        (("audit", "{m}", "{good}", "--target", "job"), "classes"),
        (("audit", "{m}", "{good}", "--target", "z"), "--target"),
        (("report", "{m}", "{good}", "--out", "{good}"), "must not be the table"),
        (("compare", "{good}", "--target", "z"), "--target"),
        (("inspect", "{folder}"), "model.json"),
        (("demo", "--out", "{folder}"), "exists already"),
    ],
)
def test_wrong_words_are_answered_in_one_sentence(words, mention, fitted, tmp_path):
    places = {
        "folder": fitted, "m": fitted / "m", "good": fitted / "good.csv", "new": tmp_path / "new",
    }  # fmt: skip
    before = files(fitted)
    result = run(*(str(word).format(**places) for word in words))
    assert result.exit_code == 1
    assert is_one_sentence(result.stderr), result.stderr
    assert mention in result.stderr
    assert files(fitted) == before
    assert files(tmp_path) == {}


def test_a_damaged_model_is_refused(fitted, tmp_path):
    for path in (fitted / "m").iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes()[:-9])
    result = run("inspect", tmp_path)
    assert result.exit_code == 1
    assert is_one_sentence(result.stderr)


@pytest.mark.parametrize("first", [2**60, -(2**63)])
@pytest.mark.parametrize("second", [1, None])
def test_huge_integers_of_parquet_are_refused_too(first, second, tmp_path):
    codes = pd.array([second, first, *range(38)], dtype="Int64")
    pd.DataFrame({"code": codes, "y": [0, 1] * 20}).to_parquet(tmp_path / "t.parquet")
    result = run("fit", tmp_path / "t.parquet", "--target", "y", "--out", tmp_path / "m")
    assert result.exit_code == 1
    assert f"{first} in row 2" in result.stderr
