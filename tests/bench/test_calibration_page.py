"""The benchmark of calibration: what it measures, and a page that says what the files say."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from bench import runner
from bench.accuracy import calibration, calibration_page
from bench.tables.data import Split
from sasanet import Architecture, SASANetClassifier


def result(error, limit):
    size = {"features": 3, "error": error, "noise": limit / 2, "noise_high": limit}
    ours, theirs = {"log_loss": 0.3}, {"log_loss": 0.4}
    found = {"table": "t", "rows": 10, "test_rows": 5, "regression": False, "all_sizes": size}
    return found | {"sizes": [size, size], "ours": ours, "lightgbm": theirs}


@pytest.mark.parametrize(("error", "held", "above"), [(0.1, 1, 0), (0.3, 0, 2)])
def test_the_page_tells_errors_from_chance(tmp_path, error, held, above):
    (tmp_path / "t.json").write_text(json.dumps(result(error, 0.2)))
    text = calibration_page.make_page(tmp_path)
    assert f"complete rows is within chance on {held}, that of all sizes together on {held}" in text
    assert f"| {above} of 2 | 0.3 | 0.4 |" in text
    assert "below LightGBM's on 1" in text


def test_the_page_in_the_docs_is_that_of_the_results():
    written = calibration_page.PAGE.read_text("utf-8")
    assert written == calibration_page.make_page(runner.RESULTS / "calibration")


def test_labels_of_another_rule_are_more_than_chance():
    """The same model on rows of its own rule, and on rows whose labels are turned."""
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(1200, 3)), columns=["a", "b", "c"])
    y = pd.Series((X.a + random.normal(size=1200) > 0).astype(int))
    model = SASANetClassifier(
        Architecture(width=8, marginal_layers=(8,)), max_epochs=8, random_state=0, teacher_weight=0
    ).fit(X[:600], y[:600])
    found = calibration.calibration_of(model, Split(X[:600], y[:600], X[600:], y[600:]))
    turned = calibration.calibration_of(model, Split(X[:600], y[:600], X[600:], 1 - y[600:]))
    assert found["sizes"][-1]["error"] < 0.5 * turned["sizes"][-1]["error"]
    assert calibration_page.is_more_than_chance(turned["sizes"][-1])
