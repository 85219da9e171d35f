"""Games whose Shapley values are known: odd polynomials of a few weighted sums of the players.

With z_i = 1 for a present player and −1 for an absent one, p_a = Σ_i d_ai z_i for some directions
d_a. The games here are p_a and p_a p_b p_c. The first direction is (1, …, 1)/m, so that among them
are functions of the size of a coalition and players whose influence changes with the size.

A product of three different z has Shapley values of ⅔ (it grows from −1 to 1, and its players are
alike), a single z has 2; z_i² = 1. So, with ⟨u, v⟩ = Σ u_i v_i and sums U, V, W,

    φ_i(p_u p_v p_w) = ⅔ Σ_{(u; v, w)} u_i [(V − v_i)(W − w_i) − ⟨v, w⟩ + v_i w_i]
                       + 2 Σ_{(u; v, w)} u_i (⟨v, w⟩ − v_i w_i)  +  2 u_i v_i w_i

where each of the three takes the place of u once: triples of three different players, those of two
equal ones, and those of three.

Sizes: B rows, m players, R directions, F games, P coalitions.
"""

from __future__ import annotations

import itertools
from functools import lru_cache

import torch
from torch import Tensor

PAIRS_PER_GAME = 5  # what it takes to fit one


def number_of_directions(pairs: int, n_players: int) -> int:
    """Return how many directions, besides that of the size, so many pairs can pay for."""
    most = min(8, n_players - 1)
    return max(r for r in range(0, most + 1, 2) if _number(r + 1) * PAIRS_PER_GAME <= pairs)


def _number(directions: int) -> int:
    return directions + directions * (directions + 1) * (directions + 2) // 6


def _triples(directions: int, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    first, second, third = _listed(directions).to(device)
    return first, second, third


@lru_cache(maxsize=32)
@torch.inference_mode(False)
def _listed(directions: int) -> Tensor:
    return torch.tensor([*itertools.combinations_with_replacement(range(directions), 3)]).T


def games(signs: Tensor, directions: Tensor) -> Tensor:
    """Return the value of every game: z [B, P, m], directions [B, R, m] → [B, P, F]."""
    sums = signs @ directions.mT
    a, b, c = _triples(directions.shape[1], directions.device)
    return torch.cat([sums, sums[..., a] * sums[..., b] * sums[..., c]], 2)


def shapley_values(directions: Tensor) -> Tensor:
    """Return the Shapley values of every game: [B, R, m] → [B, m, F]."""
    columns, totals = directions.mT, directions.sum(2)
    products = directions @ columns  # ⟨d_a, d_b⟩
    triples = _triples(directions.shape[1], directions.device)
    u, v, w = (columns[..., index] for index in triples)  # [B, m, triples]
    found = 2 * u * v * w
    for one, two, three in itertools.permutations(range(3)):
        if two > three:  # the other two are not told apart
            continue
        first, second, third = (columns[..., triples[k]] for k in (one, two, three))
        equal = products[:, triples[two], triples[three]][:, None] - second * third
        rest = totals[:, triples[two]][:, None] - second
        also = totals[:, triples[three]][:, None] - third
        found = found + first * ((rest * also - equal) * (2 / 3) + 2 * equal)
    return torch.cat([2 * columns, found], 2)


def shapley_between_the_ends(directions: Tensor) -> Tensor:
    """Return what sizes 2 … m − 2 add to the Shapley values of every game: → [B, m, F].

    These are the Shapley values less what the empty, the single and the complementary coalitions
    add (:func:`of_single_players`).
    """
    m = directions.shape[2]
    identity = torch.eye(m, dtype=directions.dtype, device=directions.device)
    alone = games((2 * identity - 1).expand(len(directions), -1, -1), directions)
    everything = games(torch.ones_like(alone[:, :1, :1]).expand(-1, 1, m), directions)
    return shapley_values(directions) - 2 * everything / m - of_single_players(alone)


def of_single_players(alone: Tensor) -> Tensor:
    """Return what coalitions of 1 and of m − 1 players add to the Shapley values of an odd game.

    Shape: its values of single players [B, m, F] → [B, m, F].
    """
    m = alone.shape[1]
    others = (alone.sum(1, keepdim=True) - alone) / (m - 1)
    return (alone - others) * (2 / m)
