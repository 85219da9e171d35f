"""One family: every explainer of a game returns an Explanation of the rows, with the same names."""

import inspect
import subprocess
import sys

import numpy as np
import pytest

from people import people, score
from sasanet import Explanation, posthoc
from sasanet.errors import InvalidInputError
from sasanet.posthoc import (
    exact_shap,
    kernel_shap,
    marginal_game,
    permutation_shap,
    shap_kernel_explainer,
)
from sasanet.shapley import exact_shapley, kernel_shapley, permutation_shapley

ROUNDING = 1e-9
OF_GAMES = [exact_shap, permutation_shap, kernel_shap, shap_kernel_explainer]


@pytest.fixture
def rows():
    return people(4)


@pytest.fixture
def game(rows):
    return marginal_game(score, rows, people(20, seed=1))


@pytest.mark.parametrize("explain", OF_GAMES)
def test_every_explainer_of_games_returns_an_explanation_that_adds_up(explain, rows, game):
    if explain is shap_kernel_explainer:
        pytest.importorskip("shap")
    e = explain(game, rows, units="score")
    assert isinstance(e, Explanation)
    np.testing.assert_allclose(e.prediction, score(rows), atol=ROUNDING)
    assert e.feature_names == tuple(rows.columns)
    assert e.units == "score"
    assert (e.error_std is not None) == (explain is permutation_shap)
    if explain is not permutation_shap:  # five features: all coalitions are evaluated
        np.testing.assert_allclose(e.values, exact_shapley(game, 5), atol=ROUNDING)
    twin = explain(marginal_game(score, rows, people(20, seed=2)), rows)  # another game
    assert np.abs(twin.values - e.values).max() > 0.1


@pytest.mark.parametrize("explain", [exact_shap, permutation_shap, kernel_shap])
def test_outputs_get_the_names_given(explain, rows):
    two = marginal_game(lambda t: np.stack([score(t), -score(t)], axis=1), rows, people(9))
    e = explain(two, rows, output_names=["up", "down"])
    assert e.output_names == ("up", "down")
    np.testing.assert_allclose(e.output("up").values, -e.output("down").values, atol=ROUNDING)
    assert explain(two, rows).output_names == ("0", "1")


def test_they_are_the_estimators_of_sasanet_shapley(rows):
    game = marginal_game(lambda t: np.exp(score(t)), rows, people(20, seed=1))
    sampled = permutation_shapley(game, 5, 8, random_state=3)
    e = permutation_shap(game, rows, 8, random_state=3)
    np.testing.assert_array_equal(e.values, sampled.values)
    np.testing.assert_array_equal(e.error_std, sampled.error_std)
    for sampling in ("kernel", "leverage"):
        wanted = kernel_shapley(game, 5, 8, sampling=sampling, random_state=3)
        e = kernel_shap(game, rows, 8, sampling=sampling, random_state=3)
        np.testing.assert_array_equal(e.values, wanted)
    assert np.abs(kernel_shap(game, rows, 8, random_state=4).values - wanted).max() > 1e-3


def test_many_features_get_as_many_coalitions_as_shap_takes():
    X, weights, n_asked = np.zeros((1, 40)), np.arange(40.0), []

    def value(masks):
        n_asked.append(len(masks))
        return (masks @ weights)[None]

    np.testing.assert_allclose(kernel_shap(value, X).values, weights[None], atol=ROUNDING)
    assert sum(n_asked) == 2 * 2 + 2 * 40 + 2048  # the two ends are asked for twice


def test_progress_is_shown_only_when_asked_for(rows, game, capsys):
    for verbose in (False, True):
        permutation_shap(game, rows, 4, verbose=verbose)
        assert ("orders" in capsys.readouterr().err) is verbose


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda X: exact_shap("no game", X), "value must be a function of masks"),
        (lambda _: exact_shap(lambda m: m.sum(1), np.zeros((1, 21))), "from 1 to 20, got 21"),
        (lambda X: permutation_shap(lambda m: m.sum(1), X[:1], 3), "must be even when antithetic"),
        (lambda X: kernel_shap(lambda m: m.sum(1), X[:1], 3), "must be even when paired, got 3"),
        (lambda X: kernel_shap(lambda m: m.sum(1), X[:1], 0), "n_coalitions must be an integer"),
        (lambda X: exact_shap(lambda m: m.sum(1) * 1.0, X), r"shape \(4, 5\) or"),
    ],
)
def test_bad_input_is_one_sentence(call, words, rows):
    with pytest.raises(InvalidInputError, match=words):
        call(rows)


# --- the family as a whole -------------------------------------------------------------------


def test_the_same_arguments_stand_in_the_same_order_everywhere():
    first = {"tree_shap": "model", "lime": "predict", "marginal_game": "predict"}
    order = ["output_names", "units", "random_state", "verbose"]
    for explain in [*OF_GAMES, posthoc.tree_shap, posthoc.lime, marginal_game]:
        given = inspect.signature(explain).parameters
        names = list(given)
        assert names[:2] == [first.get(explain.__name__, "value"), "X"], explain
        shared = [name for name in names if name in order]
        assert shared == [name for name in order if name in shared], explain
        assert names[-len(shared) :] == shared, explain
        assert all(given[name].kind is inspect.Parameter.KEYWORD_ONLY for name in shared), explain


def test_the_family_loads_torch_only_for_fastshap():
    code = (
        "import sys, sasanet.posthoc as p; assert 'FastSHAP' in dir(p); "
        "print('torch' in sys.modules, 'sklearn' in sys.modules); p.FastSHAP; "
        "print('torch' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["False", "False", "True"]
    with pytest.raises(AttributeError, match="no attribute 'lime_weights'"):
        _ = posthoc.lime_weights
