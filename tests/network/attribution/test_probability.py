"""E[σ(v)], or E[exp(v)], over random coalitions and its growth, against means over all of them."""

import itertools

import torch
from torch import nn

from sasanet.network.attribution.closed_form import CellBudget
from sasanet.network.attribution.probability import (
    Link,
    LinkedFunction,
    expected_growth,
)
from sasanet.network.set_value import SetFunction


def make(n_outputs, members=1, n=8, width=16, is_rate=False):
    """Return a random game of probabilities, or of a rate, and the vectors of its players."""
    generator = torch.Generator().manual_seed(n_outputs + members)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        rho = nn.Sequential(nn.ReLU(), nn.Linear(width, 24), nn.ReLU(), nn.Linear(24, n_outputs))
    for parameter in rho.parameters():
        parameter.requires_grad_(False).mul_(1 if is_rate else 2)
    bias = torch.randn(members, width, generator=generator)
    base = torch.randn(n_outputs, generator=generator)
    vectors = torch.randn(4, n, members * width, generator=generator)
    return LinkedFunction(SetFunction(rho, bias, 9.0), Link(base, is_rate)), vectors


def by_enumeration(function, vectors, share):
    """Return ∂F/∂p_i as the mean gain over all coalitions of the others: [B, P, K]."""
    n = vectors.shape[1]
    masks = torch.tensor([*itertools.product([0.0, 1.0], repeat=n)])
    values = function.value_of_sums(masks @ vectors)
    others = masks.sum(1, keepdim=True) - masks
    weight = (2 * masks - 1) * share**others * (1 - share) ** (n - 1 - others)
    return torch.einsum("bmk,mp->bpk", values, weight)


def close(found, true):
    return 1 - ((found - true) ** 2).sum() / ((true - true.mean()) ** 2).sum()


def test_growth_is_near_the_mean_gain_over_all_coalitions():
    for n_outputs, members, is_rate in ((1, 1, False), (1, 3, False), (4, 1, False), (1, 1, True)):
        function, vectors = make(n_outputs, members, is_rate=is_rate)
        found = expected_growth(function, vectors, (0.3, 0.7), CellBudget(3, 16))
        true = torch.stack([by_enumeration(function, vectors, t) for t in (0.3, 0.7)], 2)
        assert close(found, true) > 0.98
        assert close(found.flip(2), true) < 0.97  # the twin: the points changed over


def test_with_all_players_pinned_it_is_exact():
    for n_outputs, is_rate in ((1, False), (4, False), (1, True)):
        function, vectors = make(n_outputs, n=5, is_rate=is_rate)
        found = expected_growth(function, vectors, (0.4,), CellBudget(5, 0))[:, :, 0]
        torch.testing.assert_close(found, by_enumeration(function, vectors, 0.4), atol=1e-4, rtol=0)


def test_no_output_changes_no_probability():
    for n_outputs in (1, 3):
        base = torch.randn(n_outputs, dtype=torch.float64)
        assert (Link(base).gained(torch.zeros(2, n_outputs).double()) == 0).all()
        assert (Link(base[:1]).gained(torch.ones(2, 1).double()) > 0).all()
    assert (Link(base[:1], True).gained(torch.zeros(2, 1).double()) == 0).all()
