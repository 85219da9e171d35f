"""Owen values: what each member adds within its group, while groups come and go as wholes.

Groups are in a random order, and so are the members of each: member i of group g comes after some
whole groups and some members of its own. Let every other group be present with probability t and
every other member of g with probability s; then, as for the Shapley value (:mod:`~.closed_form`),

    ψ_i = ∫₀¹ ∫₀¹ F(t, s; i present) − F(t, s; i absent) dt ds                      (Owen, 1977)

- Groups that are few, with few members, have all their coalitions evaluated: ψ is exact.
- Otherwise the integral takes three points of Gauss in each direction, and F is the expectation
  that :mod:`~.probability` computes, with i pinned.

The members of a group add up to the Shapley value of the group as one player.

Sizes: B rows, N features, P groups, n members of one, E length of a vector, K outputs, T points.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import torch
from torch import Tensor

from sasanet.network.attribution.closed_form import CellBudget, add_up_by_length
from sasanet.network.attribution.probability import LinkedFunction, expected_response

ENUMERATED = 11  # other groups and members: 2,048 coalitions
_BUDGET = CellBudget(2, 12)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(3)
_POINTS = [(1 + node) / 2 for node in _NODES.tolist()]
_SHARES = [weight / 2 for weight in _WEIGHTS.tolist()]
_VECTORS_AT_ONCE = 65_536


def owen_values(
    function: LinkedFunction, vectors: Tensor, membership: Tensor, totals: Tensor
) -> Tensor:
    """Return the Owen value of every feature, which add up to those of their groups.

    Shape: vectors of features [B, N, E] (0 where absent), membership [P, N] bool, totals [B, P, K]
    → [B, N, K].
    """
    found = totals.new_zeros(*vectors.shape[:2], totals.shape[2])
    wholes = torch.einsum("pn,bne->bpe", membership.to(vectors.dtype), vectors)
    for group, own in enumerate(membership):
        members = own.nonzero()[:, 0]
        total = totals[:, group]
        if len(members) == 1:
            found[:, members[0]] = total
            continue
        others = torch.cat([wholes[:, :group], wholes[:, group + 1 :]], 1)
        parts = [
            _within(function, other, mine)
            for other, mine in zip(
                others.split(rows_at_once(others.shape[1], len(members))),
                vectors[:, members].split(rows_at_once(others.shape[1], len(members))),
                strict=True,
            )
        ]
        lengths = vectors[:, members].norm(dim=2).to(total.dtype)
        known = torch.cat(parts).to(total.dtype) * (lengths > 0)[..., None]
        found[:, members] = add_up_by_length(known, total, lengths)
    return found


def rows_at_once(n_others: int, n_members: int) -> int:
    """Return for how many rows the vectors of all coalitions, or cases, fit into memory."""
    cases = 2 * len(_POINTS) ** 2 * 2**_BUDGET.pinned * _BUDGET.followed * n_members
    if n_others + n_members <= ENUMERATED:
        cases = 2 ** (n_others + n_members)
    return max(1, _VECTORS_AT_ONCE // cases)


def _within(function: LinkedFunction, others: Tensor, mine: Tensor) -> Tensor:
    """Return ψ of the members of one group: [B, P − 1, E], [B, n, E] → [B, n, K]."""
    if others.shape[1] + mine.shape[1] <= ENUMERATED:
        return _enumerated(function, others, mine)
    members = [_by_formula(function, others, mine, i) for i in range(mine.shape[1])]
    return torch.stack(members, 1)


def _enumerated(function: LinkedFunction, others: Tensor, mine: Tensor) -> Tensor:
    """Return ψ from all coalitions of groups and members."""
    p, n = others.shape[1], mine.shape[1]
    masks = mine.new_tensor([*itertools.product([0.0, 1.0], repeat=p + n)])
    values = function.value_of_sums(masks @ torch.cat([others, mine], 1))  # [B, 2^(p+n), K]
    before = mine.new_tensor([1 / ((p + 1) * math.comb(p, size)) for size in range(p + 1)])
    among = mine.new_tensor([1 / (n * math.comb(n - 1, size)) for size in range(n)])
    outside, inside = masks[:, :p], masks[:, p:]
    fellows = (inside.sum(1, keepdim=True) - inside).long()
    weights = (2 * inside - 1) * before[outside.sum(1).long()][:, None] * among[fellows]
    return torch.einsum("bmk,mn->bnk", values, weights)


def _by_formula(function: LinkedFunction, others: Tensor, mine: Tensor, member: int) -> Tensor:
    """Return ψ of one member, by nine points of the integral: → [B, K]."""
    pairs = [*itertools.product(range(len(_POINTS)), repeat=2)]
    t = mine.new_tensor([_POINTS[i] for i, _ in pairs])
    s = mine.new_tensor([_POINTS[j] for _, j in pairs])
    weights = mine.new_tensor([_SHARES[i] * _SHARES[j] for i, j in pairs])
    chances = torch.cat(
        [t[:, None].expand(-1, others.shape[1]), s[:, None].expand(-1, mine.shape[1])], 1
    )
    chances = chances[:, None].repeat(1, len(mine), 1)  # [T, B, P − 1 + n]
    vectors = torch.cat([others, mine], 1)
    ends = []
    for present in (1.0, 0.0):
        chances[:, :, others.shape[1] + member] = present
        ends.append(expected_response(function, vectors, chances, _BUDGET))
    return torch.einsum("t,tbk->bk", weights, ends[0] - ends[1])
