"""Refined pairs: exact where few are present, never worse than formula or draws elsewhere."""

import numpy as np
import pytest

from sasanet.network.refinement import pairs
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


def test_with_more_features_draws_and_formula_are_combined(monkeypatch):
    monkeypatch.setattr(pairs, "ENUMERATED", 9)  # as if twelve were many
    model, X = fitted("binary"), rows(4)[2:]
    true = exact_interactions(game_of(model, X), X.shape[1]).values

    def error(found):
        return float(np.sqrt(np.square(off_diagonal(found) - true).mean()))

    plain, few = error(model.interactions(X)), error(model.interactions(X, n_orders=8))
    many = error(model.interactions(X, n_orders=600))
    assert few < 1.1 * plain
    assert many < 0.9 * plain
    monkeypatch.setattr(pairs, "_TINY", 1e9)  # the twin: no weight for the draws
    assert error(model.interactions(X, n_orders=600)) == pytest.approx(plain)


def test_a_row_alone_is_the_same(monkeypatch):
    monkeypatch.setattr(pairs, "ENUMERATED", 9)
    model, X = fitted("binary"), rows(5)
    whole, alone = model.interactions(X, n_orders=20), model.interactions(X[4:5], n_orders=20)
    np.testing.assert_allclose(alone, whole[4:5], atol=1e-5)
