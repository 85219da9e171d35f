"""What is remembered of a training table: with min_level_count, nothing that few rows have."""

import json

import numpy as np
import pandas as pd
import pytest

from sasanet import Architecture, SASANetClassifier, load
from sasanet.errors import InvalidInputError, UniqueLevelsWarning, UnknownLevelWarning
from sasanet.table import learning
from sasanet.table.encoder import TableEncoder

CITIES = ["Rome"] * 5 + ["Oslo"] * 3 + ["Lima"] * 2 + ["Bonn", None]


def fitted(values, count, **options):
    return TableEncoder(min_level_count=count, **options).fit(pd.DataFrame({"x": values}))


@pytest.mark.parametrize(
    ("count", "levels"),
    [
        (1, ("Bonn", "Lima", "Oslo", "Rome")),
        (2, ("Lima", "Oslo", "Rome")),
        (3, ("Oslo", "Rome")),
        (5, ("Rome",)),
        (6, ()),
    ],
)
def test_levels_of_fewer_rows_are_unknown(count, levels):
    assert fitted(CITIES, count).columns[0].levels == levels
    assert fitted(pd.Categorical(CITIES), count).columns[0].levels == levels


def test_rare_levels_are_read_like_those_never_seen():
    encoder = fitted(CITIES, 3)
    with pytest.warns(UnknownLevelWarning, match="never seen in 3 rows in training"):
        cells = encoder.transform(pd.DataFrame({"x": ["Bonn", "Paris", "Rome", None]}))
    assert np.array_equal(cells[:, 0], [0, 0, 2, np.nan], equal_nan=True)


def test_spellings_of_one_level_are_counted_together():
    mixed = [1, "1", 2, "a", "a"]
    assert fitted(mixed, 2).columns[0].levels == ("1", "a")


def test_knots_are_means_of_so_many_values():
    values = np.array([1.0, 2, 3, 10, 20, 30, 100, 200, 300, 400])
    knots = fitted(np.random.default_rng(0).permutation(values), 3).columns[0].knots
    assert knots == pytest.approx((2, 20, 250))
    assert fitted(values, 1).columns[0].knots == tuple(values)


def test_a_value_that_many_rows_have_stays_what_it_is():
    assert fitted([0.1] * 7 + [5.0] * 7, 7).columns[0].knots == (0.1, 5.0)


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1.7e308])
def test_knots_of_extreme_numbers_stay_finite_and_inside(scale):
    values = np.linspace(-1, 1, 50) * scale
    knots = fitted(values, 4).columns[0].knots
    assert np.isfinite(knots).all()
    assert values.min() < knots[0] < knots[-1] < values.max()


def test_numbers_of_too_few_rows_are_not_learned():
    encoder = fitted([7.5, None, None, 8.5], 3)
    assert encoder.columns[0].knots == (0.0,)
    assert np.isnan(encoder.transform(pd.DataFrame({"x": [7.5]}))).all()


def test_no_rare_value_is_in_a_saved_model(tmp_path):
    random = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "name": ["common"] * 30 + [f"person {i}" for i in range(30)],
            "income": random.lognormal(10, 1, 60).round(3),
        }
    )
    y = np.arange(60) % 2
    small = Architecture(width=8, marginal_layers=(4,))
    fits = {"max_epochs": 1, "teacher_weight": 0, "random_state": 0, "validation_fraction": 0}

    def kept(count):
        model = SASANetClassifier(small, min_level_count=count, **fits).fit(X, y)
        model.save(tmp_path / str(count))
        again = load(tmp_path / str(count))
        assert again.min_level_count == again.encoder_.min_level_count == count
        assert np.array_equal(again.decision_function(X[:9]), model.decision_function(X[:9]))
        text = (tmp_path / str(count) / "model.json").read_text()
        knots = json.loads(text)["encoder"]["columns"][1]["knots"]
        return "person" in text, bool(set(knots) & set(X["income"]))

    assert kept(5) == (False, False)
    assert kept(1) == (True, True)


@pytest.mark.parametrize("count", [0, -1, 1.5, True, None, "2"])
def test_counts_that_are_none_are_refused(count):
    with pytest.raises(InvalidInputError, match="min_level_count must be an integer >= 1, got"):
        TableEncoder(min_level_count=count)


# --- ids -------------------------------------------------------------------------------------


def test_a_column_of_ids_is_warned_of_and_min_level_count_makes_it_small():
    ids = [f"id {i}" for i in range(1_200)]
    with pytest.warns(UniqueLevelsWarning, match=r"'x' should have .* got 1,200 in 1,200 rows"):
        fitted(ids, 1)
    assert fitted(ids, 2).columns[0].levels == ()  # a warning would be an error here


def test_many_levels_that_repeat_and_few_rows_are_not_warned_of(monkeypatch):
    repeated = [f"zip {i % 1_100}" for i in range(2_400)]
    fitted(repeated, 1)
    fitted([f"id {i}" for i in range(999)], 1)
    monkeypatch.setattr(learning, "_MOSTLY", 0.4)
    with pytest.warns(UniqueLevelsWarning):
        fitted(repeated, 1)
