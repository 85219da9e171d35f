"""Weighted sums of table rows, as ``embedding_bag`` computes them, with a faster gradient.

A batch looks up some thousand rows, many of them several times. The gradient in torch sorts the
look-ups, which takes several times as long as the look-ups themselves. Here the gradient of a row
is again a weighted sum, over the look-ups of that row; a radix sort brings them together.

Sizes: P rows of length D in the table, E look-ups (entries) in C bags.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

_RADIX = 1 << 16  # numpy uses a radix sort for 16-bit integers


class _BagSums(torch.autograd.Function):
    """Σ over the entries of a bag: weight · table row."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, places: Tensor, weights: Tensor, sizes: Tensor) -> Tensor:
        """Shapes: table [P, D], places and weights [E], sizes [C] → [C, D]."""
        ctx.save_for_backward(places, weights, sizes)
        ctx.n_rows = len(table)
        return _weighted_sums(table, places, weights, sizes)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradient of the table, [P, D]; places and weights have none."""
        places, weights, sizes = ctx.saved_tensors
        bags = torch.arange(len(sizes), device=sizes.device).repeat_interleave(sizes)
        order = _sorting(places, ctx.n_rows)
        of_row = torch.bincount(places, minlength=ctx.n_rows)
        found = _weighted_sums(gradients[0].contiguous(), bags[order], weights[order], of_row)
        return found, None, None, None


def _weighted_sums(table: Tensor, places: Tensor, weights: Tensor, sizes: Tensor) -> Tensor:
    starts = sizes.cumsum(0) - sizes
    return F.embedding_bag(places, table, starts, mode="sum", per_sample_weights=weights)


def _sorting(places: Tensor, n_rows: int) -> Tensor:
    """Return the order that brings equal places together: [E]."""
    if places.device.type != "cpu" or n_rows > _RADIX:
        return places.argsort(stable=True)
    return torch.from_numpy(places.numpy().astype(np.uint16).argsort(kind="stable"))


def bag_sums(table: Tensor, places: Tensor, weights: Tensor, sizes: Tensor) -> Tensor:
    """Return the weighted sum of table rows for every bag; zero for an empty bag.

    Entries are ordered by bag. Shape: table [P, D], places and weights [E], sizes [C] →
    [C, D].
    """
    sums: Tensor = _BagSums.apply(table, places, weights, sizes)
    return sums
