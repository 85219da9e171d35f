"""Shapley values from elsewhere as an Explanation: names, outputs, and the sum that must hold."""

import numpy as np
import pytest

from people import people, score
from sasanet.errors import InvalidInputError
from sasanet.posthoc import as_explanation, marginal_game
from sasanet.shapley import exact_shapley, permutation_shapley


def test_values_of_another_game_are_refused():
    X = people(4)
    game = marginal_game(score, X, people(20, seed=1))
    other = marginal_game(score, X, people(20, seed=2))
    with pytest.raises(InvalidInputError, match="must add up to the prediction, got"):
        as_explanation(exact_shapley(other, 5), game, X)


def test_a_single_game_is_a_single_row():
    weights = np.array([1.0, 2.0])
    e = as_explanation(weights, lambda masks: masks @ weights, [[0.5, 0.25]])
    np.testing.assert_array_equal(e.values, [[1.0, 2.0]])
    with pytest.raises(InvalidInputError, match=r"shape \(2, 2\) or"):
        as_explanation(weights, lambda masks: masks @ weights, [[0.5, 0.25]] * 2)


def test_outputs_get_the_names_given():
    X = people(2)
    game = marginal_game(lambda t: np.stack([score(t)] * 3, axis=1), X, people(4))
    found = exact_shapley(game, 5)
    assert as_explanation(found, game, X).output_names == ("0", "1", "2")
    named = as_explanation(found, game, X, output_names=["a", "b", "c"])
    assert named.output("b").shape == (2, 5)
    with pytest.raises(InvalidInputError, match="output_names must name 3 outputs"):
        as_explanation(found, game, X, output_names=["a", "b"])


def test_sampled_values_bring_their_standard_errors():
    X = people(3)
    game = marginal_game(score, X, people(10, seed=1))
    found = permutation_shapley(game, 5, n_orders=6)
    np.testing.assert_array_equal(as_explanation(found, game, X).error_std, found.error_std)
    assert as_explanation(found.values, game, X).error_std is None
