"""KernelSHAP through shap: exact where all coalitions are drawn, any game, no feature dropped."""

import sys

import numpy as np
import pandas as pd
import pytest

from sasanet import SASANetClassifier
from sasanet.datasets import load_penguins
from sasanet.errors import InvalidInputError, MissingPackageError
from sasanet.posthoc import game_of, marginal_game, shap_kernel_explainer
from sasanet.shapley import exact_shapley

EXACT = 1e-9  # solved by normal equations in float64
FLOAT32 = 1e-6  # the network's own rounding, which differs with the size of a batch


@pytest.fixture
def shap():
    return pytest.importorskip("shap")


def normal(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def smooth(cells):
    """Return a number to which every feature adds, with two interactions."""
    weights = np.arange(1, cells.shape[1] + 1)
    return np.sin(cells) @ weights + cells[:, 0] * cells[:, 1] + cells[:, 2] * cells[:, 3]


def test_it_is_what_shap_says_of_the_same_background(shap):
    X, background = normal(3, 6), normal(20, 6, seed=1)
    explainer = shap.KernelExplainer(smooth, background)
    theirs = explainer.shap_values(X, l1_reg=False, silent=True)
    ours = shap_kernel_explainer(marginal_game(smooth, X, background), X)
    np.testing.assert_allclose(ours.values, theirs, atol=EXACT)
    np.testing.assert_allclose(ours.base_values, explainer.expected_value, atol=EXACT)


@pytest.mark.parametrize("d", [1, 2, 6])
@pytest.mark.usefixtures("shap")
def test_with_all_coalitions_it_is_exact(d):
    table = np.random.default_rng(d).normal(size=(3, 2**d, 2))

    def value(masks):
        return table[:, masks @ 2 ** np.arange(d)]

    e = shap_kernel_explainer(value, normal(3, d), output_names=["no", "yes"])
    np.testing.assert_allclose(e.values, exact_shapley(value, d), atol=EXACT)
    assert e.output_names == ("no", "yes")


def test_no_feature_is_dropped_as_shap_does_by_default(shap):
    X, background = normal(2, 12), normal(10, 12, seed=1)
    game = marginal_game(smooth, X, background)
    truth, spread = exact_shapley(game, 12), np.abs(exact_shapley(game, 12)).max()
    ours = shap_kernel_explainer(game, X, n_coalitions=1000)
    assert np.abs(ours.values - truth).max() < 0.05 * spread
    twin = shap.KernelExplainer(smooth, background).shap_values(X, nsamples=1000, silent=True)
    assert ((twin == 0).sum(axis=1) >= 2).all()  # l1_reg keeps ten of twelve


@pytest.mark.usefixtures("shap")
def test_it_plays_the_game_of_a_model_with_words_and_missing_cells():
    X, y = load_penguins()
    model = SASANetClassifier(random_state=0, max_epochs=1, teacher_weight=0).fit(X, y)
    rows = X[X.isna().any(axis=1)][:3]
    game = game_of(model, rows)
    e = shap_kernel_explainer(game, rows, output_names=model.classes_, units="log-odds")
    np.testing.assert_allclose(e.values, exact_shapley(game, X.shape[1]), atol=FLOAT32)
    np.testing.assert_allclose(e.values[rows.isna().to_numpy()], 0.0, atol=FLOAT32)
    assert np.abs(e.values).max() > 1e3 * FLOAT32


@pytest.mark.usefixtures("shap")
def test_tables_of_words_and_numbers_need_no_codes():
    table = pd.DataFrame({"city": ["Rome", "Oslo", None, "Rome"], "age": [20.0, 30.0, np.nan, 50]})

    def predict(rows):
        return (rows["city"] == "Rome").to_numpy() * rows["age"].fillna(0.0).to_numpy()

    game = marginal_game(predict, table, table)
    e = shap_kernel_explainer(game, table)
    np.testing.assert_allclose(e.values, exact_shapley(game, 2), atol=EXACT)
    np.testing.assert_allclose(e.prediction, predict(table), atol=EXACT)


@pytest.mark.usefixtures("shap")
def test_one_seed_gives_one_result_and_leaves_the_global_generator_alone():
    X, background = normal(2, 12), normal(5, 12, seed=1)
    game = marginal_game(smooth, X, background)
    state = np.random.get_state()[1].copy()  # noqa: NPY002 - the generator shap uses
    first, again, other = (
        shap_kernel_explainer(game, X, 100, random_state=seed) for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(first.values, again.values)
    assert np.abs(first.values - other.values).max() > 1e-6
    assert (np.random.get_state()[1] == state).all()  # noqa: NPY002


@pytest.mark.usefixtures("shap")
def test_a_bar_is_shown_only_when_asked_for(capsys):
    X = normal(1, 3)
    for verbose in (False, True):
        shap_kernel_explainer(lambda masks: masks.sum(axis=1)[None] * 1.0, X, verbose=verbose)
        assert ("KernelSHAP" in capsys.readouterr().err) is verbose


@pytest.mark.usefixtures("shap")
def test_bad_input_is_one_sentence():
    with pytest.raises(InvalidInputError, match="n_coalitions must be an integer of at least 1"):
        shap_kernel_explainer(lambda masks: masks.sum(axis=1), [[1.0, 2.0]], n_coalitions=0)
    with pytest.raises(InvalidInputError, match="value must be a function of masks"):
        shap_kernel_explainer("game", [[1.0, 2.0]])


def test_without_shap_one_sentence_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "shap", None)
    with pytest.raises(MissingPackageError, match=r"'shap'.*sasanet\[shap\]"):
        shap_kernel_explainer(lambda masks: masks.sum(axis=1), [[1.0, 2.0]])
