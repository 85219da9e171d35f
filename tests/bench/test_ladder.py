"""The ladder: rungs of the training rows alone, and a page that says what the files say."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from bench.ladder import page, run
from bench.tables import data
from bench.tables.data import Split


def write(folder, system, rows, scores):
    splits = [{"auc": score, "fit_seconds": 2.0} for score in scores]
    result = {"table": "higgs", "rows": rows, "system": system, "splits": splits}
    text = json.dumps(result | {"metric": "auc", "test_share": 0.2})
    (folder / f"higgs-{rows}-{system}.json").write_text(text)


def test_the_page_has_every_rung_that_both_have(tmp_path):
    write(tmp_path, "sasanet", 1_000, [0.8, 0.82, 0.81])
    write(tmp_path, "lightgbm", 1_000, [0.79, 0.8, 0.8])
    write(tmp_path, "sasanet", 2_500, [0.7, 0.7, 0.7])
    text = page.make_page(tmp_path)
    assert "| higgs | 1,000 | 0.8100 | 0.7967 | +0.0133 [" in text
    assert "2,500" not in text
    assert "ahead on 1 of 1 rungs" in text
    write(tmp_path, "lightgbm", 2_500, [0.9, 0.9, 0.9])
    assert "ahead on 1 of 2 rungs" in page.make_page(tmp_path)


def test_the_page_in_the_docs_is_that_of_the_results():
    written = page.PAGE.read_text("utf-8")
    assert written == page.make_page(run.runner.RESULTS / "ladder")


def test_a_rung_takes_training_rows_and_leaves_test_rows(monkeypatch):
    X = pd.DataFrame({"a": np.arange(100)})
    split = Split(X[:80], X["a"][:80], X[80:], X["a"][80:])
    monkeypatch.setattr(data, "splits", lambda _, count: [split] * count)
    found = list(run.parts("any", 30))
    assert len(found) == 3
    for part in found:
        assert len(part.X_train) == len(set(part.X_train["a"])) == 30
        assert part.X_train["a"].max() < 80
        assert part.X_test is split.X_test
        assert list(part.y_train) == list(part.X_train["a"])
    assert not found[0].X_train.equals(found[1].X_train)


@pytest.mark.parametrize("name", run.TABLES)
def test_every_table_of_the_ladder_is_known(name):
    assert name == "census" or name in data.NAMES
