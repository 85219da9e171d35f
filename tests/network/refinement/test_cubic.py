"""The Shapley values of the fitted games are those that enumeration finds."""

import numpy as np
import torch

from sasanet.network.refinement import cubic
from sasanet.shapley import exact_shapley


def setup():
    directions = torch.randn(2, 3, 6, generator=torch.Generator().manual_seed(0)).double()

    def value(masks):
        signs = 2 * torch.from_numpy(masks).double() - 1
        return cubic.games(signs.expand(2, -1, -1), directions).numpy()

    return directions, value


def test_shapley_values_are_those_of_enumeration():
    directions, value = setup()
    found = cubic.shapley_values(directions)
    assert found.shape == (2, 6, 13)
    np.testing.assert_allclose(found, exact_shapley(value, 6), atol=1e-12)
    wrong = found.roll(1, 1)
    assert not np.allclose(wrong, exact_shapley(value, 6), atol=1e-3)


def test_the_sizes_between_the_ends_add_the_rest():
    """By the definition: Σ over sizes of the mean of û(S) w(S)."""
    directions, value = setup()
    masks = (np.arange(64)[:, None] >> np.arange(6)) & 1 > 0
    sizes, values = masks.sum(1), value(masks)
    expected = np.zeros((2, 6, 13))
    for s in range(2, 5):
        of_size = masks[sizes == s]
        weight = np.where(of_size, 1 / s, -1 / (6 - s))
        expected += np.einsum("bpf,pm->bmf", values[:, sizes == s], weight) / len(of_size)
    np.testing.assert_allclose(cubic.shapley_between_the_ends(directions), expected, atol=1e-12)


def test_more_pairs_pay_for_more_directions():
    found = [cubic.number_of_directions(pairs, 30) for pairs in (64, 200, 500, 2_048)]
    assert found == sorted(found)
    assert found[0] < found[-1] == 8
