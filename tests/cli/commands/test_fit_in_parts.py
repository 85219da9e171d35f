"""`sasanet fit` on a large folder of Parquet files: learned in parts, never read as a whole."""

import json
import shutil as disks
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from cli_run import done, run
from sasanet import load
from sasanet.cli.files import labels, reading
from sasanet.estimator.fitting import given

pytestmark = pytest.mark.usefixtures("small_default", "few_trees")
N = 600


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("large")
    random = np.random.default_rng(0)
    table = pd.DataFrame({"a": random.normal(size=N), "c": random.choice(["x", "y"], N)})
    table["code"], table["row"] = random.integers(3, size=N), np.arange(N)
    table["y"] = np.where(table["a"] + (table["c"] == "x") > 0.5, "yes", "no")
    table["amount"] = table["a"] + random.normal(size=N)
    for number, rows in enumerate(np.array_split(np.arange(N), 3)):
        table.iloc[rows].to_parquet(place / f"{number}.parquet", row_group_size=100)
    return place


@pytest.fixture
def large(monkeypatch):
    """Let tables count as large, and return the columns that were read whole."""
    read = []
    plain = reading.read_whole
    monkeypatch.setattr(labels, "MOST_CELLS", 500)
    monkeypatch.setattr(given, "MOST_CELLS", 500)

    def watched(table, columns, tick):
        read.append(list(columns))
        return plain(table, columns, tick)

    monkeypatch.setattr(labels, "read_whole", watched)
    return read


def test_only_the_target_of_a_large_folder_is_read_whole(folder, large, tmp_path):
    scratch = tmp_path / "scratch"
    told = done("fit", folder, "--target", "y", "--exclude", "row,amount", "--categorical", "code",
                "--scratch", scratch, "--out", tmp_path / "m", "--json").stdout  # fmt: skip
    assert large == [["y"]]
    assert json.loads(told)["rows"] == N
    model = load(tmp_path / "m")
    assert [(c.name, c.kind) for c in model.encoder_.columns] == [
        ("a", "number"), ("c", "category"), ("code", "category"),
    ]  # fmt: skip
    assert not list(scratch.iterdir())
    frame = pd.read_parquet(folder)
    assert (model.predict(frame[["a", "c", "code"]]) == frame["y"]).mean() > 0.8


def test_a_small_folder_is_read_whole(folder, large, monkeypatch, tmp_path):
    monkeypatch.setattr(labels, "MOST_CELLS", 10**6)  # the twin
    monkeypatch.setattr(given, "MOST_CELLS", 10**6)
    done("fit", folder, "--target", "y", "--exclude", "row,amount", "--out", tmp_path / "m")
    assert large == [["a", "c", "code", "y"]]


@pytest.mark.usefixtures("large")
def test_numbers_are_learned_in_parts_with_rows_held_out(folder, tmp_path):
    done("fit", folder, "--target", "amount", "--exclude", "row,y", "--validation", 0.2,
         "--out", tmp_path / "m", "--time-limit", 2)  # fmt: skip
    model = load(tmp_path / "m")
    assert type(model).__name__ == "SASANetRegressor"
    assert "validation_loss" in model.history_[0]


@pytest.mark.usefixtures("large")
def test_a_disk_that_is_too_small_is_one_sentence(folder, monkeypatch, tmp_path):
    monkeypatch.setattr(disks, "disk_usage", lambda _: SimpleNamespace(free=10))
    failed = run("fit", folder, "--target", "y", "--exclude", "row", "--out", tmp_path / "m",
                 "--scratch", tmp_path / "scratch")  # fmt: skip
    assert failed.exit_code != 0
    assert "Fitting needs 1 MB of disk for encoded rows" in " ".join(failed.stderr.split())
    assert not (tmp_path / "m").exists()
    assert not list((tmp_path / "scratch").iterdir())
