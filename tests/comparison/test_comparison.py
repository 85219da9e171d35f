"""``compare`` judges all models on the same rows, and says clearly what it cannot do."""

import sys

import numpy as np
import pandas as pd
import pytest

import sasanet
from sasanet.comparison import evaluation, models, split
from sasanet.datasets import load_penguins
from sasanet.errors import InvalidInputError
from sasanet.estimator import sasanet as estimators


def test_a_linear_ranking_adds_up_the_levels_of_a_column():
    random = np.random.RandomState(0)
    X = pd.DataFrame({"noise_1": random.randn(300), "word": random.choice(["a", "b"], 300)})
    X["word"] = X["word"].astype("category")
    y = (X["word"] == "a").to_numpy().astype(int)
    rows = split.Split(X, X, y, y, regression=False, seed=0)
    strength = models.fit_linear(rows).importance(X)
    assert strength[1] > 10 * strength[0]


@pytest.fixture
def quickly(monkeypatch):
    """Fit SASANet briefly, whatever the settings."""

    def fit(rows, *_):
        kind = estimators.SASANetRegressor if rows.regression else estimators.SASANetClassifier
        model = kind(max_epochs=1, teacher_weight=0, random_state=rows.seed)
        model.fit(rows.X_train, rows.y_train)
        return models.FittedModel(
            models._scores(model), lambda X: model.explain(X).importance()[[*X]].to_numpy()
        )

    monkeypatch.setattr(models, "fit_sasanet", fit)
    monkeypatch.setattr(evaluation, "_RESAMPLES", 20)


@pytest.mark.usefixtures("quickly")
def test_the_same_call_gives_the_same_table_and_skips_what_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "interpret.glassbox", None)
    X, y = load_penguins()
    found = sasanet.compare(X, y)
    again = sasanet.compare(X, y.to_numpy(), models=["LightGBM", "linear"])
    table = found.to_frame()
    assert list(table.index) == ["SASANet", "LightGBM", "logistic regression"]
    pd.testing.assert_frame_equal(
        table.drop(columns="fit_seconds"), again.to_frame().drop(columns="fit_seconds")
    )
    assert (found.n_rows, found.n_test_rows) == (258, 86)
    assert table.loc["SASANet", "difference"] == 0
    assert (table["low"] <= table["quality"]).all()
    assert "pip install" in found.skipped["EBM"]
    assert "Skipped EBM" in str(found)
    assert "AUC" in str(found)


@pytest.mark.usefixtures("quickly")
def test_the_task_follows_from_the_labels():
    X, _ = load_penguins()
    X = X.dropna()
    numbers = sasanet.compare(X.drop(columns="body_mass_g"), X["body_mass_g"], models=["linear"])
    assert numbers.metric == "R²"
    assert list(numbers.to_frame().index) == ["SASANet", "ridge regression"]
    asked = sasanet.compare(X[["year"]], X["sex"], models=[], task="classification")
    assert asked.metric == "AUC"
    for labels, is_number in (([0, 1, 1], False), ([0.5, 1, 2], True), (range(11), True),
                              (["1", "2"], False)):  # fmt: skip
        assert split.suggests_regression(pd.Series(labels)) is is_number


@pytest.mark.usefixtures("quickly")
def test_a_model_judged_on_other_rows_would_be_noticed(monkeypatch):
    """The twin: resamples of its own make the difference of a model to itself uncertain."""
    X, y = load_penguins()
    same = sasanet.compare(X, y, models=[]).models[0]
    assert same["difference_interval"] == [0, 0]
    draws, real = iter(range(9)), evaluation._resampled

    def own_rows(y, scores, regression):
        order = np.random.default_rng(next(draws)).permutation(len(y))
        return real(y[order], scores[order], regression)

    monkeypatch.setattr(evaluation, "_resampled", own_rows)
    monkeypatch.setattr(models, "fit_linear", lambda rows: models.fit_sasanet(rows))
    twin = sasanet.compare(X, y, models=["linear"]).models[1]
    assert twin["difference_interval"] != [0, 0]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"models": "EBM"}, "models must be a list of some of"),
        ({"models": ["SVM"]}, "models must be a list of some of"),
        ({"task": "ranking"}, "task must be one of"),
        ({"test_size": 1.5}, "test_size must be a number above 0 and below 1"),
        ({"random_state": -1}, "random_state must be"),
        ({"y": [1, 2]}, "inconsistent numbers of samples"),
        ({"y": [None, *["a"] * 343]}, "a label in every row"),
        ({"y": ["a", *["b"] * 343]}, "rows of every class"),
    ],
)
def test_what_cannot_be_compared_is_refused(given, says):
    X, y = load_penguins()
    given = {"y": y} | given
    with pytest.raises(InvalidInputError, match=says):
        sasanet.compare(X, **given)
