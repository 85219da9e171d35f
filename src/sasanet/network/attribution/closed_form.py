"""Cell vectors in, Shapley values of the set module out, by formula: nothing is learned or drawn.

Let every feature be present with its own probability p_i, independently. The expected value
F(p) = E[v(S)] is Owen's multilinear extension of the game, and along its diagonal

    φ_i = ∫₀¹ ∂F/∂p_i (t, …, t) dt                                              (Owen, 1972; Eq. 2)

∂F/∂p_i at t is what feature i adds to a coalition that holds each other one with probability t: the
position profile φ_{i,k} of Proposition 3.10, with t for the share of features that came before.

- Of rows with few features all coalitions are valued: φ is exact.
- Else F itself is computed: Σ ψ_i over a random coalition is nearly normal, so its mean and
  variance go through the layers of v (:mod:`~sasanet.network.attribution.moment_propagation`). The
  largest cells, which alone could spoil that, are *pinned*: F is the exact mixture over whether
  they are present. One backward pass gives ∂F/∂p_i of all features.
- The integral needs four points: the two ends, which are two values of v, and two inside. A row
  whose φ miss much of its value has a steep profile: there the slopes at the ends are added, from
  the values of all pairs of features, there and taken away.

What the sum of φ misses of v (little) is spread by the length of the cell vectors.

Sizes: B rows, N features, D the length of a cell vector, K outputs, M features followed through the
layers one by one, 4 points of the integral.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from sasanet.network.attribution.moment_propagation import expected_value
from sasanet.network.coalitions import mean_over_positions
from sasanet.network.set_value import SetFunction

# NOTE[DIFF]: the paper learns φ from sampled Δ. For a set function the expectation over orders is
# nearly a formula, closer to the truth than what could be distilled (docs/decisions.md).

_ENUMERATED = 9  # present features: 512 coalitions cost about as much as the formula
_TINY = 1e-12
_INSIDE = 0.5 - math.sqrt(1 / 20)  # Lobatto's points: 0, this, 1 − this, 1; exact to degree 5
_WEIGHTS = (1 / 12, 5 / 12, 5 / 12, 1 / 12)
_DOUBTED = 0.07  # share of Σ|φ| that the four points may miss before a row is looked at again
_WIDE = 64  # features beyond which all pairs are too many
_AGAIN = 0.3  # this and 1 − this: the inner points of the second look
_VECTORS_AT_ONCE = 8_192  # of length D, per tensor: a few megabytes, so that caches help


class ClosedFormAttribution(nn.Module):
    """The Shapley module of the set network: no parameters, nothing to train."""

    cubic: Tensor

    def __init__(self, n_features: int, points: int) -> None:
        super().__init__()
        self.points, self.is_exact = points, n_features <= _ENUMERATED
        shares = torch.linspace(0, 1, points) if points > 1 else torch.tensor([0.5])
        self.register_buffer("cubic", _through_four_points(shares), persistent=False)

    def forward(
        self, function: SetFunction, present: Tensor, vectors: Tensor, ends: Tensor, value: Tensor
    ) -> Tensor:
        """Return profiles whose mean over positions is φ.

        Shape: present [B, N], vectors [B, N, D], ends [B, N, 2, K], value [B, K]
        → [B, N, points, K].
        """
        attributions, four = self.attributions(function, present, vectors, ends, value)
        profile = torch.einsum("bnqk,rq->bnrk", four, self.cubic)
        return profile + (attributions - mean_over_positions(profile, present))[:, :, None]

    def attributions(
        self, function: SetFunction, present: Tensor, vectors: Tensor, ends: Tensor, value: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return φ, and ∂F/∂p_i at the four points: [B, N, K], [B, N, 4, K]."""
        inside = vectors.new_empty(*ends.shape)
        attributions = vectors.new_empty(*ends[:, :, 0].shape)
        few, lengths = present.sum(1) <= _ENUMERATED, vectors.norm(dim=2)
        for rows in _chunks(few, 2**_ENUMERATED):
            inside[rows], attributions[rows] = _compressed(function, present[rows], vectors[rows])
        effort, points = _effort(present.shape[1]), (_INSIDE, 1 - _INSIDE)
        for rows in _chunks(~few, 2 ** (effort.pinned + 1) * effort.followed):
            inside[rows] = expected_growth(function, vectors[rows], points, effort)
        four = torch.cat([ends[:, :, :1], inside, ends[:, :, 1:]], 2)
        integral = torch.einsum("bnqk,q->bnk", four, four.new_tensor(_WEIGHTS))
        for rows in _chunks(_doubted(integral, value) & ~few, present.shape[1] ** 2):
            integral[rows] = second_look(function, vectors[rows], ends[rows])
        integral = _add_up_by_length(integral, value, lengths)
        return torch.where(few[:, None, None], attributions, integral), four


def _chunks(wanted: Tensor, vectors_a_row: int) -> tuple[Tensor, ...]:
    """Return the positions of wanted rows, in parts that keep the vectors of one step in cache."""
    rows = wanted.nonzero()[:, 0]
    return rows.split(max(1, _VECTORS_AT_ONCE // vectors_a_row)) if len(rows) else ()


def _add_up_by_length(attributions: Tensor, value: Tensor, lengths: Tensor) -> Tensor:
    """Spread what is missing to the value in proportion to the length of each cell vector.

    A cell without influence on the sum keeps nothing, and equal cells keep equal attributions.

    Shape: attributions [B, N, K], value [B, K], lengths [B, N] → [B, N, K].
    """
    share = lengths / lengths.sum(1, keepdim=True).clamp_min(_TINY)
    return attributions + share[..., None] * (value - attributions.sum(1))[:, None]


def _through_four_points(shares: Tensor) -> Tensor:
    """Return how the cubic through the four points is read at shares: [R] → [R, 4] (Lagrange)."""
    nodes = (0.0, _INSIDE, 1 - _INSIDE, 1.0)
    columns = []
    for i, node in enumerate(nodes):
        others = [other for j, other in enumerate(nodes) if j != i]
        columns.append(torch.stack([(shares - o) / (node - o) for o in others]).prod(0))
    return torch.stack(columns, 1)


# --- steep profiles: the slopes at both ends ----------------------------------------------------


def _doubted(attributions: Tensor, value: Tensor) -> Tensor:
    """Return which rows have attributions that miss much of the value: [B, N, K], [B, K] → [B]."""
    missing = (value - attributions.sum(1)).abs() > _DOUBTED * attributions.abs().sum(1)
    return missing.any(1) & (attributions.shape[1] <= _WIDE)


def second_look(function: SetFunction, vectors: Tensor, ends: Tensor) -> Tensor:
    """Return φ by a rule that knows the slopes of the profile at both ends too.

    ∫f ≈ 323/2646 (f(0) + f(1)) + 1/252 (f'(0) − f'(1)) + 500/1323 (f(0.3) + f(0.7)) is exact to
    degree 5, as four points are, and for steep profiles f(t) = (1 − t)^m it is off by less than 4 %
    up to m = 17; four points are off by 53 % there, and Gauss's rule of degree 7 by 22 %.

    Shape: vectors [B, N, D], ends [B, N, 2, K] → [B, N, K].
    """
    inside = expected_growth(function, vectors, (_AGAIN, 1 - _AGAIN), Effort(4, 4))
    start, end = end_slopes(function, vectors).unbind(2)
    return ends.sum(2) * (323 / 2646) + (start - end) / 252 + inside.sum(2) * (500 / 1323)


def end_slopes(function: SetFunction, vectors: Tensor) -> Tensor:
    """Return how ∂F/∂p_i starts and ends to change with t, from the values of all pairs.

    At 0 it is Σ_j (v(ij) − v(i) − v(j)), at 1 the same of what is left: Σ_j (v(N) − v(N∖i) − v(N∖j)
    + v(N∖ij)).

    Shape: vectors [B, N, D] → [B, N, 2, K].
    """
    n, total = vectors.shape[1], vectors.sum(1, keepdim=True)
    first, second = torch.triu_indices(n, n, offset=1, device=vectors.device)
    member = torch.zeros(len(first), n, device=vectors.device)
    member.scatter_(1, first[:, None], 1.0).scatter_(1, second[:, None], 1.0)
    pairs = vectors[:, first] + vectors[:, second]
    everything = function.value_of_sums(total)
    found = []
    for single, pair, nothing in (
        (vectors, pairs, torch.zeros_like(everything)),
        (total - vectors, total - pairs, everything),
    ):
        alone, both = function.value_of_sums(single), function.value_of_sums(pair)
        together = both - alone[:, first] - alone[:, second] + nothing
        found.append(torch.einsum("bpk,pn->bnk", together, member))
    return torch.stack(found, 2)


# --- few features: every coalition --------------------------------------------------------------


def _compressed(function: SetFunction, present: Tensor, vectors: Tensor) -> tuple[Tensor, Tensor]:
    """Enumerate the present features only: the absent ones add nothing to any coalition."""
    slots = min(present.shape[1], _ENUMERATED)
    place = present.to(torch.uint8).argsort(dim=1, descending=True, stable=True)[:, :slots]
    taken = torch.gather(vectors, 1, place[..., None].expand(-1, -1, vectors.shape[2]))
    found = enumerated(function, taken)
    results = []
    for part in found:
        whole = part.new_zeros(len(part), present.shape[1], *part.shape[2:])
        index = place.view(*place.shape, *[1] * (part.dim() - 2)).expand_as(part)
        results.append(whole.scatter_(1, index, part))
    return results[0], results[1]


def enumerated(function: SetFunction, vectors: Tensor) -> tuple[Tensor, Tensor]:
    """Return ∂F/∂p_i at the two inner points, and φ (Eq. 2), from the values of all coalitions.

    Shape: vectors [B, N, D] → [B, N, 2, K], [B, N, K].
    """
    n = vectors.shape[1]
    masks = torch.tensor(list(itertools.product([0.0, 1.0], repeat=n)), device=vectors.device)
    values = function.value_of_sums(masks @ vectors)  # [B, 2^N, K]
    # The other features' part of each coalition, [2^N, N]: how many of them are there.
    others = masks.sum(1, keepdim=True) - masks
    sign = 2 * masks - 1
    counts = torch.arange(n, device=vectors.device)
    shapley = torch.tensor([1 / (n * math.comb(n - 1, s)) for s in range(n)], device=vectors.device)
    tables = [t**counts * (1 - t) ** (n - 1 - counts) for t in (_INSIDE, 1 - _INSIDE)]
    found = [
        torch.einsum("bmk,mn->bnk", values, sign * table[others.long()])
        for table in (*tables, shapley)
    ]
    return torch.stack(found[:2], 2), found[2]


# --- many features: mean and variance through the layers ------------------------------------------


class Effort(NamedTuple):
    """How many of the largest cells have both their cases computed, and how many are followed."""

    pinned: int
    followed: int


def _effort(n_features: int) -> Effort:
    """Return how a table's rows are treated; the cost is 2^pinned · followed."""
    return Effort(3 if n_features <= 12 else 2, 16)


def expected_growth(
    function: SetFunction, vectors: Tensor, shares: Sequence[float], effort: Effort
) -> Tensor:
    """Return ∂F/∂p_i where every feature is present with the same probability t.

    F is the mixture over which pinned features are there: F = Σ_c π_c F_c, π_c = Π p or (1 − p). By
    the chance of a pinned feature its gradient is that of π_c; by any other it is, with h for the
    gradient by the mean of the sum, s by its variance and d by the doubt q_i = p_i (1 − p_i) of a
    followed feature, ψ_i·h + (1 − 2t) (ψ_i²·s + d_i).

    Shape: vectors [B, N, D], shares [T] → [B, N, T, K].
    """
    n_pinned, (_, n, width) = effort.pinned, vectors.shape
    squares = vectors.square()
    order = squares.sum(2).topk(min(n, sum(effort)), dim=1).indices
    large = torch.gather(vectors, 1, order[..., None].expand(-1, -1, width))
    pins, followed = large[:, :n_pinned], large[:, n_pinned:]
    case = _cases(vectors.new_tensor(shares), n_pinned)
    t, doubts = case.share[:, None, None], case.share * (1 - case.share)
    mean = t * (vectors.sum(1) - pins.sum(1)) + torch.einsum("cp,bpd->cbd", case.there, pins)
    variance = doubts[:, None, None] * (squares.sum(1) - pins.square().sum(1))
    values, grads = expected_value(function, mean, variance, followed, doubts)
    slant = case.mixture * (1 - 2 * case.share)  # dq/dp
    by_mean = torch.einsum("tc,cbdk->btkd", case.mixture, grads.mean).flatten(1, 2)
    by_variance = torch.einsum("tc,cbdk->btkd", slant, grads.variance).flatten(1, 2)
    growth = vectors @ by_mean.mT + squares @ by_variance.mT
    growth = growth.unflatten(2, (len(shares), -1))
    by_pin = torch.einsum("tc,cp,cbk->bptk", case.mixture, case.by_chance, values)
    by_doubt = torch.einsum("tc,cbmk->bmtk", slant, grads.doubt)
    place = order[..., None, None].expand(-1, -1, *growth.shape[2:])
    growth.scatter_(1, place[:, :n_pinned], by_pin)
    return growth.scatter_add_(1, place[:, n_pinned:], by_doubt)


class _Cases(NamedTuple):
    """Every point t with every way in which P pinned features can be there: C = T·2^P cases."""

    share: Tensor  # t of each case, [C]
    there: Tensor  # which pinned features are there, [C, P]
    mixture: Tensor  # π_c of the cases of each point, [T, C]
    by_chance: Tensor  # ∂ log π_c / ∂p of each pinned feature, [C, P]


def _cases(shares: Tensor, n_pinned: int) -> _Cases:
    ways = shares.new_tensor([*itertools.product([0.0, 1.0], repeat=n_pinned)])
    there, share = ways.repeat(len(shares), 1), shares.repeat_interleave(len(ways))
    chance = there * share[:, None] + (1 - there) * (1 - share[:, None])
    of_point = torch.eye(len(shares), device=shares.device).repeat_interleave(len(ways), 1)
    return _Cases(share, there, of_point * chance.prod(1), (2 * there - 1) / chance)
