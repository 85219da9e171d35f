"""TreeSHAP against enumeration of its two games; what does not add up is refused."""

import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sasanet.errors import InvalidInputError, MissingPackageError
from sasanet.posthoc import marginal_game, tree_shap
from sasanet.shapley import exact_shapley

FLOAT32 = 1e-4  # trees are added up in float32


@pytest.fixture
def shap():
    return pytest.importorskip("shap")


def columns(n=300, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(n, 4)), columns=list("abcd"))
    table["b"] = (table["b"] + table["a"]) / 2  # dependent, so that the two games differ
    return table


def number(table):
    return (table["a"] * table["b"] + np.abs(table["c"])).to_numpy()


def classes(table, n_classes):
    return pd.qcut(number(table), n_classes, labels=False)


def path_dependent_game(tree, X):
    """Return the game in which a hidden feature goes both ways, by the training rows that did."""

    def walk(node, cells, mask):
        left, right = tree.children_left[node], tree.children_right[node]
        if left < 0:
            return tree.value[node].ravel()[-1]
        feature = tree.feature[node]
        if mask[feature]:
            goes_left = np.float32(cells[feature]) <= tree.threshold[node]
            return walk(left if goes_left else right, cells, mask)
        share = tree.weighted_n_node_samples[left] / tree.weighted_n_node_samples[node]
        return share * walk(left, cells, mask) + (1 - share) * walk(right, cells, mask)

    cells = X.to_numpy()
    return lambda masks: np.array([[walk(0, row, mask) for mask in masks] for row in cells])


@pytest.mark.usefixtures("shap")
@pytest.mark.parametrize("kind", [DecisionTreeRegressor, DecisionTreeClassifier])
def test_without_a_background_it_is_the_path_dependent_game(kind):
    X = columns()
    y = number(X) if kind is DecisionTreeRegressor else classes(X, 2)
    model, rows = kind(max_depth=5, random_state=0).fit(X, y), columns(6, seed=1)
    exact = exact_shapley(path_dependent_game(model.tree_, rows), 4)
    np.testing.assert_allclose(tree_shap(model, rows).values, exact, atol=1e-6)
    twin = tree_shap(model, rows, background=X[:50]).values  # the other game
    assert np.abs(twin - exact).max() > 0.01


def boosted_lightgbm(X, y, **settings):
    lightgbm = pytest.importorskip("lightgbm")
    kind = lightgbm.LGBMRegressor if y.dtype.kind == "f" else lightgbm.LGBMClassifier
    return kind(n_estimators=20, verbose=-1, n_jobs=1, **settings).fit(X, y)


def boosted_xgboost(X, y, **settings):
    xgboost = pytest.importorskip("xgboost")
    kind = xgboost.XGBRegressor if y.dtype.kind == "f" else xgboost.XGBClassifier
    return kind(n_estimators=20, max_depth=4, n_jobs=1, **settings).fit(X, y)


def raw_lightgbm(model):
    return lambda table: model.predict(table, raw_score=True)


def raw_xgboost(model):
    return lambda table: model.predict(table, output_margin=True)


def small(kind):
    """Return a maker of small scikit-learn models."""
    steps = "max_iter" if kind.__name__.startswith("Hist") else "n_estimators"
    return lambda X, y: kind(**{steps: 10}, random_state=0).fit(X, y)


MODELS = {
    "LightGBM, numbers": (boosted_lightgbm, 0, raw_lightgbm, "raw score"),
    "LightGBM, two classes": (boosted_lightgbm, 2, raw_lightgbm, "log-odds"),
    "LightGBM, three classes": (boosted_lightgbm, 3, raw_lightgbm, "log-odds"),
    "XGBoost, numbers": (boosted_xgboost, 0, raw_xgboost, "raw score"),
    "XGBoost, two classes": (boosted_xgboost, 2, raw_xgboost, "log-odds"),
    "XGBoost, three classes": (boosted_xgboost, 3, raw_xgboost, "log-odds"),
    "extra trees": (small(ExtraTreesRegressor), 0, lambda m: m.predict, "target"),
    "forest, two classes": (
        small(RandomForestClassifier),
        2,
        lambda m: lambda table: m.predict_proba(table)[:, 1],
        "probability",
    ),
    "forest, three classes": (
        small(RandomForestClassifier),
        3,
        lambda m: m.predict_proba,
        "probability",
    ),
    "boosted, two classes": (
        small(GradientBoostingClassifier),
        2,
        lambda m: m.decision_function,
        "log-odds",
    ),
    "histograms": (small(HistGradientBoostingRegressor), 0, lambda m: m.predict, "target"),
    "histograms, three classes": (
        small(HistGradientBoostingClassifier),
        3,
        lambda m: m.decision_function,
        "log-odds",
    ),
}


@pytest.mark.usefixtures("shap")
@pytest.mark.parametrize("name", MODELS)
def test_with_a_background_it_is_the_marginal_game_and_both_add_up(name):
    make, n_classes, raw_of, units = MODELS[name]
    X, rows = columns(), columns(5, seed=1)
    model = make(X, classes(X, n_classes) if n_classes else number(X))
    # Not training rows: histogram trees cut at their values, and shap rounds cuts to float32.
    raw, background = raw_of(model), columns(20, seed=2)
    exact = exact_shapley(marginal_game(raw, rows, background), 4)
    e = tree_shap(model, rows, background)
    np.testing.assert_allclose(e.values, exact, atol=FLOAT32)
    path = tree_shap(model, rows)
    np.testing.assert_allclose(path.prediction, raw(rows), atol=FLOAT32)
    assert np.abs(path.values - exact).max() > 100 * FLOAT32  # another game
    assert (e.units, path.units) == (units, units)
    assert path.output_names == (tuple("012") if n_classes == 3 else ())


def test_lightgbm_explains_words_and_missing_cells_itself():
    X = columns()
    X["city"] = pd.Categorical(np.random.default_rng(0).choice(["Rome", "Oslo", "Bonn"], len(X)))
    y = number(X) + 3.0 * (X["city"] == "Rome").to_numpy()
    X.loc[::5, "city"] = None
    X.loc[::7, "a"] = np.nan
    model = boosted_lightgbm(X, y)
    e = tree_shap(model, X)
    np.testing.assert_allclose(e.prediction, model.predict(X), atol=1e-9)
    assert e.importance().index[0] == "city"
    booster = tree_shap(model.booster_, X)
    np.testing.assert_array_equal(booster.values, e.values)


def test_units_can_be_given():
    X = columns()
    assert tree_shap(boosted_lightgbm(X, number(X)), X[:2], units="euros").units == "euros"


def test_values_that_do_not_add_up_are_refused_not_returned(monkeypatch):
    X = columns()
    model = boosted_lightgbm(X, number(X))
    honest = type(model).predict

    def off(self, X, **settings):
        return honest(self, X, **settings) + (0.01 if settings.get("pred_contrib") else 0.0)

    monkeypatch.setattr(type(model), "predict", off)
    with pytest.raises(InvalidInputError, match="must add up to the prediction, got"):
        tree_shap(model, X[:3])


@pytest.mark.usefixtures("shap")
def test_bad_input_is_one_sentence():
    X = columns()
    with pytest.raises(InvalidInputError, match="must be a fitted tree model, got str"):
        tree_shap("forest", X)
    with pytest.raises(InvalidInputError, match="tree model that shap can read, got Linear"):
        tree_shap(LinearRegression().fit(X, number(X)), X)
    words = X.assign(d=pd.Categorical(np.where(X["d"] > 0, "up", "down")))
    model = boosted_lightgbm(words, number(X))
    with pytest.raises(InvalidInputError, match=r"needs number columns, got \['d'\]"):
        tree_shap(model, words, background=words[:5])


def test_without_shap_one_sentence_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "shap", None)
    X = columns()
    with pytest.raises(MissingPackageError, match=r"'shap'.*sasanet\[shap\]"):
        tree_shap(DecisionTreeRegressor().fit(X, number(X)), X)
    tree_shap(boosted_lightgbm(X, number(X)), X[:2])  # LightGBM needs no shap
