"""The marginal game of any predict function, by brute force."""

import numpy as np
import pandas as pd
import pytest

from people import people, score
from sasanet.errors import InvalidInputError
from sasanet.posthoc import exact_shap, marginal_game
from sasanet.posthoc.black_box import BlackBox
from sasanet.shapley import all_coalitions

ROUNDING = 1e-12


def brute_force(predict, X, background, masks):
    """Return v(S) by one table a row and coalition, cell by cell."""
    found = np.empty((len(X), len(masks)))
    for i in range(len(X)):
        for m, mask in enumerate(masks):
            mixed = background.copy()
            for j, known in enumerate(mask):
                if known:
                    mixed[X.columns[j]] = X.iloc[[i] * len(background), j].array
            found[i, m] = predict(mixed).mean()
    return found


def test_it_is_the_mean_over_background_rows_of_mixed_tables():
    X, background = people(4), people(30, seed=1)
    masks = all_coalitions(5)
    wanted = brute_force(score, X, background, masks)
    np.testing.assert_allclose(marginal_game(score, X, background)(masks), wanted, atol=ROUNDING)
    other = marginal_game(score, X, people(30, seed=2))(masks)  # the twin: other rows behind
    assert np.abs(other - wanted).max() > 0.1


def test_chunks_do_not_change_it(monkeypatch):
    X, background, masks = people(4), people(7, seed=1), all_coalitions(5)
    whole = marginal_game(score, X, background)(masks)
    sizes = []

    def watched(table):
        sizes.append(len(table))
        return score(table)

    monkeypatch.setattr("sasanet.posthoc.interventional.CELLS_AT_ONCE", 5 * 7 * 3)
    np.testing.assert_array_equal(marginal_game(watched, X, background)(masks), whole)
    assert max(sizes) == 7 * 3


def test_several_outputs_stand_last():
    X, background = people(3), people(9, seed=1)
    game = marginal_game(lambda t: np.stack([score(t), -2 * score(t)], axis=1), X, background)
    found = exact_shap(game, X).values
    assert found.shape == (3, 5, 2)
    one = exact_shap(marginal_game(score, X, background), X).values
    np.testing.assert_allclose(found, np.stack([one, -2 * one], axis=2), atol=ROUNDING)


def test_the_background_is_drawn_once_by_the_seed():
    X, background, masks = people(2), people(200, seed=1), all_coalitions(5)[:4]
    games = [marginal_game(score, X, background, 20, random_state=seed) for seed in (0, 0, 1)]
    found = [game(masks) for game in games]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], games[0](masks))
    assert np.abs(found[0] - found[2]).max() > 1e-3


def test_a_model_of_arrays_gets_arrays_and_one_of_tables_tables():
    seen = []

    def predict(table):
        seen.append(table)
        return np.zeros(len(table))

    cells = np.arange(6.0).reshape(2, 3)
    marginal_game(predict, cells, cells)(np.ones((1, 3), dtype=bool))
    marginal_game(predict, people(2), people(3))(np.ones((1, 5), dtype=bool))
    assert isinstance(seen[0], np.ndarray)
    assert seen[0].dtype == float
    assert seen[1].dtypes.equals(people(2).dtypes)


def test_categories_with_other_levels_stay_categories():
    X = pd.DataFrame({"size": pd.Categorical(["XL"], categories=["S", "XL"])})
    background = pd.DataFrame({"size": pd.Categorical(["S", "M"], categories=["M", "S"])})
    box = BlackBox(lambda table: np.zeros(len(table)), X, background)
    mixed = box.mixed(np.array([[0], [1], [2]]))
    assert mixed["size"].tolist() == ["XL", "S", "M"]
    assert isinstance(mixed["size"].dtype, pd.CategoricalDtype)


def test_the_background_may_have_its_columns_in_another_order():
    X, background, masks = people(3), people(9, seed=1), all_coalitions(5)
    wanted = marginal_game(score, X, background)(masks)
    turned = background[background.columns[::-1]]
    np.testing.assert_array_equal(marginal_game(score, X, turned)(masks), wanted)


@pytest.mark.parametrize(
    ("predict", "background", "words"),
    [
        ("no function", people(3), "must be a function of a table, got str"),
        (score, people(3).drop(columns="age"), "must have the columns of X"),
        (lambda t: np.zeros((len(t), 1, 1)), people(3), r"\(m,\) or \(m, K\), got"),
        (lambda t: np.zeros(len(t) + 1), people(3), "one prediction"),
        (lambda t: np.full(len(t), np.nan), people(3), "finite numbers, got"),
    ],
)
def test_bad_input_is_one_sentence(predict, background, words):
    with pytest.raises(InvalidInputError, match=words):
        marginal_game(predict, people(2), background)(np.ones((1, 5), dtype=bool))


def test_no_background_rows_are_refused():
    with pytest.raises(InvalidInputError, match="n_background must be an integer of at least 1"):
        marginal_game(score, people(2), people(3), n_background=0)


def test_a_bar_is_shown_only_when_asked_for(capsys):
    for verbose in (False, True):
        game = marginal_game(score, people(2), people(3), verbose=verbose)
        game(np.ones((1, 5), dtype=bool))
        assert ("marginal game" in capsys.readouterr().err) is verbose
