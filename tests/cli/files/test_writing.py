"""Files are written whole, only where they may be, and hold no formula for a spreadsheet."""

import csv
import json
import shutil
import sys

import pandas as pd
import pytest

from cli_run import done, files, run
from sasanet import SASANetClassifier, load
from sasanet.cli.files.writing import escape_formula, open_writer
from sasanet.errors import InvalidInputError
from sasanet.whole_files import check_can_make, check_can_write

FORMULA = '=HYPERLINK("http://example.org?x="&A1,"click")'
DANGEROUS = [
    FORMULA,
    "+SUM(A1)",
    "-2+3+cmd|' /C calc'!A0",
    "@SUM(1)",
    "\tx",
    "\rx",
    "-",
    "--1",
    "+1+1",
]
HARMLESS = ["-1", "+2.5", "-1e-9", "+.5", "a=b", "31", "", "x-y", "'=1"]


def most_dangerous(cells):
    """Return the cells that a spreadsheet would take for a formula."""
    return [cell for cell in cells if escape_formula(cell) != cell]


def test_formulas_are_escaped_and_numbers_stay():
    assert [escape_formula(cell) for cell in DANGEROUS] == [f"'{cell}" for cell in DANGEROUS]
    assert [escape_formula(cell) for cell in HARMLESS] == HARMLESS
    assert escape_formula(-1.5) == -1.5


def written(part, path):
    """Write a table and return the file's own cells, line by line."""
    with open_writer(path) as writer:
        writer.write(part)
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def test_csv_holds_no_formula_and_other_formats_the_text_itself(tmp_path):
    part = pd.DataFrame(
        {FORMULA: DANGEROUS, "n": range(-4, 5), "r": pd.Series(DANGEROUS, dtype="str")}
    )
    lines = written(part, tmp_path / "t.csv")
    assert most_dangerous([cell for line in lines for cell in line]) == []
    assert [line[1] for line in lines[1:]] == [str(number) for number in range(-4, 5)]
    with open_writer(tmp_path / "t.parquet") as writer:
        writer.write(part)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "t.parquet"), part)
    with open_writer(tmp_path / "t.jsonl") as writer:
        writer.write(part)
    first = json.loads((tmp_path / "t.jsonl").read_text("utf-8").splitlines()[0])
    assert first == {FORMULA: FORMULA, "n": -4, "r": FORMULA}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Return a directory with a model whose labels and names are formulas, and its table."""
    folder = tmp_path_factory.mktemp("hostile")
    X = pd.DataFrame({"=cmd": range(40), "job": ["=1+1", "-x"] * 20})
    y = ["=yes", "no"] * 20
    model = SASANetClassifier(random_state=0, max_epochs=2, teacher_weight=0).fit(X, y)
    model.save(folder / "m")
    X.assign(y=y, id=[f"=A{i}" for i in range(40)]).to_csv(folder / "t.csv", index=False)
    return folder


@pytest.mark.parametrize("command", ["predict", "explain"])
def test_commands_write_no_formula(command, hostile, tmp_path):
    out = tmp_path / "o.csv"
    options = ("--top", 2) if command == "explain" else ()
    done(command, hostile / "m", hostile / "t.csv", "--out", out, "--id", "id", *options)
    with out.open(newline="", encoding="utf-8") as file:
        lines = list(csv.reader(file))
    assert most_dangerous([cell for line in lines for cell in line]) == []
    assert lines[1][1] == "'=A0"


# --- places ----------------------------------------------------------------------------------


def unwritable():
    """Return places where nobody can write, not even root."""
    return ["file/m", "file/a/b"] + (["/proc/m", "/proc/a/b"] if sys.platform == "linux" else [])


@pytest.mark.parametrize("place", unwritable())
def test_a_model_that_cannot_be_saved_is_not_trained(place, hostile, tmp_path, monkeypatch):
    monkeypatch.setattr(SASANetClassifier, "fit", lambda *_, **__: pytest.fail("it trains"))
    (tmp_path / "file").write_text("no directory")
    result = run("fit", hostile / "t.csv", "--target", "y", "--out", tmp_path / place)
    assert result.exit_code == 1
    assert "can be written to" in result.stderr
    assert result.stderr.count("\n") == 1
    assert files(tmp_path) == {"file": b"no directory"}


def read_only(monkeypatch):
    """Refuse every temporary file, as a read-only disk does."""

    def refuse(*_, **__):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)


@pytest.mark.parametrize(
    "words",
    [
        ("audit", "{m}", "{t}", "--keep"),
        ("audit", "{m}", "{t}", "--out", "{o}.json"),
        ("explain", "{m}", "{t}", "--out", "{o}.csv"),
        ("report", "{m}", "{t}", "--out", "{o}.html"),
        ("fit", "{t}", "--target", "y", "--out", "{m}", "--force"),
        ("demo", "--out", "{o}"),
    ],
)
def test_a_read_only_disk_is_noticed_before_the_work(words, hostile, tmp_path, monkeypatch):
    for method in ("fit", "audit", "explain"):
        monkeypatch.setattr(SASANetClassifier, method, lambda *_, **__: pytest.fail("it works"))
    read_only(monkeypatch)
    shutil.copytree(hostile, tmp_path / "h")
    places = {"m": tmp_path / "h" / "m", "t": tmp_path / "h" / "t.csv", "o": tmp_path / "o"}
    before = files(tmp_path)
    result = run(*(word.format(**places) for word in words))
    assert result.exit_code == 1
    assert "Read-only file system" in result.stderr
    assert result.stderr.count("\n") == 1
    assert files(tmp_path) == before


def test_a_kept_audit_is_saved_with_the_model(hostile, tmp_path):
    shutil.copytree(hostile / "m", tmp_path / "m")
    done("audit", tmp_path / "m", hostile / "t.csv", "--rows", 4, "--keep")
    assert load(tmp_path / "m").audit_.n_rows == 4


def test_places_that_can_be_written_are_left_as_they_are(tmp_path):
    check_can_make(tmp_path / "a" / "b")
    check_can_write(tmp_path / "a.txt")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InvalidInputError, match="There is no directory"):
        check_can_write(tmp_path / "a" / "b.txt")
    with pytest.raises(InvalidInputError, match="got the directory"):
        check_can_write(tmp_path)
