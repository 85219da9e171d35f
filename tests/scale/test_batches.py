"""Explaining and predicting in parts gives what the whole table gives, and goes on when stopped."""

import json
import os
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from cli_run import done, run
from people import people, score
from sasanet import SASANetClassifier, SASANetRegressor
from sasanet.errors import InvalidInputError, SasanetError, UnknownLevelWarning
from sasanet.scale import explain_batches, parts, predict_batches

ROWS, GROUP = 230, 50
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}


@pytest.fixture(scope="module")
def table():
    return people(ROWS).assign(size=lambda t: t["size"].astype("str"), id=np.arange(ROWS))


@pytest.fixture(scope="module")
def model(table):
    settings = {"random_state": 0, "max_epochs": 2, "teacher_weight": 0}
    return SASANetRegressor(**settings).fit(table.drop(columns="id"), score(table))


@pytest.fixture(scope="module")
def place(table, model, tmp_path_factory):
    """Return a directory with a model, a Parquet file of five row groups, and a folder of two."""
    folder = tmp_path_factory.mktemp("scale")
    model.save(folder / "model")
    table.to_parquet(folder / "rows.parquet", row_group_size=GROUP)
    (folder / "rows").mkdir()
    table[:100].to_parquet(folder / "rows" / "a.parquet")
    table[100:].to_parquet(folder / "rows" / "b.parquet", row_group_size=GROUP)
    return folder


def written(folder):
    return pd.read_parquet(folder).sort_values("row", ignore_index=True)


def arrow(place):
    return pa.Table.from_pandas(pd.read_parquet(place / "rows.parquet"))


def frames(place, n_rows=99):
    table = pd.read_parquet(place / "rows.parquet")
    return (table[start : start + n_rows] for start in range(0, ROWS, n_rows))


KINDS = {  # the same rows as every kind of source
    "file": lambda place: str(place / "rows.parquet"),
    "folder": lambda place: place / "rows",
    "dataset": lambda place: ds.dataset(place / "rows"),
    "filtered": lambda place: ds.dataset(place / "rows").filter(ds.field("id") >= 0),
    "arrow table": arrow,
    "reader": lambda place: arrow(place).to_reader(max_chunksize=60),
    "frame": lambda place: next(frames(place, ROWS)),
    "frames": lambda place: list(frames(place)),
    "generator": frames,
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_source_gives_what_the_whole_table_gives(kind, table, place, model, tmp_path):
    source = KINDS[kind](place)
    explain_batches(model, source, tmp_path / "out", keep=["id"], n_jobs=1)
    found, truth = written(tmp_path / "out"), model.explain(table.drop(columns="id"))
    assert found["row"].tolist() == list(range(1, ROWS + 1))
    assert found["id"].tolist() == table["id"].tolist()
    phi = found[[f"phi_{name}" for name in truth.feature_names]]
    np.testing.assert_allclose(phi, truth.values, atol=1e-6)
    assert not np.allclose(phi[::-1], truth.values, atol=1e-3)  # other rows'


def test_predictions_of_classes_have_their_probabilities(table, tmp_path):
    X, y = table.drop(columns="id"), np.array(["low", "high"])[(score(table) > 1).astype(int)]
    model = SASANetClassifier(random_state=0, max_epochs=1, teacher_weight=0).fit(X, y)
    predict_batches(model, [table[:100], table[100:]], tmp_path / "out", n_jobs=1)
    found = written(tmp_path / "out")
    assert found["prediction"].tolist() == model.predict(X).tolist()
    shares = found[["probability_high", "probability_low"]]
    np.testing.assert_allclose(shares, model.predict_proba(X), atol=1e-6)


# --- going on ------------------------------------------------------------------------------------


def test_a_stopped_call_goes_on_and_leaves_what_is_there(place, model, tmp_path, monkeypatch):
    out, write = tmp_path / "out", parts._write_part
    monkeypatch.setattr(parts, "_write_part", lambda *given: stop_at(2, write, *given))
    with pytest.raises(KeyboardInterrupt):
        explain_batches(model, place / "rows.parquet", out, n_jobs=1)
    before = {path.name: path.stat().st_mtime_ns for path in out.glob("*.parquet")}
    assert len(before) == 2
    assert not (out / "_SUCCESS").exists()
    monkeypatch.setattr(parts, "_write_part", write)
    result = explain_batches(model, place / "rows.parquet", out, n_jobs=1)
    assert (result.n_rows, result.n_parts, result.n_resumed) == (ROWS, 5, 2)
    assert {name: (out / name).stat().st_mtime_ns for name in before} == before
    assert (out / "_SUCCESS").exists()
    assert written(out)["row"].tolist() == list(range(1, ROWS + 1))


def stop_at(index, write, job, number, part):
    if number == index:
        raise KeyboardInterrupt
    return write(job, number, part)


def test_a_damaged_part_is_written_anew(place, model, tmp_path):
    out = tmp_path / "out"
    explain_batches(model, place / "rows.parquet", out, n_jobs=1)
    (out / "part-000001.parquet").write_bytes(b"half of it")
    assert explain_batches(model, place / "rows.parquet", out, n_jobs=1).n_resumed == 4
    assert len(written(out)) == ROWS


@pytest.mark.parametrize(
    ("change", "mention"),
    [("model", "another model"), ("source", "another source"), ("work", "another work")],
)
def test_a_folder_of_other_work_is_refused(change, mention, place, model, table, tmp_path):
    out = tmp_path / "out"
    explain_batches(model, place / "rows.parquet", out, n_jobs=1)
    before = written(out)
    X = table.drop(columns="id")
    other = SASANetRegressor(max_epochs=1, teacher_weight=0).fit(X, score(table))
    with pytest.raises(InvalidInputError, match=mention):
        explain_batches(
            other if change == "model" else model,
            place / ("rows" if change == "source" else "rows.parquet"),
            out,
            n_orders=4 if change == "work" else 0,
            n_jobs=1,
        )
    pd.testing.assert_frame_equal(written(out), before)


def test_frames_of_other_lengths_are_not_taken_for_the_same(table, model, tmp_path):
    explain_batches(model, [table[:100]], tmp_path / "out", n_jobs=1)
    with pytest.raises(InvalidInputError, match="another source"):
        explain_batches(model, [table[:99]], tmp_path / "out", n_jobs=1)


@pytest.mark.slow
def test_a_killed_process_loses_and_doubles_nothing(place, model, tmp_path):
    """Kill a process as soon as it has written a file, and go on in this one."""
    source, out = str(place / "rows.parquet"), tmp_path / "out"
    call = f"explain_batches({str(place / 'model')!r}, {source!r}, {str(out)!r}, n_orders=50)"
    code = f"from sasanet.scale import explain_batches; {call}"
    killed = subprocess.Popen([sys.executable, "-c", code], env=ENVIRONMENT)
    while killed.poll() is None and not list(out.glob("part-*")):
        time.sleep(0.01)
    killed.kill()
    killed.wait()
    n_written = len(list(out.glob("part-*")))
    result = explain_batches(model, source, out, n_orders=50)
    assert result.n_resumed == n_written > 0
    assert written(out)["row"].tolist() == list(range(1, ROWS + 1))
    assert not list(out.glob(".draft*"))


# --- processes -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_two_processes_write_what_one_writes_and_hand_warnings_back(table, model, tmp_path):
    strange = table.assign(city="Atlantis")
    with pytest.warns(UnknownLevelWarning, match="Atlantis"):
        explain_batches(model, [table, strange], tmp_path / "two", n_jobs=2)
    with pytest.warns(UnknownLevelWarning, match="Atlantis"):
        explain_batches(model, [table, strange], tmp_path / "one", n_jobs=1)
    pd.testing.assert_frame_equal(written(tmp_path / "two"), written(tmp_path / "one"))


# --- refusals ------------------------------------------------------------------------------------


def test_what_cannot_be_done_is_said_in_one_sentence(place, model, table, tmp_path):
    file = tmp_path / "file"
    file.write_text("not a folder")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("keep me")
    rows, new = place / "rows.parquet", tmp_path / "new"
    for wrong, mention in [
        (lambda: explain_batches(model, rows, file), "got the file"),
        (lambda: explain_batches(model, rows, tmp_path / "full"), "other files"),
        (lambda: explain_batches(model, rows, new, keep=["zip"]), "must have the column 'zip'"),
        (lambda: explain_batches(model, rows, new, keep="id"), "keep must be a list"),
        (lambda: explain_batches(model, rows, new, n_jobs=0), "n_jobs"),
        (lambda: explain_batches(model, rows, new, n_orders=1), "n_orders"),
        (lambda: explain_batches(model, [table.drop(columns="age")], new, n_jobs=1), "'age'"),
        (lambda: explain_batches(model, [], new, n_jobs=1), "must have rows"),
        (lambda: explain_batches(model, 7, tmp_path / "b"), "A source must be"),
        (lambda: explain_batches(model, [[1]], tmp_path / "c", n_jobs=1), "iterable of list"),
        (lambda: explain_batches(model, tmp_path / "no", new), "no file or folder"),
        (lambda: explain_batches(model, tmp_path / "full", new), "must hold Parquet files"),
    ]:
        with pytest.raises(SasanetError, match=mention) as refused:
            wrong()
        assert str(refused.value).count("\n") == 0
    taken = table.assign(prediction=0.0)
    with pytest.raises(InvalidInputError, match="keep must not name"):
        explain_batches(model, taken, new, keep=["prediction"])
    assert (tmp_path / "full" / "mine.txt").read_text() == "keep me"


# --- the command line ----------------------------------------------------------------------------


def test_a_folder_goes_into_a_folder_or_a_file(place, model, tmp_path):
    whole = model.explain(pd.read_parquet(place / "rows").drop(columns="id"))
    done("explain", place / "model", place / "rows", "--out", tmp_path / "out", "--id", "id")
    again = done("predict", place / "model", place / "rows", "--out", tmp_path / "p.csv")
    assert "230 rows" in again.output
    found = written(tmp_path / "out")
    np.testing.assert_allclose(found["phi_age"], whole[:, "age"].values[:, 0], atol=1e-6)
    np.testing.assert_allclose(
        pd.read_csv(tmp_path / "p.csv")["prediction"], found["prediction"], atol=1e-6
    )


def test_the_command_goes_on_and_begins_anew_with_force(place, tmp_path):
    words = ("predict", place / "model", place / "rows.parquet", "--out", tmp_path / "out")
    done(*words)
    resumed = json.loads(done(*words, "--json").stdout)
    assert (resumed["rows"], resumed["resumed"]) == (ROWS, 5)
    assert json.loads(done(*words, "--json", "--force").stdout)["resumed"] == 0
    refused = run("explain", *words[1:])
    assert refused.exit_code == 1
    assert "another work" in refused.stderr
