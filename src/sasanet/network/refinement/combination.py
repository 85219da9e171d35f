"""The formula and the draws, each weighted by its error.

The draws estimate the errors e_i of the formula's attributions without bias, with known standard
errors σ_i. Added as they are, they would make few draws worse than none. If the e_i are normal with
variances τ_i², the estimate of least squared error adds λ_i = τ_i² / (τ_i² + σ_i²) of them, and its
variance is λ_i σ_i²: less than τ_i² and than σ_i². With more draws λ_i goes to 1.

The size of the formula's errors is learned from the draws of all players of the row (empirical
Bayes): τ_i² = κ s_i², larger for larger attributions, and κ is integrated over its posterior
distribution. Where the formula was computed twice, coarsely and closely, the mean square of the
difference tells how large the s_i² are, and roughly κ: on four tables and a synthetic one the
squared errors were 0.1 to 2 of it, in single rows 0.02 to 5.

Sizes: B rows, m players, K outputs, G values of κ.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

_TINY = 1e-60  # no division by zero where nothing is uncertain
_STEPS, _WIDTH = 41, math.log(1e4)  # of the values of κ: evenly spaced logarithms, ± this
_USUAL, _SPREAD = math.log(0.8), 1.5  # log κ before any draw: mean and standard deviation


class Combined(NamedTuple):
    """Corrections to the formula's attributions, and their standard errors: [B, m, K]."""

    values: Tensor
    error_std: Tensor


def combined(
    drawn: Tensor, error_std: Tensor, formula: Tensor, difference: Tensor | None
) -> Combined:
    """Return how much of the drawn corrections to believe.

    Shape: drawn (φ(r)), error_std (σ), formula (φ), difference (between close and coarse formula,
    if there are both) [B, m, K] → two [B, m, K].
    """
    noise = error_std.square() + _TINY
    logs = torch.linspace(-_WIDTH, _WIDTH, _STEPS, dtype=noise.dtype, device=noise.device)
    size, prior = noise, torch.zeros_like(logs)  # nothing is known: any size
    if difference is not None:
        size, prior = difference.square(), -0.5 * ((logs - _USUAL) / _SPREAD).square()
    large = formula.abs() + _TINY
    shape = 1 + large / large.mean(1, keepdim=True)
    shape = shape * (size.mean(1, keepdim=True) / 2 + _TINY)  # s², whose mean is that of the sizes
    variances = logs.exp()[:, None, None, None] * shape  # τ², [G, B, m, K]
    total = variances + noise
    likelihood = -0.5 * (total.log() + drawn.square() / total).sum(2, keepdim=True)
    belief = torch.softmax(likelihood + prior[:, None, None, None], 0)  # [G, B, 1, K]
    share = variances / total
    mean_share = (belief * share).sum(0)
    between = (belief * (share - mean_share).square()).sum(0) * drawn.square()
    return Combined(mean_share * drawn, (mean_share * noise + between).sqrt())
