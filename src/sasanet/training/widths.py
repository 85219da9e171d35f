"""The widths of intervals, corrected on rows that were not learned from.

A network fits the rows it learns from more closely than others: an interval that holds four fifths
of them holds less of new rows. And intervals that are learned while location is still learned, or
while units are dropped, stay too wide. Held-out rows tell both. So when a network of several
quantiles is trained, how far the gaps between its quantiles have moved from those of no feature is
multiplied by one number for each gap: the one with the least loss of held-out rows, the complete
ones and coalitions of theirs as in training.

A gap is a function of an output u that is 0 when nothing is known (:class:`~sasanet.network.layers.
Ladder`), and u is linear in the last layer: the number multiplies that layer's weights. So all that
holds of the network by construction still holds, for every coalition.

Sizes: B rows, M coalitions, E members, K quantiles.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import torch
from scipy.optimize import minimize_scalar
from torch import Tensor

from sasanet.network.coalitions import random_coalitions
from sasanet.network.sasanet import SASANet
from sasanet.network.set_value import SetValue
from sasanet.training.losses import Objective, value_loss
from sasanet.training.rows import Rows
from sasanet.training.shared.fellows import Alone

_COALITIONS = 8  # of each row, beside the complete one
_MOST_ROWS = 10_000  # for so few numbers
_ROWS_AT_ONCE = 2_048
_MOST = 2.0  # times as far, or as little
_FEWEST_ROWS = 50


@torch.no_grad()
def correct_widths(network: SASANet, rows: Rows, objective: Objective, fellows: Alone) -> None:
    """Multiply the outputs that gaps are made of by what held-out rows ask for.

    Where there are no gaps, or too few rows, nothing changes.
    """
    marginal = network.marginal
    if not isinstance(marginal, SetValue) or marginal.ladder is None or len(rows) < _FEWEST_ROWS:
        return
    factors = fellows.once(partial(_factors, network, marginal, rows, objective))
    marginal.scale_outputs(factors)


def _factors(network: SASANet, marginal: SetValue, rows: Rows, objective: Objective) -> Tensor:
    """Return the factor of every output, 1 of the middle quantile: [K]."""
    ladder = marginal.ladder
    assert ladder is not None
    rows = rows[slice(0, _MOST_ROWS)]
    raw = _raw_outputs(network, marginal, rows)
    n_outputs = raw.shape[-1]
    factors = torch.ones(n_outputs, device=raw.device)

    def loss(factors: Tensor) -> float:
        outputs = ladder(raw * factors).mean(2) + objective.base
        losses = objective.losses(outputs, rows.targets)
        return value_loss(losses, rows.weights, objective.full_share).item()

    middle = n_outputs // 2
    for k in sorted(range(n_outputs), key=lambda k: abs(k - middle))[1:]:  # from the inside out
        factors[k] = _best_factor(loss, factors, k)
    return factors


def _best_factor(loss: Callable[[Tensor], float], factors: Tensor, place: int) -> float:
    """Return the factor of one gap with the least loss; 1 if none is better."""

    def loss_of(logarithm: float) -> float:
        tried = factors.clone()
        tried[place] = math.exp(logarithm)
        return loss(tried)

    bounds = (-math.log(_MOST), math.log(_MOST))
    found = minimize_scalar(loss_of, bounds=bounds, method="bounded", options={"xatol": 1e-3})
    return math.exp(found.x) if found.fun < loss_of(0.0) else 1.0


def _raw_outputs(network: SASANet, marginal: SetValue, rows: Rows) -> Tensor:
    """Return the outputs that gaps are made of, of complete rows and coalitions: [B, M, E, K]."""
    generator = torch.Generator(rows.cells.device).manual_seed(0)
    found = []
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        cells = rows.cells[start : start + _ROWS_AT_ONCE]
        present = network.present(cells)
        drawn = (random_coalitions(present, generator) for _ in range(_COALITIONS))
        found.append(marginal.raw_values(cells, torch.stack([present, *drawn], 1)))
    return torch.cat(found)
