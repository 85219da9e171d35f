"""Columns in which the output may only rise, or only fall: bounds on the weights of a set network.

v composes increasing functions, so it is enough that every path from a constrained column to the
output multiplies weights to one sign. Units are of three kinds, −1, 0 and +1:

- *free* units (0) read no monotone unit, and a constrained column is constant in them: they know
  whether it is present, not its value;
- *monotone* units (±1) read free units as they like, and monotone units with weights of the sign of
  the product of both kinds. A unit of kind −1 is a reflected one, −a(−z), with all its signs inside
  its weights: where a is convex, it is concave. Of one kind only, v could be convex only.

The vectors of a column with direction +1 rise from knot to knot in coordinates of kind +1 and fall
in those of kind −1; the output is of kind +1. This holds for every coalition, whose sum goes
through the same layers, and for every member, whose factors of constrained columns are not
negative. Whether a column is present or absent is not constrained.

After every step of training the weights are moved back within their bounds (projected gradient
descent). Whatever reads weights, the formula for attributions first of all, need not know of it.

With a monotone unit of kind +1 for an AND of steps and one of kind −1 for an OR of these, two
layers represent any monotone function of the knots; networks with weights of one sign are universal
if their activations saturate on alternate sides (Sartor et al., 2025, arXiv 2505.02537).

Sizes: n number columns in b blocks of k knots, c blocks of constrained ones; vectors of length D.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import deepcopy
from itertools import pairwise

import torch
from torch import Tensor, nn

from sasanet.network.embedding.cells import BagEmbedding, TableEmbedding
from sasanet.network.set_value import SetValue

_MONOTONE_SHARE = 0.5  # of the units of a layer


class MonotoneBounds(nn.Module):
    """The bounds of the weights of one set network, which it brings within them.

    Parameters
    ----------
    network : SetValue
        With a table of cell vectors; its weights are given the signs that they keep.
    directions : sequence of {-1, 0, 1}
        One per column; only that of a number may be other than 0.
    """

    constrained: Tensor
    blocks: Tensor
    firsts: Tensor
    number_columns: Tensor
    owners: Tensor
    orientations: Tensor
    varying: Tensor

    def __init__(self, network: SetValue, directions: Sequence[int]) -> None:
        super().__init__()
        linear = _linear_layers(network)
        kinds = [unit_kinds(layer.in_features) for layer in linear]
        kinds.append(torch.ones(linear[-1].out_features))
        signs = [above[:, None] * below for below, above in pairwise(kinds)]
        for depth, (below, above) in enumerate(pairwise(kinds)):
            for name, bound in zip(("lower", "upper"), weight_bounds(below, above), strict=True):
                self.register_buffer(f"{name}_{depth}", bound, persistent=False)
        # Further cells of a column, as dates have them, come last and have no direction.
        n_further = len(_table(network).scales) - len(directions)
        direction = torch.tensor([*directions, *[0] * n_further], dtype=torch.float32)
        self.register_buffer("constrained", direction.nonzero()[:, 0], persistent=False)
        self._bound_knots(_table(network), direction, kinds[0])
        self._give_signs(network, signs)
        self.apply_to(network)

    def _bound_knots(self, embedding: TableEmbedding, direction: Tensor, kinds: Tensor) -> None:
        """Note which vectors rise, fall or are constant in which coordinates."""
        begins = (embedding.block_grid % embedding.grid_shape[1] == 0).nonzero()[:, 0]
        of_number = direction[embedding.block_owners[begins]]  # [n]
        blocks = of_number[embedding.block_columns].nonzero()[:, 0]
        owners = embedding.block_columns[blocks]
        buffers = {
            "blocks": blocks,  # [c]
            "owners": owners,  # the number column of each of these blocks, [c]
            "firsts": torch.isin(blocks, begins).nonzero()[:, 0],  # blocks that begin a column
            "orientations": of_number[owners, None, None] * kinds,  # [c, 1, D]
            "number_columns": of_number.nonzero()[:, 0],
            "varying": kinds.abs(),  # [D]
        }
        for name, buffer in buffers.items():
            self.register_buffer(name, buffer, persistent=False)

    @torch.no_grad()
    def _give_signs(self, network: SetValue, signs: Sequence[Tensor]) -> None:
        """Give the weights of a new network the signs they are to have, at their sizes."""
        for layer, sign in zip(_linear_layers(network), signs, strict=True):
            layer.weight.copy_(torch.where(sign == 0, layer.weight, sign * layer.weight.abs()))
        slopes = _table(network).slopes
        slopes[self.owners] = self.orientations * slopes[self.owners].abs()
        if network.factors is not None:  # members must differ, without factors below 0
            network.factors[:, self.constrained] = 1 + network.factors[:, self.constrained] / 2

    @torch.no_grad()
    def apply_to(self, network: SetValue) -> None:
        """Move the weights within their bounds, where they are not."""
        for depth, layer in enumerate(_linear_layers(network)):
            layer.weight.clamp_(getattr(self, f"lower_{depth}"), getattr(self, f"upper_{depth}"))
        self._apply_to_table(_table(network))
        if network.factors is not None:
            factors = network.factors[:, self.constrained].clamp_min(0)
            network.factors[:, self.constrained] = factors

    def _apply_to_table(self, table: TableEmbedding) -> None:
        """Let vectors rise from knot to knot: the straight line's part and the step together."""
        table.scales[self.constrained] = table.scales[self.constrained].clamp_min(0)
        table.slopes[self.number_columns] *= self.varying
        lines = table.lines.flatten()  # the blocks of a column are consecutive
        gains = lines.diff(prepend=lines[:1]).view_as(table.lines)[self.blocks]  # [c, k, 1]
        steps = table.steps[self.blocks]
        least = -self.orientations * gains * table.slopes[self.owners]
        bounded = self.orientations * torch.maximum(self.orientations * steps, least)
        bounded[self.firsts, 0] = steps[self.firsts, 0]  # the first knot's vector is free
        table.steps[self.blocks] = bounded

    def hold_for(self, network: SetValue) -> bool:
        """Tell whether the weights are within their bounds, but for rounding."""
        moved = deepcopy(network)
        self.apply_to(moved)
        pairs = zip(network.parameters(), moved.parameters(), strict=True)
        return all(torch.allclose(p, m, rtol=1e-4, atol=1e-6) for p, m in pairs)


def unit_kinds(size: int) -> Tensor:
    """Return the kinds of the units of a layer: first the free ones, then +1 and −1 in turn."""
    n_free = min(size - 1, size - round(size * _MONOTONE_SHARE))
    kinds = torch.ones(size)
    kinds[:n_free] = 0
    kinds[n_free + 1 :: 2] = -1
    return kinds


def weight_bounds(below: Tensor, above: Tensor) -> tuple[Tensor, Tensor]:
    """Return the least and the largest value of the weight of each unit below in each above.

    Shape: kinds [I], [O] → two [O, I].
    """
    sign = above[:, None] * below
    unread = (above[:, None] == 0) & (below != 0)
    lower = torch.where(unread | (sign > 0), 0.0, -math.inf)
    return lower, torch.where(unread | (sign < 0), 0.0, math.inf)


def _linear_layers(network: SetValue) -> list[nn.Linear]:
    return [layer for layer in network.rho if isinstance(layer, nn.Linear)]


def _table(network: SetValue) -> TableEmbedding:
    embedding = network.embedding
    found = embedding.of_cells if isinstance(embedding, BagEmbedding) else embedding
    assert isinstance(found, TableEmbedding)
    return found
