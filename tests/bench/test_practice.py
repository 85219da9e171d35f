"""What decides: the page says what the files say, and the counts are those of the tables."""

import json

import numpy as np
import pytest

from bench.practice import directions, page, quantiles, rates, run


def test_the_page_in_the_docs_is_that_of_the_results():
    written = page.PAGE.read_text("utf-8")
    assert written == page.make_page(run.runner.RESULTS / "practice")


def test_the_page_says_by_how_much_a_deviance_is_larger(tmp_path):
    results = run.runner.RESULTS / "practice"
    for stem in ("german_credit", "deviance-known_rates"):
        (tmp_path / f"{stem}.json").write_bytes((results / f"{stem}.json").read_bytes())
    found = json.loads((tmp_path / "deviance-known_rates.json").read_text())
    found |= {"SASANet": 1.1, "LightGBM": 1.0, "ratio": 1.1, "truth": 0.9}
    (tmp_path / "deviance-known_rates.json").write_text(json.dumps(found))
    line = next(one for one in page.make_page(tmp_path).splitlines() if "| known rates" in one)
    assert "| 1.1000 | 1.0000 | 1.0394 | 0.9000 | +10.00 % |" in line


def test_no_model_beats_the_true_rates_on_average():
    counts = rates.known_rates()
    assert counts.rate is not None
    least = counts.deviance(counts.rate)
    assert least < counts.deviance(counts.rate * 1.1)
    assert least < counts.deviance(np.full(len(counts.y), counts.y.sum() / counts.exposure.sum()))


def test_the_spread_of_the_known_table_follows_from_a_feature():
    split = quantiles.known_spread()
    wide = split.X_train["x0"] > 1
    assert split.y_train[wide].std() > 1.5 * split.y_train[~wide].std()


@pytest.mark.parametrize("name", ["german_credit", "known_directions"])
def test_directions_name_columns_of_numbers(name):
    X, y = directions._table(name)
    assert len(X) == len(y)
    for column in directions.TABLES[name].directions:
        assert X[column].dtype.kind in "iuf"


def test_a_million_pairs_are_tried():
    assert directions.PAIRS * len(directions.TABLES) >= 10**6
