"""Refined pairs: exact where few are present, never worse than formula or draws elsewhere."""

import numpy as np
import pytest
import torch

from sasanet.network.refinement import pairs
from sasanet.network.refinement.pairs import refined_pairs
from sasanet.shapley import exact_interactions, game_of
from small_models import fitted, rows


def off_diagonal(found):
    first, second = np.triu_indices(found.shape[1], 1)
    return 2 * found[:, first, second]


@pytest.mark.parametrize("kind", ["binary", "classes"])
def test_thirteen_present_features_are_exact(kind):
    model, X = fitted(kind), rows(3)
    true = exact_interactions(game_of(model, X), X.shape[1]).values
    refined = model.interactions(X, n_orders=4)
    np.testing.assert_allclose(off_diagonal(refined), true, atol=1e-5)
    plain = off_diagonal(model.interactions(X))
    assert np.abs(plain - true).max() > 1e-4  # the twin: the formula is close, not exact
    np.testing.assert_allclose(refined.sum(axis=2), model.explain(X).values, atol=1e-9)
    assert (refined == refined.swapaxes(1, 2)).all()


def test_draws_and_formula_are_combined_by_their_errors(monkeypatch):
    monkeypatch.setattr(pairs, "ENUMERATED", 9)  # as if twelve were many
    model, X = fitted("binary"), rows(4)[2:].dropna()
    _, cells = model._encode(X)
    game, found = model._player_game(None), model.interactions(X)
    true = np.zeros_like(found)
    first, second = np.triu_indices(X.shape[1], 1)
    for i, j, values in zip(
        first, second, exact_interactions(game_of(model, X), 12).values.T, strict=True
    ):
        true[:, i, j] = true[:, j, i] = values

    def error(given, **changed):
        for name, value in changed.items():
            monkeypatch.setattr(pairs, name, value)
        refined, _ = refined_pairs(game, cells, torch.from_numpy(given)[..., None], 60)
        return float(np.sqrt(np.square(refined.numpy()[..., 0] - true)[:, first, second].mean()))

    alone = error(true + 1e3)  # so far off that the draws alone count
    noise = np.random.default_rng(0).normal(0, alone, true.shape)
    far = true + (noise + noise.swapaxes(1, 2)) / np.sqrt(2)  # as far off as the draws
    wrong = np.sqrt(np.square(far - true)[:, first, second].mean())
    assert error(far) < min(wrong, alone)  # better than either
    assert error(true) < alone / 5  # a formula that is right is left alone, nearly
    assert error(true, _missed=lambda _: 1e9) > alone / 2  # the twin: draws whatever it says


def test_a_row_alone_is_the_same(monkeypatch):
    monkeypatch.setattr(pairs, "ENUMERATED", 9)
    model, X = fitted("binary"), rows(5)
    whole, alone = model.interactions(X, n_orders=20), model.interactions(X[4:5], n_orders=20)
    np.testing.assert_allclose(alone, whole[4:5], atol=1e-5)
