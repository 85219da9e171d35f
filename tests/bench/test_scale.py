"""The closed forms, files and formulas that the bench of large tables stands on."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

from bench.scale import cost, tables
from bench.scale.page import write_page
from bench.scale.tables import TARGET, LinearGame
from sasanet import SASANetRegressor
from sasanet.shapley import all_coalitions, exact_shapley
from sasanet.training.hyperparameters import resolve


@pytest.fixture(scope="module")
def game():
    return LinearGame.known(5)


def test_the_closed_form_is_the_exact_shapley_value(game):
    cells = game.rows(4, np.random.default_rng(0)).drop(columns=TARGET).to_numpy(dtype=float)
    truth = exact_shapley(lambda masks: game.value(cells, np.asarray(masks)), 5)
    np.testing.assert_allclose(game.shapley(cells), truth, atol=1e-12)
    twin = dataclasses.replace(game, correlation=0.0)
    assert np.abs(twin.shapley(cells) - truth).max() > 1e-2


def test_labels_have_the_expectation_that_the_game_says(game):
    table = game.rows(100_000, np.random.default_rng(1))
    cells, y = table.drop(columns=TARGET).to_numpy(dtype=float), table[TARGET].to_numpy()
    masks = all_coalitions(5).astype(bool)
    residual = y[:, None] - game.value(cells, masks)
    for size, mask in enumerate(masks):  # what is left is uncorrelated with what was known
        left = residual[:, size] @ cells[:, mask] / len(y)
        assert np.abs(left).max(initial=0) < 0.03


def test_tables_are_written_in_parts_and_removed(game, monkeypatch):
    monkeypatch.setattr(tables, "ROWS_AT_ONCE", 40)
    with tables.written(game.rows, 100) as folder:
        assert len(list(folder.iterdir())) == 3
        assert len(pd.read_parquet(folder).drop_duplicates()) == 100
    assert not folder.exists()


def test_the_formula_finds_the_line_that_costs_were_made_by():
    runs = [
        {"rows": 10, "columns": d, "explained": 5, "step": 2.0 + d, "large_step": 4.0 * (2 + d)}
        | {"survey": 10 * d, "store": 20 * d, "teachers": 30 * (1 + d), "explain": 5 * d}
        for d in (2, 8, 30)
    ]
    found = cost.lines(runs)
    assert found["step"](0) == pytest.approx(2)
    assert found["step"](1) == pytest.approx(3)
    assert found["explain"](3) == pytest.approx(3)
    parts = cost.seconds(found, 10**6, 8, 0.5)
    assert parts["survey"] == pytest.approx(8e6)
    assert parts["teachers"] == pytest.approx(200_000 * 27)
    rules = {n: resolve(SASANetRegressor().get_params(), n, 0.5) for n in (10**6, 10**7)}
    assert parts["training"] == pytest.approx(rules[10**6].steps(10**6) * 10)
    larger = cost.seconds(found, 10**7, 8, 0.5)["training"]  # in batches of 2,048 rows
    assert larger == pytest.approx(rules[10**7].steps(10**7) * 40)


def test_the_page_is_written_from_no_results_at_all(tmp_path, monkeypatch):
    monkeypatch.setattr("bench.scale.page.PAGE", tmp_path / "page.md")
    write_page(tmp_path)
    assert (tmp_path / "page.md").read_text().startswith("# Large tables")
