"""The baselines: one contract for all of them, on tables of every kind, and that each learns."""

import ast
import inspect
import math

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone

from sasanet import baselines
from sasanet.errors import InvalidInputError, UnknownLevelWarning

SMALL = {  # settings that make a network tiny
    "HarsanyiNet": {"width": 24, "depth": 2},
    "MLP": {"layers": (32,)},
    "NAM": {"layers": (24, 16)},
    "SENN": {"layers": (24,)},
    "SHAPNet": {"width": 4, "hidden": 8},
    "SITE": {"layers": (24,)},
    "SSCN": {"width": 16, "heads": 2},
    "ViaSHAP": {"layers": (32,), "coalitions": 4},
}
SHARED_LINE = ("batch_size", "max_epochs")  # documented together
CLASSIFIERS = [name for name in baselines.__all__ if name.endswith("Classifier")]
REGRESSORS = [name for name in baselines.__all__ if name.endswith("Regressor")]
EXPLAINING = [name for name in baselines.__all__ if not name.startswith("MLP")]


def make(name, **settings):
    """Return a small estimator of that name."""
    method = name.removesuffix("Classifier").removesuffix("Regressor")
    given = {"max_epochs": 2, "random_state": 0} | SMALL[method] | settings
    return getattr(baselines, name)(**given)


def table(n_rows=120, seed=0, missing=0.1):
    """Return numbers, text, truths and missing cells; and a score they decide."""
    random = np.random.RandomState(seed)
    X = pd.DataFrame(
        {
            "age": random.randint(18, 80, n_rows).astype(float),
            "city": random.choice(["Oslo", "Rome", "Bonn"], n_rows),
            "income": random.normal(2000, 500, n_rows),
            "member": random.rand(n_rows) < 0.5,
        }
    )
    score = (X["age"] - 49) / 18 + 2 * (X["city"] == "Rome") - 0.7 + (X["income"] - 2000) / 500
    return X.mask(random.rand(*X.shape) < missing), score.to_numpy()


def labels(name, score, n_classes=2):
    if name in REGRESSORS:
        return 1000 * score
    return np.array(["low", "middle", "high"])[np.digitize(score, [0, 1][: n_classes - 1])]


def raw(model, X):
    return model.decision_function(X) if hasattr(model, "classes_") else model.predict(X)


# --- scikit-learn's contract -------------------------------------------------------------------


@pytest.mark.parametrize("name", baselines.__all__)
def test_every_setting_is_in_the_signature_survives_cloning_and_is_documented(name):
    estimator = getattr(baselines, name)
    signature = inspect.signature(estimator).parameters.values()
    assert all(parameter.kind is parameter.KEYWORD_ONLY for parameter in signature)
    model = make(name, learning_rate=0.5)
    assert clone(model).get_params() == model.get_params()
    described = inspect.getdoc(estimator)
    listed = {
        word.strip() for line in described.splitlines() for word in line.split(" : ")[0].split(",")
    }
    assert set(model.get_params()) <= listed
    for setting, parameter in inspect.signature(estimator).parameters.items():
        if isinstance(parameter.default, int | float | str) and setting not in SHARED_LINE:
            line = next(text for text in described.splitlines() if text.startswith(f"{setting} :"))
            shown = ast.literal_eval(line.split("default=")[1].replace("inf", "1e999"))
            assert shown == parameter.default


@pytest.mark.parametrize("name", baselines.__all__)
def test_a_mixed_table_with_holes_is_learned_and_predicted(name):
    X, score = table()
    y = labels(name, score)
    model = make(name).fit(X, y)
    assert list(model.feature_names_in_) == list(X.columns)
    assert model.predict(X).shape == (120,)
    assert len(model.history_) == 2
    if name in CLASSIFIERS:
        assert set(model.predict(X)) <= set(y)
        np.testing.assert_allclose(model.predict_proba(X).sum(1), 1)
        assert model.predict_proba(X).shape == (120, 2)
    with pytest.warns(UnknownLevelWarning):
        assert len(model.predict(X.assign(city="Paris"))) == 120


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_three_classes_are_told_apart(name):
    X, score = table()
    model = make(name).fit(X, labels(name, score, 3))
    assert model.decision_function(X).shape == model.predict_proba(X).shape == (120, 3)
    if name in EXPLAINING:
        e = model.explain(X)
        assert e.values.shape == (120, 4, 3)
        assert e.output_names == tuple(model.classes_)
        check_additive(e.base_values, e.values, raw(model, X))


@pytest.mark.parametrize("name", ["MLPClassifier", "NAMRegressor", "SITEClassifier"])
def test_arrays_weights_and_own_validation_rows_are_taken(name):
    X, score = table(missing=0)
    X, y = X[["age", "income"]].to_numpy(), labels(name, score)
    weights = np.arange(120) % 3
    model = make(name).fit(X, y, sample_weight=weights, validation=(X[:40], y[:40]))
    assert "validation_loss" in model.history_[0]
    assert np.isfinite(raw(model, X)).all()


@pytest.mark.parametrize("name", baselines.__all__)
def test_rows_without_weight_teach_nothing(name):
    X, score = table(60, missing=0)
    y, weights = labels(name, score), (np.arange(60) % 3 > 0).astype(float)
    other = y.copy()
    other[weights == 0] = y[0]
    settings = {"max_epochs": 1, "batch_size": 60, "validation_fraction": 0}
    first, second, third = (
        raw(make(name, **settings).fit(X, given, sample_weight=w), X)
        for given, w in ((y, weights), (other, weights), (other, None))
    )
    np.testing.assert_array_equal(first, second)
    assert (first != third).any()


@pytest.mark.parametrize("name", baselines.__all__)
def test_one_seed_gives_equal_weights(name):
    X, score = table(60)
    first, second, third = (
        make(name, random_state=seed, max_epochs=1)
        .fit(X, labels(name, score))
        .network_.state_dict()
        for seed in (0, 0, 1)
    )
    assert all(torch.equal(first[key], second[key]) for key in first)
    assert not all(torch.equal(first[key], third[key]) for key in first)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("MLPClassifier", {"layers": (8, 0)}),
        ("MLPClassifier", {"layers": 8}),
        ("MLPClassifier", {"learning_rate": 0}),
        ("NAMClassifier", {"layers": ()}),
        ("NAMClassifier", {"activation": "gelu"}),
        ("NAMClassifier", {"feature_dropout": 1.0}),
        ("NAMClassifier", {"output_penalty": -1}),
        ("SENNClassifier", {"gradient_penalty": "much"}),
        ("SSCNClassifier", {"heads": 3}),
        ("ViaSHAPClassifier", {"coalitions": 0}),
        ("HarsanyiNetClassifier", {"depth": 0}),
        ("SHAPNetClassifier", {"structure": "wide"}),
        ("SITEClassifier", {"prototype_penalty": math.nan}),
    ],
)
def test_a_setting_that_cannot_be_is_named(name, settings):
    X, score = table(40)
    (setting, value) = next(iter(settings.items()))
    with pytest.raises(InvalidInputError, match=f"{setting} must .*got ") as caught:
        make(name, **settings).fit(X, labels(name, score))
    assert repr(value) in str(caught.value)


def test_too_many_pairs_of_columns_are_refused_with_the_way_out():
    X = np.random.RandomState(0).normal(size=(40, 65))
    with pytest.raises(
        InvalidInputError, match="structure must be 'deep' for more than 64 columns"
    ):
        make("SHAPNetRegressor").fit(X, X[:, 0])
    assert make("SHAPNetRegressor", structure="deep").fit(X, X[:, 0]).explain(X).shape == (40, 65)


def test_the_perceptron_refuses_to_explain_and_says_what_does():
    X, score = table(40)
    for name in ("MLPClassifier", "MLPRegressor"):
        with pytest.raises(InvalidInputError, match=r"black box.*sasanet\.posthoc"):
            make(name).fit(X, labels(name, score)).explain(X)


# --- missing cells -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", baselines.__all__)
def test_a_missing_number_is_the_mean_and_a_missing_category_a_level_never_seen(name):
    X, score = table()
    model = make(name, validation_fraction=0).fit(X, labels(name, score))
    holes = X.assign(age=np.nan, city=None)
    with pytest.warns(UnknownLevelWarning):
        filled = raw(model, X.assign(age=X["age"].mean(), city="Paris"))
    np.testing.assert_allclose(raw(model, holes), filled, rtol=1e-4, atol=1e-5)
    assert np.abs(raw(model, holes) - raw(model, X)).max() > 1e-3


def test_columns_of_which_nothing_is_known_do_no_harm():
    X, score = table(40)
    X = X.assign(empty=np.nan, none=pd.Categorical([None] * 40))
    for name in baselines.__all__:
        assert np.isfinite(raw(make(name).fit(X, labels(name, score)), X)).all()


@pytest.mark.parametrize("name", baselines.__all__)
@pytest.mark.parametrize("column", ["age", "city"])
def test_one_column_is_a_table(name, column):
    X, score = table(40)
    model = make(name).fit(X[[column]], labels(name, score))
    if name in EXPLAINING:
        e = model.explain(X[[column]])
        check_additive(e.base_values, e.values, raw(model, X[[column]]))


# --- attributions ------------------------------------------------------------------------------


def check_additive(base, values, prediction):
    """Definition 2.1: f = φ0 + Σφ, up to the rounding of float32."""
    scale = np.abs(values).sum(axis=1).max() + np.abs(base).max()
    np.testing.assert_allclose(base + values.sum(axis=1), prediction, rtol=0, atol=2e-6 * scale)


@pytest.mark.parametrize("name", EXPLAINING)
def test_base_value_and_attributions_add_up_to_the_prediction(name):
    X, score = table()
    model = make(name).fit(X, labels(name, score))
    e = model.explain(X)
    assert e.values.shape == (120, 4)
    assert e.feature_names == tuple(X.columns)
    assert e.units == ("target" if name in REGRESSORS else "log-odds")
    assert len(np.unique(e.base_values)) == 1
    check_additive(e.base_values, e.values, raw(model, X))
    with pytest.raises(AssertionError):
        check_additive(e.base_values, e.values * 1.001, raw(model, X))


# --- learning ----------------------------------------------------------------------------------


def check_learned(name, score, **settings):
    """An additive rule of a number and a category is learned well from 400 rows."""
    X, truth = table(400, missing=0)
    model = make(name, max_epochs=30, **{"learning_rate": 0.01} | settings)
    model.fit(X, labels(name, truth))
    fresh, truth = table(200, seed=1, missing=0)
    assert model.score(fresh, labels(name, truth)) > score


@pytest.mark.parametrize("name", baselines.__all__)
def test_it_learns(name):
    check_learned(name, 0.9)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("NAMClassifier", {"activation": "exu"}),
        ("NAMClassifier", {"activation": "relu"}),
        ("SHAPNetClassifier", {"structure": "shallow"}),
        ("SHAPNetClassifier", {"structure": "deep"}),
    ],
)
def test_it_learns_in_each_of_its_forms(name, settings):
    check_learned(name, 0.9, **settings)


def test_not_learning_is_noticed():
    with pytest.raises(AssertionError):
        check_learned("MLPClassifier", 0.9, learning_rate=1e-9)


def crossed(n_rows, seed):
    """Return a table of which only two columns together say anything."""
    random = np.random.RandomState(seed)
    X = pd.DataFrame({"a": random.normal(size=n_rows), "b": random.choice(["u", "v"], n_rows)})
    return X, (X["a"] > 0) ^ (X["b"] == "u")


@pytest.mark.parametrize("name", [n for n in CLASSIFIERS if not n.startswith(("NAM", "SSCN"))])
def test_interactions_are_learned(name):
    model = make(name, max_epochs=40, learning_rate=0.01)
    if name.startswith("SITE"):
        model.set_params(prototype_penalty=0.1)  # else every prototype is its class's mean
    assert model.fit(*crossed(400, 0)).score(*crossed(200, 1)) > 0.9


def test_an_additive_model_cannot_learn_an_interaction():
    model = make("NAMClassifier", max_epochs=40, learning_rate=0.01)
    assert model.fit(*crossed(400, 0)).score(*crossed(200, 1)) < 0.65
