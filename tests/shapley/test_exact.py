"""Exact Shapley values and interactions: known games, axioms, shapes, bad input."""

import itertools
import math

import numpy as np
import pytest

from sasanet.errors import InvalidInputError
from sasanet.shapley import (
    Interactions,
    all_coalitions,
    exact_interactions,
    exact_shapley,
    game_of,
    kernel_shapley,
    permutation_shapley,
    sampled_interactions,
    shapley_weights,
)
from sasanet.shapley import exact as exact_room
from sasanet.shapley import game as game_room

ROUNDING = 1e-12


def table_game(d, n_rows=None, n_outputs=None, seed=0):
    """Return a game of random values, looked up by the bits of a mask."""
    rows = () if n_rows is None else (n_rows,)
    outputs = () if n_outputs is None else (n_outputs,)
    table = np.random.default_rng(seed).normal(size=(*rows, 2**d, *outputs))
    bits = 2 ** np.arange(d)
    return lambda masks: table.take(masks @ bits, axis=len(rows))


def unanimity(team):
    """Return the game that is worth 1 as soon as the whole team is there."""
    return lambda masks: masks[:, list(team)].all(axis=1).astype(float)


# --- Shapley values of known games -----------------------------------------------------------


@pytest.mark.parametrize("team", [(0,), (1, 3), (0, 2, 4), range(6)])
def test_a_unanimity_game_is_shared_by_its_team(team):
    wanted = np.isin(np.arange(6), list(team)) / len(team)
    np.testing.assert_allclose(exact_shapley(unanimity(team), 6), wanted, atol=ROUNDING)


def test_weighted_voting():
    # [4; 3, 2, 1, 1]: of 24 orders the features turn the vote in 12, 4, 4 and 4.
    votes = np.array([3, 2, 1, 1])
    found = exact_shapley(lambda masks: masks @ votes >= 4, 4)
    np.testing.assert_allclose(found, np.array([12, 4, 4, 4]) / 24, atol=ROUNDING)


def test_a_linear_game_gives_its_weights_whatever_the_constant():
    weights = np.random.default_rng(0).normal(size=(3, 7))
    found = exact_shapley(lambda masks: weights @ masks.T + 1e6, 7)
    np.testing.assert_allclose(found, weights, atol=1e-9)  # 1e6 leaves ten digits


@pytest.mark.parametrize("d", [1, 2, 5])
def test_enumeration_agrees_with_a_loop_over_all_orders(d):
    value = table_game(d)

    def v(members):
        return value(np.isin(np.arange(d), members)[None])[0]

    phi = np.zeros(d)
    for order in itertools.permutations(range(d)):
        for k, feature in enumerate(order):
            phi[feature] += v(order[: k + 1]) - v(order[:k])
    np.testing.assert_allclose(exact_shapley(value, d), phi / math.factorial(d), atol=ROUNDING)


def test_coalitions_are_all_there_once_and_weights_add_up():
    masks = all_coalitions(9)
    assert masks.shape == (512, 9)
    assert masks.dtype == bool
    assert (masks @ 2 ** np.arange(9) == np.arange(512)).all()
    counts = [math.comb(8, s) for s in range(9)]
    assert shapley_weights(9) @ counts == pytest.approx(1, abs=ROUNDING)


# --- axioms: every one is broken by exactly one rival ----------------------------------------

D = 5


def banzhaf(value):
    masks = all_coalitions(D)
    v = value(masks)
    index = np.arange(2**D)
    gains = [v[index | 1 << i] - v[index & ~(1 << i)] for i in range(D)]
    return np.mean(gains, axis=1)


def ends(value):
    return value(all_coalitions(D)[[0, -1]])


def total(value):
    return np.diff(ends(value))[0]


def scaled_banzhaf(value):
    return banzhaf(value) * total(value) / banzhaf(value).sum()


def equal_split(value):
    return np.full(D, total(value) / D)


def one_order(value):
    return np.diff(value(np.tri(D + 1, D, -1, dtype=bool)))


def is_efficient(attribute):
    value = table_game(D)
    return np.isclose(attribute(value).sum(), total(value), atol=ROUNDING)


def ignores_null_features(attribute):
    value = table_game(D)
    return np.isclose(attribute(lambda m: value(m & [1, 1, 0, 1, 1]))[2], 0, atol=ROUNDING)


def is_symmetric(attribute):
    value = table_game(D)
    phi = attribute(
        lambda m: value(m) + value(m[:, [3, 1, 2, 0, 4]])
    )  # 0 and 3 in each other's role
    return np.isclose(phi[0], phi[3], atol=ROUNDING)


def is_linear(attribute):
    a, b = table_game(D, seed=1), table_game(D, seed=2)
    both = attribute(lambda m: 2 * a(m) - 3 * b(m))
    return np.allclose(both, 2 * attribute(a) - 3 * attribute(b), atol=ROUNDING)


AXIOMS = (is_efficient, ignores_null_features, is_symmetric, is_linear)


@pytest.mark.parametrize("axiom", AXIOMS)
def test_exact_values_satisfy_the_axioms(axiom):
    assert axiom(lambda value: exact_shapley(value, D))


@pytest.mark.parametrize(
    ("rival", "broken"),
    list(zip((banzhaf, equal_split, one_order, scaled_banzhaf), AXIOMS, strict=True)),
)
def test_each_axiom_is_missed_by_a_rival_that_satisfies_the_others(rival, broken):
    assert [axiom for axiom in AXIOMS if not axiom(rival)] == [broken]


def test_wrong_weights_are_noticed(monkeypatch):
    monkeypatch.setattr(exact_room, "shapley_weights", lambda d: np.full(d, 0.5 ** (d - 1)))
    assert not is_efficient(lambda value: exact_shapley(value, D))


# --- interactions ----------------------------------------------------------------------------


@pytest.mark.parametrize("team", [(1, 3), (0, 2, 4), range(6)])
def test_interactions_of_a_unanimity_game(team):
    found = exact_interactions(unanimity(team), 6)
    inside = np.isin(found.pairs, list(team)).all(axis=1)
    np.testing.assert_allclose(found.values, inside / (len(team) - 1), atol=ROUNDING)
    assert found.error_std is None


def test_a_pairwise_game_shows_its_coefficients_and_null_pairs_are_zero():
    strengths = np.triu(np.random.default_rng(0).normal(size=(6, 6)), 1)
    strengths[:, 4] = strengths[4] = 0
    found = exact_interactions(lambda m: np.einsum("mi,ij,mj->m", m, strengths, m), 6)
    np.testing.assert_allclose(found.values, strengths[np.triu_indices(6, 1)], atol=ROUNDING)


def test_interactions_agree_with_the_formula_written_out():
    d, value = 5, table_game(5)
    found = exact_interactions(value, d, [[3, 1]])
    naive, bits = 0.0, 2 ** np.arange(d)
    v = value(all_coalitions(d))
    for members in itertools.chain.from_iterable(
        itertools.combinations([0, 2, 4], s) for s in range(4)
    ):
        s, low = len(members), bits[list(members)].sum()
        weight = math.factorial(s) * math.factorial(d - s - 2) / math.factorial(d - 1)
        naive += weight * (v[low + 8 + 2] - v[low + 8] - v[low + 2] + v[low])
    assert found.values == pytest.approx([naive], abs=ROUNDING)


def test_interactions_of_a_feature_are_the_difference_of_two_games():
    # I_ij = φ_i of the game with j always there − φ_i of the game without j.
    value, keep = table_game(5), [0, 1, 2, 3]

    def fixed(last):
        return lambda m: value(np.column_stack([m, np.full(len(m), last)]))

    wanted = exact_shapley(fixed(True), 4) - exact_shapley(fixed(False), 4)
    found = exact_interactions(value, 5, [[i, 4] for i in keep])
    np.testing.assert_allclose(found.values, wanted, atol=ROUNDING)


def test_wrong_interaction_weights_are_noticed(monkeypatch):
    monkeypatch.setattr(
        "sasanet.shapley.interactions.shapley_weights", lambda d: np.full(d, 0.5 ** (d - 1))
    )
    assert abs(exact_interactions(unanimity(range(6)), 6).values - 1 / 5).min() > 0.1


def test_interactions_as_a_table():
    found = sampled_interactions(table_game(4, 3, 2), 4, [[0, 1], [2, 3]], n_samples=5)
    frame = found.to_frame(list("abcd"))
    assert list(frame) == ["row", "feature", "other", "interaction", "output", "error_std"]
    line = frame.query("row == 2 and feature == 'c' and output == 1").iloc[0]
    assert line["other"] == "d"
    assert (line["interaction"], line["error_std"]) == (
        found.values[2, 1, 1],
        found.error_std[2, 1, 1],
    )
    assert len(Interactions(found.pairs, found.values[..., 0]).to_frame("abcd")) == 6
    with pytest.raises(InvalidInputError, match="up to position 3, got 2 names"):
        found.to_frame(["a", "b"])


# --- shapes, chunks, models ------------------------------------------------------------------

ESTIMATORS = {
    "exact": exact_shapley,
    "orders": lambda value, d: permutation_shapley(value, d, n_orders=4).values,
    "regression": lambda value, d: kernel_shapley(value, d, n_coalitions=8),
    "interactions": lambda value, d: exact_interactions(value, d, [[0, 1]] * d).values,
    "sampled": lambda value, d: sampled_interactions(value, d, [[0, 1]] * d, 3).values,
}


@pytest.mark.parametrize("estimate", ESTIMATORS.values(), ids=ESTIMATORS)
def test_rows_and_outputs_are_games_of_their_own(estimate):
    value = table_game(4, n_rows=3, n_outputs=2)
    found = estimate(value, 4)
    assert found.shape == (3, 4, 2)
    assert found.dtype == np.float64
    one_output = estimate(lambda m: value(m)[..., 1], 4)
    single = estimate(lambda m: value(m)[2, :, 1], 4)
    np.testing.assert_allclose(one_output, found[..., 1], atol=ROUNDING)
    np.testing.assert_allclose(single, found[2, :, 1], atol=ROUNDING)
    assert estimate(lambda m: value(m)[:0], 4).shape == (0, 4, 2)


@pytest.mark.parametrize("estimate", ESTIMATORS.values(), ids=ESTIMATORS)
def test_small_chunks_change_nothing(estimate, monkeypatch):
    value, asked = table_game(6, n_rows=2), []
    whole = estimate(value, 6)
    monkeypatch.setattr(game_room, "_COALITIONS_AT_ONCE", 7)
    chunked = estimate(lambda m: asked.append(len(m)) or value(m), 6)
    np.testing.assert_allclose(chunked, whole, atol=ROUNDING)
    assert max(asked) <= 7


def test_every_coalition_is_valued_once():
    value, asked = table_game(9), []
    exact_shapley(lambda m: asked.extend(m @ 2 ** np.arange(9)) or value(m), 9)
    assert sorted(asked) == list(range(512))


class LinearModel:
    """Stand in for a fitted model; remembers how much it was asked at once."""

    def __init__(self):
        self.largest = 0

    def value(self, X, coalitions):
        if len(coalitions) == 0:
            return np.zeros(len(X))
        self.largest = max(self.largest, coalitions.size)
        return np.einsum("nd,nmd->nm", X, coalitions)


def test_a_models_game_is_asked_in_bounded_chunks(monkeypatch):
    monkeypatch.setattr(game_room, "_MASK_BYTES", 1_000)
    X, model = np.random.default_rng(0).normal(size=(11, 8)), LinearModel()
    np.testing.assert_allclose(exact_shapley(game_of(model, X), 8), X, atol=ROUNDING)
    assert 500 < model.largest <= 1_000


def test_values_of_a_fitted_model_add_up_to_its_prediction():
    from sasanet import SASANetRegressor

    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    model = SASANetRegressor(random_state=0, max_epochs=1)
    model.fit(X, X[:, 0] * X[:, 1])
    phi = exact_shapley(game_of(model, X[:5]), 4)
    np.testing.assert_allclose(model.base_value_ + phi.sum(1), model.predict(X[:5]), atol=1e-5)


# --- bad input -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda v: exact_shapley(v, 21), "from 1 to 20, got 21; use permutation_shapley"),
        (lambda v: exact_shapley(v, 0), "n_features must be an integer"),
        (lambda v: exact_shapley(v, 4.0), "got 4.0"),
        (lambda v: exact_shapley(v, True), "got True"),
        (lambda v: exact_shapley(v(all_coalitions(4)), 4), "value must be a function.*game_of"),
        (lambda v: exact_shapley(lambda m: v(m)[..., 0].T, 4), "coalitions on the second axis"),
        (lambda v: exact_shapley(lambda m: v(m).sum(), 4), r"got \(\) for m = 2"),
        (lambda v: exact_shapley(lambda m: v(m)[..., : len(m) - 1], 4), "same n and K each time"),
        (lambda v: exact_shapley(lambda m: v(m) / 0, 4), "must return finite numbers"),
        (lambda v: permutation_shapley(v, 4, n_orders=0), "n_orders must be an integer of at"),
        (lambda v: permutation_shapley(v, 4, n_orders=3), "even when antithetic, got 3"),
        (lambda v: permutation_shapley(v, 4, random_state=None), "random_state must be"),
        (lambda v: kernel_shapley(v, 4, 7), "even when paired, got 7"),
        (lambda v: kernel_shapley(v, 4, 0, paired=False), "n_coalitions must be an integer"),
        (lambda v: kernel_shapley(v, 4, 8, sampling="luck"), "got 'luck'"),
        (lambda v: exact_interactions(v, 17), "from 2 to 16, got 17; use sampled_inter"),
        (lambda v: exact_interactions(v, 4, [[0, 4]]), "from 0 to 3 each"),
        (lambda v: exact_interactions(v, 4, [[1, 1]]), "two different positions"),
        (lambda v: exact_interactions(v, 4, [0, 1]), r"shape \(p, 2\)"),
        (lambda v: sampled_interactions(v, 4, [[0.0, 1.0]]), "pairs must be"),
        (lambda v: sampled_interactions(v, 4, n_samples=1), "n_samples must be"),
        (lambda v: game_of(v, np.ones((2, 4))), "model must be a fitted SASANet model"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_bad_input_is_said_in_one_sentence(call, match):
    with pytest.raises(InvalidInputError, match=match):
        call(table_game(4, n_rows=3, n_outputs=2))
