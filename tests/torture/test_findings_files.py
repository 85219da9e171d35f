"""Defects that a hostile trial of an early version found in files, commands and pages, by numbers.

As in ``test_findings.py``, every test fails on that version.
"""

import codecs
import functools
import gzip
import io
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow
import pytest
from pyarrow import parquet
from sklearn.model_selection import GridSearchCV

from cli_run import done, files, run
from sasanet import Architecture, SASANetClassifier, load
from sasanet.checksums import sealed
from sasanet.cli import main
from sasanet.errors import SasanetError, SavedFileError
from sasanet.plots import dependence_data
from sasanet.report import write_report
from torture.processes import Child, command, limited

TINY = Architecture(width=8, marginal_layers=(4,), n_knots=8)
RANDOM = np.random.default_rng(0)
N = 40
X = pd.DataFrame({"a": RANDOM.normal(size=N), "b": RANDOM.choice(["x", "y"], N)})
Y = np.arange(N) % 2


def quick(**fields):
    """Return an unfitted model that learns in milliseconds."""
    settings = {"max_epochs": 1, "teacher_weight": 0.0, "random_state": 0} | fields
    return SASANetClassifier(TINY, **settings)


@functools.cache
def fitted(seed=0):
    return quick(random_state=seed).fit(X, Y)


@pytest.fixture
def place(tmp_path):
    fitted().save(tmp_path / "model")
    X.assign(id=[f"=1+{i}" for i in range(N)], y=Y).to_csv(tmp_path / "t.csv", index=False)
    return tmp_path


# --- high ------------------------------------------------------------------------------------


def test_04_savers_and_loaders_of_one_path_see_one_whole_model(tmp_path):
    folder = tmp_path / "model"
    models = [quick(random_state=seed).fit(X, Y) for seed in range(2)]
    answers = {model.decision_function(X).tobytes() for model in models}
    models[0].save(folder)
    n_files = len(files(folder))
    trouble = []

    def work(model):
        try:
            for _ in range(15):
                model.save(folder)
                assert load(folder).decision_function(X).tobytes() in answers
        except BaseException as error:
            trouble.append(error)

    threads = [threading.Thread(target=work, args=(models[k % 2],)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert trouble == []
    assert len(files(folder)) == n_files


def test_05_a_level_that_no_row_has_is_no_trouble(tmp_path):
    table = X.assign(b=pd.Categorical(X["b"], categories=["x", "never", "y"]))
    model = quick().fit(table, Y)
    write_report(model, table, tmp_path / "report.html")
    assert len(dependence_data(model.explain(table), "b")) > 0


# --- medium ----------------------------------------------------------------------------------


def test_06_a_model_of_a_grid_search_is_saved(tmp_path):
    search = GridSearchCV(quick(), {"batch_size": np.array([8, 16])}, cv=2).fit(X, Y)
    model = search.best_estimator_
    model.save(tmp_path / "model")
    assert (load(tmp_path / "model").predict(X) == model.predict(X)).all()


def test_06_a_refused_model_leaves_no_folder_that_refuses_the_next(tmp_path):
    labels = pd.to_datetime(["2020-01-01", "2021-01-01"]).to_numpy()[Y]
    with pytest.raises(SasanetError):
        quick().fit(X, labels).save(tmp_path / "model")
    fitted().save(tmp_path / "model")


def test_07_ids_of_parquet_beside_nulls_keep_every_digit(place):
    ids = [2**53 + 1, None, *range(N - 2)]
    table = pyarrow.Table.from_pandas(X).append_column("code", pyarrow.array(ids))
    parquet.write_table(table, place / "t.parquet")
    done("predict", place / "model", place / "t.parquet", "--out", place / "p.csv", "--id", "code")
    found = pd.read_csv(place / "p.csv", dtype=str, keep_default_na=False)["code"].tolist()
    assert found == ["9007199254740993", "", *map(str, range(N - 2))]


@pytest.mark.parametrize("name", ["c" * 140_000, "line\nbreak"])
def test_10_a_long_or_broken_header_is_read(name, place):
    odd = pd.concat([pd.Series(0, X.index, name=name), X], axis=1)
    odd.to_csv(place / "odd.csv", index=False)
    done("predict", place / "model", place / "odd.csv", "--out", place / "p.csv")


def with_field(inside, name, value):
    """Return nested data in which a field has another value."""
    if isinstance(inside, dict):
        return {k: value if k == name else with_field(v, name, value) for k, v in inside.items()}
    return (
        [with_field(part, name, value) for part in inside] if isinstance(inside, list) else inside
    )


def reseal(folder, name, value):
    description = json.loads((folder / "model.json").read_text())
    del description["seal"]
    changed = sealed(with_field(description, name, value))
    (folder / "model.json").write_text(json.dumps(changed))


@pytest.mark.parametrize(("name", "value"), [("marginal_layers", [40_000] * 2), ("width", 10**9)])
def test_13_a_network_larger_than_its_file_is_refused_before_it_is_built(name, value, place):
    reseal(place / "model", name, value)

    def work():
        held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with pytest.raises(SavedFileError):
            load(place / "model")
        return str(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - held)

    assert int(Child(work).wait().said) < 100 * 1024  # KiB


@pytest.mark.parametrize("name", ["scale", "base", "cap"])
def test_13_every_number_of_a_loaded_model_is_checked(name, place):
    reseal(place / "model", name, ["no number"])
    with pytest.raises(SavedFileError):
        load(place / "model")


def test_13_a_signed_model_needs_its_key(tmp_path):
    fitted().save(tmp_path / "model", key=b"a key of sixteen")
    load(tmp_path / "model", key=b"a key of sixteen")
    with pytest.raises(SavedFileError):
        load(tmp_path / "model", key=b"another key of..")


def test_14_nan_in_a_description_is_refused_in_a_sentence(place):
    path = place / "model" / "model.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"cap": float("nan")}))
    with pytest.raises(SavedFileError):
        load(place / "model")


@pytest.mark.parametrize("text", ["[" * 10**5, '{"a": ' * 10**5])
def test_14_json_that_is_no_description_is_refused_in_a_sentence(text, place):
    (place / "model" / "model.json").write_text(text)
    with pytest.raises(SavedFileError):
        load(place / "model")


# --- low -------------------------------------------------------------------------------------


@pytest.mark.parametrize("write", ["report", "audit"])
def test_15_a_full_disk_keeps_the_old_file(write, tmp_path):
    out = tmp_path / "file"
    out.write_bytes(b"old")
    model = fitted()
    certificate = model.audit(X, n_rows=4)
    jobs = {"report": lambda: write_report(model, X, out), "audit": lambda: certificate.save(out)}
    said = Child(limited(200, jobs[write])).wait().said
    assert said != ""
    assert files(tmp_path) == {"file": b"old"}


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_15_drafts_of_ended_commands_do_not_stay(number, place):
    pd.concat([X] * 200).to_csv(place / "long.csv", index=False)
    out = place / "out"
    out.mkdir()
    words = ("explain", place / "model", place / "long.csv", "--out", out / "phi.csv", "--top", 2)
    child = Child(command(*words))
    deadline = time.monotonic() + 20
    while not files(out) and time.monotonic() < deadline:
        time.sleep(0.002)
    child.signal(number)
    child.wait()
    assert number == signal.SIGKILL or files(out) == {}
    done("explain", place / "model", place / "t.csv", "--out", out / "phi.csv", "--force")
    assert list(files(out)) == ["phi.csv"]


@pytest.fixture
def read_only():
    """Return a place with a model and a table where nobody else may write."""
    place = Path(tempfile.mkdtemp())
    quick().fit(X, Y).save(place / "model")
    X.assign(y=Y).to_csv(place / "t.csv", index=False)
    for path in (place, *place.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    yield place
    place.chmod(0o755)
    shutil.rmtree(place)


@pytest.mark.parametrize("name", ["fit", "audit"])
def test_15_what_cannot_be_written_is_not_computed(name, read_only, monkeypatch):
    table, model = read_only / "t.csv", read_only / "model"
    words = {"fit": ("fit", table, "--out", read_only / "new"), "audit": ("audit", model, table)}
    more = {"fit": (), "audit": ("--keep",)}
    monkeypatch.setattr(SASANetClassifier, name, lambda *_, **__: os._exit(99))

    def work():
        if os.getuid() == 0:
            os.setuid(65534)  # root may write everywhere
        result = run(*words[name], "--target", "y", *more[name])
        return f"{result.exit_code} {result.output}"

    codecs.lookup("utf-8-sig")  # loaded from where only root may read, perhaps
    said = Child(work).wait().said
    assert said.startswith("1 ")
    assert "writ" in said
    assert "nexpected" not in said


def test_15_reports_stay_below_5_mb_and_show_the_largest_numbers(tmp_path):
    n = 1_400
    texts = [f"{i} " + "long text " * 600 for i in range(n)]
    table = pd.DataFrame({"text": texts, "a": np.r_[1e308, -1e308, RANDOM.normal(size=n - 2)]})
    table.index = pd.Index([f"row {i} " + "label " * 200 for i in range(n)])
    table["level"] = pd.Categorical(texts)  # as a category it is no free text
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its many levels
        model = quick().fit(table, np.arange(n) % 30)
    write_report(model, table, tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size < 5_000_000


def test_15_a_line_of_hundreds_of_megabytes_is_refused_before_it_is_in_memory(place):
    path = place / "bomb.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(200):
            file.write(b"0" * 2**20)

    def work():
        held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        code = run("predict", place / "model", path, "--out", place / "p.csv").exit_code
        return f"{code} {(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - held) // 1024}"

    code, held = Child(work).wait().said.split()
    assert code == "1"
    assert int(held) < 150  # MiB


def test_15_no_formula_is_written(place):
    out = place / "p.csv"
    done("predict", place / "model", place / "t.csv", "--out", out, "--id", "id")
    assert not pd.read_csv(out)["id"].str.startswith("=").any()


def test_15_inspect_commands_no_terminal_and_speaks_ascii(tmp_path):
    table = X.rename(columns={"a": "\x1b[31mred é"})
    quick().fit(table, Y).save(tmp_path / "model")

    def work():
        said = io.BytesIO()
        sys.stdout = io.TextIOWrapper(said, encoding="ascii", write_through=True)
        sys.argv = ["sasanet", "inspect", str(tmp_path / "model")]
        with pytest.raises(SystemExit) as end:
            main()
        text = said.getvalue()
        return f"{end.value.code} {b'red' in text} {bytes([27]) in text}"

    assert Child(work).wait().said == "0 True False"


def test_15_an_id_named_like_a_written_column_is_refused(place):
    X.assign(phi_a=1).to_csv(place / "odd.csv", index=False)
    words = ("explain", place / "model", place / "odd.csv", "--out", place / "e.csv")
    assert run(*words, "--id", "phi_a").exit_code == 1
    assert not (place / "e.csv").exists()


@pytest.mark.parametrize("how", ["damaged", "hex"])
def test_15_damaged_files_and_odd_encodings_are_answered_in_a_sentence(how, place):
    table, words = place / "t.csv", ("--encoding", how)
    if how == "damaged":
        table, words = place / "t.parquet", ()
        X.to_parquet(table)
        table.write_bytes(table.read_bytes().replace(b'"index_columns"', b'"index_columns@'))
    result = run("predict", place / "model", table, "--out", place / "p.csv", *words)
    assert "did not work" not in result.output
    assert "nexpected" not in result.output
