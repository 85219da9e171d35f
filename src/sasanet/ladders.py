"""Learned steps and levels in, the table of all cell vectors out; its gradient is written by hand.

The table is built anew in every training step, from few rows of data: with autograd's copies it
took a third of the step on a table of numbers.

Sizes: n number columns, each a ladder of k places; l levels of all categories together; N columns;
vectors of length D.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

_BLOCK = 16


def running_sums(steps: Tensor, backwards: bool = False) -> Tensor:
    """Return the sums of all steps up to each place, or from each place on: [n, k, D] → the same.

    Sums within short blocks are a product with a triangle; what lies before a block is added to
    it. On a CPU that takes a third of the time of ``torch.cumsum`` along this axis.
    """
    n, k, width = steps.shape
    block = max(1, min(_BLOCK, k))
    n_blocks = -(-k // block)
    whole = n_blocks * block
    padded = F.pad(steps, (0, 0, 0, whole - k)) if whole > k else steps
    ones = steps.new_ones(block, block)
    triangle = ones.triu() if backwards else ones.tril()
    sums = triangle @ padded.reshape(n * n_blocks, block, width)
    sums = sums.view(n, n_blocks, block, width)
    if backwards:
        later = sums[:, 1:, 0].flip(1).cumsum(1).flip(1)
        sums[:, :-1] += later[:, :, None]
    else:
        sums[:, 1:] += sums[:, :-1, -1].cumsum(1)[:, :, None]
    return sums.view(n, whole, width)[:, :k]


class _Table(torch.autograd.Function):
    """Numbers: scale · (line · slope + running sum of steps). Levels: scale · level."""

    @staticmethod
    def forward(
        ctx: Any,
        steps: Tensor,
        slopes: Tensor,
        levels: Tensor,
        number_scales: Tensor,
        level_scales: Tensor,
        lines: Tensor,
    ) -> Tensor:
        """Shapes: [n, k, D], [n, 1, D], [l, D], [n], [l], [n, k, 1] → [n·k + l, D]."""
        n, k, width = steps.shape
        ladders = running_sums(steps).addcmul_(lines, slopes)
        table = steps.new_empty(n * k + len(levels), width)
        torch.mul(ladders, number_scales[:, None, None], out=table[: n * k].view(n, k, width))
        torch.mul(levels, level_scales[:, None], out=table[n * k :])
        ctx.save_for_backward(ladders, levels, number_scales, level_scales, lines)
        return table

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of all but the lines, which are not learned."""
        ladders, levels, number_scales, level_scales, lines = ctx.saved_tensors
        n, k, width = ladders.shape
        numbers, others = gradients[0][: n * k].view(n, k, width), gradients[0][n * k :]
        scaled = numbers * number_scales[:, None, None]
        return (
            running_sums(scaled, backwards=True),
            lines.transpose(1, 2) @ scaled,
            others * level_scales[:, None],
            torch.linalg.vecdot(numbers, ladders).sum(1),
            torch.linalg.vecdot(others, levels),
            None,
        )


def make_table(
    steps: Tensor,
    slopes: Tensor,
    levels: Tensor,
    number_scales: Tensor,
    level_scales: Tensor,
    lines: Tensor,
) -> Tensor:
    """Return one row per knot and per level.

    Shape: steps [n, k, D], slopes [n, 1, D], levels [l, D], scales [n] and [l], lines [n, k, 1] →
    [n·k + l, D].
    """
    table: Tensor = _Table.apply(steps, slopes, levels, number_scales, level_scales, lines)
    return table
