"""Random orders and coalitions, and what the Shapley value computes from them.

Sizes: B rows, N features, P orders. An *order* is a permutation of the features; a *coalition* is a
boolean mask of present features. Absent features are always last in an order.
"""

from __future__ import annotations

import torch
from torch import Tensor


def random_orders(present: Tensor, generator: torch.Generator) -> Tensor:
    """Draw one uniform order per row, absent features last.

    Shape: present [B, N] bool → orders [B, N] long.
    """
    keys = torch.rand(present.shape, generator=generator).to(present.device)
    return torch.argsort(keys.masked_fill(~present, 2.0), dim=1)


def nested_orders(present: Tensor, membership: Tensor, generator: torch.Generator) -> Tensor:
    """Draw orders in which the members of each group stand together, absent features last.

    Shape: present [B, N] bool, membership [P, N] bool → orders [B, N] long.
    """
    of_groups = torch.rand((len(present), len(membership)), generator=generator)
    places = of_groups.argsort(1).argsort(1)[:, membership.long().argmax(0).cpu()]
    keys = places + torch.rand(present.shape, generator=generator)
    last = float(len(membership)) + 1
    return torch.argsort(keys.to(present.device).masked_fill(~present, last), dim=1)


def reverse_orders(orders: Tensor, sizes: Tensor) -> Tensor:
    """Reverse the present part of each order (the antithetic partner).

    A feature at position k (from 0) of m present ones moves to m - 1 - k, so an order and its
    reverse have every pair of features in both sequences: pairwise interactions cancel.

    Shape: orders [B, N], sizes [B] (present features per row) → [B, N].
    """
    place = torch.arange(orders.shape[1], device=orders.device).expand_as(orders)
    mirrored = sizes[:, None] - 1 - place
    return torch.gather(orders, 1, torch.where(mirrored >= 0, mirrored, place))


def positions(orders: Tensor) -> Tensor:
    """Return the position (from 0) of each feature in its order, the inverse permutation.

    Shape: orders [B, N] → [B, N].
    """
    place = torch.arange(orders.shape[1], device=orders.device).expand_as(orders)
    return torch.empty_like(orders).scatter_(1, orders, place)


def by_feature(along_order: Tensor, orders: Tensor) -> Tensor:
    """Rearrange numbers given along an order into feature order.

    Shape: along_order [B, N, K], orders [B, N] → [B, N, K].
    """
    index = orders[..., None].expand_as(along_order)
    return torch.empty_like(along_order).scatter_(1, index, along_order)


def steps_both_ways(ahead: Tensor, behind: Tensor) -> tuple[Tensor, Tensor]:
    """Return the increments of a value along an order and its reverse, in the order's sequence.

    Shape: ahead (the value of the first k + 1 features) and behind (of the others) [B, N, K]
    → two [B, N, K].
    """
    forth = torch.cat([ahead[:, :1], ahead.diff(dim=1)], 1)
    back = torch.cat([ahead[:, -1:] - behind[:, :1], -behind.diff(dim=1)], 1)
    return forth, back


def random_coalitions(present: Tensor, generator: torch.Generator) -> Tensor:
    """Keep each present feature with a probability drawn once per row, uniform on (0, 1).

    All coalition sizes are then equally likely (up to 1/N), as they are in the Shapley value.

    Shape: present [B, N] bool → [B, N] bool.
    """
    keep = torch.rand((present.shape[0], 1), generator=generator)
    kept = torch.rand(present.shape, generator=generator) < keep
    return kept.to(present.device) & present


def kernel_coalitions(present: Tensor, pairs: int, generator: torch.Generator) -> Tensor:
    """Draw coalitions with the probabilities of the Shapley kernel, each with its complement.

    p(S) ∝ 1 / (C(m, s) s (m − s)) for 0 < s < m, where m is the number of present features: first a
    size with probability ∝ 1 / (s (m − s)), then its members at random. Under these probabilities
    the best additive fit of v that sums to v(N) − v(∅) is the Shapley value (Lundberg and Lee,
    2017). With fewer than two present features there is no such S; then all and none are drawn.

    Shape: present [B, N] bool → [B, 2·pairs, N] bool, the complements last.
    """
    n_rows, n_features = present.shape
    m = present.sum(1, keepdim=True).cpu()
    s = torch.arange(1, max(n_features, 2))
    weights = torch.where(s < m, 1 / (s * (m - s)).clamp_min(1), 0.0)
    weights[:, 0].masked_fill_(m[:, 0] < 2, 1.0)
    sizes = 1 + torch.multinomial(weights, pairs, replacement=True, generator=generator)
    keys = torch.rand((n_rows, pairs, n_features), generator=generator)
    keys = keys.masked_fill(~present.cpu()[:, None], 2.0)  # absent features come last
    kept = (keys.argsort(2).argsort(2) < sizes[..., None]).to(present.device) & present[:, None]
    return torch.cat([kept, present[:, None] & ~kept], 1)


def random_prefixes(present: Tensor, orders: Tensor, generator: torch.Generator) -> Tensor:
    """Keep a prefix of each order: all of it with probability 1/2, else a uniform length ≥ 1.

    Marginal contributions along a prefix are valid targets for the attributions of that coalition,
    so φ is trained on subsets at no extra cost.

    Shape: present [B, N] bool, orders [B, N] → [B, N] bool.
    """
    sizes = present.sum(1)
    draws = torch.rand((2, present.shape[0]), generator=generator).to(present.device)
    length = torch.where(draws[0] < 0.5, sizes, (draws[1] * sizes).long() + 1)
    return present & (positions(orders) < length[:, None])


def position_weights(sizes: Tensor, n_features: int, points: int) -> Tensor:
    """Return the weight of each profile point at each position: linear interpolation.

    Position k of a coalition of m features is at k / (m - 1) of the profile, so one profile serves
    coalitions of every size. With as many points as features and a complete row this is the
    identity, the paper's φ_{i,k}.

    Shape: sizes [B] → [B, N, points]; positions beyond the size of the coalition are zero.
    """
    # NOTE[DIFF]: the paper's positions are absolute (φ_{i,k} for k ≤ |S|); ours are relative, so
    # "comes last" means the same for every coalition size, and N outputs are not needed.
    place = torch.arange(n_features, device=sizes.device)
    share = place / (sizes[:, None] - 1).clamp_min(1)
    knots = torch.arange(points, device=sizes.device)
    hats = (1 - (share[..., None] * (points - 1) - knots).abs()).clamp_min(0)
    return hats * (place < sizes[:, None])[..., None]


def mean_over_positions(profiles: Tensor, present: Tensor) -> Tensor:
    """Return φ_i = mean of φ_{i,k} over k ≤ |S| (Lemma 3.9).

    Shape: profiles [B, N, R, K], present [B, N] → [B, N, K].
    """
    sizes = present.sum(1)
    weights = position_weights(sizes, profiles.shape[1], profiles.shape[2]).sum(1)  # [B, R]
    return torch.einsum("bnrk,br->bnk", profiles, weights / sizes[:, None].clamp_min(1))


def read_profiles(profiles: Tensor, place: Tensor, sizes: Tensor) -> Tensor:
    """Return the profile of each feature at its place in the order: φ_{i,k}.

    Shape: profiles [B, N, R, K], place [B, N] (from 0), sizes [B] → [B, N, K].
    """
    weights = position_weights(sizes, place.shape[1], profiles.shape[2])
    at = torch.gather(weights, 1, place[..., None].expand_as(weights))
    return torch.einsum("bnrk,bnr->bnk", profiles, at)


def add_up(attributions: Tensor, total: Tensor, present: Tensor) -> Tensor:
    """Shift the attributions of present features equally so that they sum to the total.

    Absent features get exactly 0. A row without present features is left at 0, which is its total.

    Shape: attributions [B, N, K], total [B, K], present [B, N] → [B, N, K].
    """
    mask = present[..., None].to(attributions.dtype)
    kept = attributions * mask
    gap = (total - kept.sum(1)) / mask.sum(1).clamp_min(1)
    return kept + gap[:, None] * mask
