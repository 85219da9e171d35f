"""Shapley interactions of all pairs of players of a set function, by formula.

The Shapley interaction index of two players is what they add together beyond what each adds alone,
along the diagonal of the multilinear extension F of the game (:mod:`~.closed_form`):

    I_ij = ∫₀¹ ∂²F/∂p_i∂p_j (t, …, t) dt                              (Grabisch and Roubens, 1999)

- For rows with few players all coalitions are evaluated: I is exact.
- Otherwise the integral takes the same four points as that of φ. At both ends ∂²F/∂p_i∂p_j is a
  difference of four values of v. Inside, player i is pinned: ∂²F/∂p_i∂p_j is the growth by j where
  i is present minus the growth by j where i is absent.

Sizes: B rows, P players, D the length of a vector, K outputs, T points.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from sasanet.network.attribution.closed_form import (
    INSIDE,
    WEIGHTS,
    CellBudget,
    chunks,
    expected_growth,
    is_enumerated,
    present_first,
)
from sasanet.network.set_value import SetFunction

_BUDGET = CellBudget(2, 16)


@dataclass(frozen=True)
class _Shifted(SetFunction):
    """The same function when some players are present in any case: their sum is in the bias."""

    rho_of_nothing: Tensor = field(kw_only=True)  # ρ(b) of the function itself, [K]

    @cached_property
    def origin(self) -> Tensor:
        """ρ of nothing: [K]."""
        return self.rho_of_nothing


def pair_interactions(function: SetFunction, present: Tensor, vectors: Tensor) -> Tensor:
    """Return I_ij of all pairs, 0 on the diagonal and where a player is absent.

    Shape: present [B, P], vectors [B, P, D] → [B, P, P, K], symmetric.
    """
    n_rows, n = present.shape
    n_outputs = function.origin.shape[-1]
    found = vectors.new_zeros(n_rows, n, n, n_outputs)
    few = torch.tensor([is_enumerated(int(size)) for size in present.sum(1)], dtype=torch.bool)
    few = few.to(vectors.device)
    for rows in chunks(few, 512):
        found[rows] = _of_few(function, present[rows], vectors[rows])
    for rows in chunks(~few, 2 * n * 2 ** (_BUDGET.pinned + 1) * _BUDGET.followed):
        found[rows] = _by_formula(function, vectors[rows])
    both = present[:, :, None] & present[:, None] & ~torch.eye(n, dtype=torch.bool).to(present)
    # Either of the two may be the pinned one: their mean is more accurate, and symmetric.
    return (found + found.transpose(1, 2)) / 2 * both[..., None]


def _of_few(function: SetFunction, present: Tensor, vectors: Tensor) -> Tensor:
    """Enumerate coalitions of present players only: [B, P, D] → [B, P, P, K]."""
    place, taken = present_first(present, vectors)
    part = enumerated_pairs(function, taken)
    whole = part.new_zeros(len(part), *[present.shape[1]] * 2, part.shape[-1])
    rows = torch.arange(len(part), device=part.device)[:, None, None]
    whole[rows, place[:, :, None], place[:, None]] = part
    return whole


def enumerated_pairs(function: SetFunction, vectors: Tensor) -> Tensor:
    """Return I_ij from the values of all coalitions: [B, P, D] → [B, P, P, K].

    I_ij = Σ_{S ⊆ N∖{i,j}} s! (n − s − 2)! / (n − 1)! · [v(S∪ij) − v(S∪i) − v(S∪j) + v(S)].
    """
    n = vectors.shape[1]
    masks = torch.tensor([*itertools.product([0.0, 1.0], repeat=n)], device=vectors.device)
    values = function.value_of_sums(masks @ vectors)  # [B, 2^P, K]
    sign = 2 * masks - 1
    others = masks.sum(1)[:, None, None] - masks[:, :, None] - masks[:, None]
    sizes = range(max(1, n - 1))
    weights = vectors.new_tensor([1 / (max(1, n - 1) * math.comb(max(0, n - 2), s)) for s in sizes])
    weight = sign[:, :, None] * sign[:, None] * weights[others.long().clamp(0, len(sizes) - 1)]
    return torch.einsum("bmk,mij->bijk", values, weight)


def _by_formula(function: SetFunction, vectors: Tensor) -> Tensor:
    """Return I_ij by four points of the integral: [B, P, D] → [B, P, P, K]."""
    first, last = _ends_of_pairs(function, vectors).unbind(3)
    inside = _growth_of_growth(function, vectors).unbind(3)
    four = first, *inside, last
    return sum((weight * part for weight, part in zip(WEIGHTS, four, strict=True)), torch.zeros(()))


def _ends_of_pairs(function: SetFunction, vectors: Tensor) -> Tensor:
    """Return what a pair adds together when it comes first and last: → [B, P, P, 2, K]."""
    pairs, total = vectors[:, :, None] + vectors[:, None], vectors.sum(1, keepdim=True)
    value = function.value_of_sums
    alone, without = value(vectors), value(total - vectors)
    first = value(pairs) - alone[:, :, None] - alone[:, None]
    last = value(total[:, None] - pairs) - without[:, :, None] - without[:, None]
    return torch.stack([first, last + value(total)[:, None]], 3)


def _growth_of_growth(function: SetFunction, vectors: Tensor) -> Tensor:
    """Return ∂²F/∂p_i∂p_j at the two inner points: [B, P, D] → [B, P, P, 2, K].

    Which of the two is pinned makes a small difference: see :func:`pair_interactions`.
    """
    n_rows, n = vectors.shape[:2]
    others = vectors[:, None] * (1 - torch.eye(n, device=vectors.device))[None, ..., None]
    others, pinned = others.flatten(0, 1), vectors.flatten(0, 1)  # [B·P, P, D], [B·P, D]
    points = INSIDE, 1 - INSIDE
    bias, nothing = function.bias + pinned, function.origin
    shifted = _Shifted(function.rho, bias, function.cap, function.ladder, rho_of_nothing=nothing)
    found = expected_growth(shifted, others, points, _BUDGET)
    found -= expected_growth(function, others, points, _BUDGET)
    return found.unflatten(0, (n_rows, n))
