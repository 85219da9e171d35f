"""Interactions of pairs closer to the Shapley interaction index than the formula's.

1. Rows with few present players have all their coalitions evaluated: their error is 0.
2. Random coalitions estimate the index of every pair of the others, without bias.
3. Formula f and mean of draws s are combined by their errors: f + (s − f) τ² / (τ² + e²), with e
   the standard error of the draws and τ² what the formula misses, as the draws tell: the mean over
   the pairs of a row of (s − f)² − e². Few draws make nothing worse, many lead to the index.

Sizes: n rows, N features, P players, m present ones, K outputs.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sasanet.arrays import Floats, Masks
from sasanet.network import inference
from sasanet.network.player_game import PlayerGame
from sasanet.shapley.interactions import exact_interactions, sampled_interactions

ENUMERATED = 13  # present players: 8,192 coalitions of a row
_POOLED, _CAUTION = 10, 2.0
_TINY = 1e-60
_VALUES_AT_ONCE = 16_384


def refined_pairs(
    game: PlayerGame, cells: Tensor, found: Tensor, n_samples: int
) -> tuple[Tensor, Tensor]:
    """Return the interaction index of all pairs, and standard errors: two [n, P, P, K].

    Shape: cells [n, N], found (the formula's) [n, P, P, K] float64.
    """
    values, errors = found.clone(), torch.zeros_like(found)
    present = game.present(cells).numpy()
    for row in range(len(cells)):
        players = np.flatnonzero(present[row])
        if len(players) < 2:
            continue
        known = _pairs_of(found[row], players)
        better, spread = _refined(game, cells[row : row + 1], players, known, n_samples)
        for into, numbers in ((values, better), (errors, spread)):
            _put(into[row], players, numbers)
    return values, errors


def _refined(
    game: PlayerGame, cells: Tensor, players: Any, known: Floats, n_samples: int
) -> tuple[Floats, Floats]:
    """Return the pairs of one row and their standard errors: known [p, K] → two [p, K]."""
    value = _value(game, cells, players)
    if len(players) <= ENUMERATED:
        exact = np.asarray(exact_interactions(value, len(players)).values)[0]
        return exact, np.zeros_like(exact)
    seed = zlib.crc32(cells.numpy().tobytes())  # of what it holds: the same alone and among others
    drawn = sampled_interactions(value, len(players), None, n_samples, seed)
    assert drawn.error_std is not None
    variance, difference = np.square(drawn.error_std[0]), drawn.values[0] - known
    # Few draws hardly know their own spread: that of all pairs counts like ten more.
    pooled = variance.mean(axis=0, keepdims=True)
    variance = (variance * (n_samples - 1) + pooled * _POOLED) / (n_samples - 1 + _POOLED)
    missed = _missed(np.square(difference) - variance)
    weight = missed / (missed + variance + _TINY)
    return known + weight * difference, np.sqrt(weight * variance)


def _missed(excess: Floats) -> Floats:
    """Return τ², cautiously: its mean over pairs less two standard errors, at least 0."""
    doubt = excess.std(axis=0) / np.sqrt(len(excess))
    return np.asarray(np.maximum(excess.mean(axis=0) - _CAUTION * doubt, 0.0))


def _value(game: PlayerGame, cells: Tensor, players: Any) -> Any:
    """Return v of coalitions of one row's present players: (s, m) → (1, s, K)."""
    n_players = len(game.membership)

    def value(masks: Masks) -> Floats:
        wide = torch.zeros(len(masks), n_players, dtype=torch.bool)
        wide[:, torch.from_numpy(players)] = torch.from_numpy(np.asarray(masks))
        parts = wide.split(_VALUES_AT_ONCE)
        found = [inference.coalition_outputs(game, cells, part[None]) for part in parts]
        return torch.cat(found, 1).numpy()

    return value


def _pairs_of(found: Tensor, players: Any) -> Floats:
    """Return the pairs i < j of some players: [P, P, K] → [p, K]."""
    first, second = np.triu_indices(len(players), 1)
    return np.asarray(found.numpy()[players[first], players[second]])


def _put(into: Tensor, players: Any, pairs: Floats) -> None:
    first, second = (players[side] for side in np.triu_indices(len(players), 1))
    numbers = torch.from_numpy(pairs)
    into[first, second] = numbers
    into[second, first] = numbers
