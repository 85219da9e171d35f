"""All pairs by formula are the Shapley interactions of the model's own game."""

import numpy as np
import pytest

from sasanet.errors import InvalidInputError
from sasanet.shapley import exact_interactions, game_of
from small_models import fitted, r2, rows

KINDS = ["binary", "members", "classes", "number"]


@pytest.mark.parametrize("kind", KINDS)
def test_pairs_are_close_to_enumeration(kind):
    model, X = fitted(kind), rows(6)
    found, true = model.interactions(X), exact_interactions(game_of(model, X), X.shape[1])
    first, second = true.pairs.T
    assert r2(2 * found[:, first, second], true.values) > 0.99
    assert r2(found[:, first, second], true.values) < 0.8  # the twin: one half of each


@pytest.mark.parametrize("kind", KINDS)
def test_nine_features_or_fewer_are_exact(kind):
    model, X = fitted(kind), rows(6)
    X.iloc[:, 7:] = np.nan  # seven at most
    found, true = model.interactions(X), exact_interactions(game_of(model, X), X.shape[1])
    first, second = true.pairs.T
    np.testing.assert_allclose(2 * found[:, first, second], true.values, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_lines_sum_to_attributions_and_pairs_are_symmetric(kind):
    model, X = fitted(kind), rows()
    found, e = model.interactions(X), model.explain(X)
    np.testing.assert_allclose(found.sum(axis=2), e.values, atol=1e-9)
    np.testing.assert_allclose(found.sum(axis=(1, 2)) + e.base_values, e.prediction, atol=1e-9)
    assert (found == found.swapaxes(1, 2)).all()
    diagonal = np.einsum("nii...->ni...", found)
    with pytest.raises(AssertionError):  # the twin: without its diagonal a line falls short
        np.testing.assert_allclose(found.sum(axis=2) - diagonal, e.values, atol=1e-9)


def test_missing_cells_interact_with_nothing():
    X = rows()
    found = fitted("binary").interactions(X)
    gone = X.isna().to_numpy()
    assert (found[gone] == 0).all()
    assert (found[~gone] != 0).any(axis=1).all()


def test_a_row_alone_is_the_same():
    model, X = fitted("binary"), rows()
    np.testing.assert_allclose(model.interactions(X[3:4]), model.interactions(X)[3:4], atol=1e-6)


def test_groups_interact_as_players():
    model, X = fitted("binary"), rows(6)
    names = list(X.columns)
    groups = {"front": names[:4], "back": names[8:]}
    found = model.interactions(X, groups=groups)
    assert found.shape == (6, 6, 6)

    def value(masks):
        return model.value(X, np.broadcast_to(masks, (len(X), *masks.shape)), groups=groups)

    true = exact_interactions(value, 6)
    first, second = true.pairs.T
    np.testing.assert_allclose(2 * found[:, first, second], true.values, atol=1e-5)
    np.testing.assert_allclose(found.sum(axis=2), model.explain(X, groups=groups).values, atol=1e-9)


def test_the_sequence_network_has_none():
    with pytest.raises(InvalidInputError, match="need the set network"):
        fitted("sequence").interactions(rows())
