"""Interactions of pairs against those of the model's own game: enumerated, or by random coalitions.

Sizes: n rows, P players, p pairs, m coalitions, K outputs.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sasanet import intervals
from sasanet.arrays import Floats
from sasanet.audit.certificate import Finding
from sasanet.audit.comparison import r2_of, rmse_of, spread_of
from sasanet.network import inference
from sasanet.network.player_game import PlayerGame
from sasanet.shapley.interactions import Interactions, exact_interactions, sampled_interactions

MOST_ROWS = 16  # every row has P² / 2 pairs, and each needs coalitions of its own
_EXACT_UP_TO = 10  # players: 1,024 coalitions per row
_AT_ONCE = 4_096  # coalitions
_R2 = "1 − squared error / spread of the true interactions"


def compare_pairs(
    game: PlayerGame, cells: Tensor, n_orders: int, scale: float, seed: int
) -> list[Finding]:
    """Return RMSE and R² of I_ij over all pairs of present players: cells [n, N].

    The noise of sampled values adds to the squared error and to the spread; it is subtracted from
    both. Intervals are over rows.
    """
    cells = cells[:MOST_ROWS]
    true = _true_pairs(game, cells, n_orders, seed)
    first, second = true.pairs.T
    found = inference.interactions(game, cells).numpy()[:, first, second]
    present = game.present(cells).numpy()
    both = (present[:, first] & present[:, second])[..., None]
    variance = np.zeros_like(true.values) if true.error_std is None else true.error_std**2
    values, variance, found = (
        part.reshape(found.shape) * both for part in (true.values, variance, found)
    )
    columns = np.stack(
        [
            ((found - values) ** 2 - variance).sum(axis=(1, 2)),
            values.sum(axis=(1, 2)),
            (values**2 - variance).sum(axis=(1, 2)),
            both.sum(axis=(1, 2)) * float(values.shape[2]),
        ],
        axis=1,
    )
    return _findings(columns, variance.sum(), 0 if true.error_std is None else n_orders, scale)


def _findings(columns: Floats, noise: float, n_orders: int, scale: float) -> list[Finding]:
    with np.errstate(divide="ignore", invalid="ignore"):
        noise = noise / columns[:, 3].sum()
        share = noise / spread_of(columns.mean(axis=0))
    value, low, high = (scale * part for part in intervals.bootstrap(rmse_of, columns))
    note = f"of the Shapley interaction index, all pairs of {len(columns)} rows"
    return [
        Finding(
            "interactions RMSE",
            value,
            low,
            high,
            float(scale * np.sqrt(noise)),
            n_orders,
            note=note,
        ),
        Finding(
            "interactions R²",
            *intervals.bootstrap(r2_of, columns),
            float(share),
            n_orders,
            note=_R2,
        ),
    ]


def _true_pairs(game: PlayerGame, cells: Tensor, n_orders: int, seed: int) -> Interactions:
    """Return I_ij of the game itself: exact for few players, else by ``n_orders`` coalitions."""
    n_players = len(game.membership)

    def value(masks: NDArray[np.bool_]) -> Floats:
        parts = torch.from_numpy(masks).split(_AT_ONCE)
        found = [inference.coalition_outputs(game, cells, part[None]) for part in parts]
        return torch.cat(found, 1).numpy()

    if n_players <= _EXACT_UP_TO:
        return exact_interactions(value, n_players)
    return sampled_interactions(value, n_players, None, n_orders, seed)
