"""Cells in, one vector per cell out: ``cells [B, N] → tokens [B, N, D]``.

A cell is one number (see :mod:`sasanet.table.encoder`): the index of a category's level, or the
place of a number on its column's ruler of knots. Either way its vector lies between two rows of one
table, so a number costs two look-ups and a category one, and the sum over a coalition is a single
weighted ``embedding_bag``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate, pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sasanet.network.embedding.bag_sum import bag_sums
from sasanet.network.embedding.knots import Blocks, Layout, cut_ladders, make_table


class TableTokens(nn.Module):
    """One table row per level and per knot; numbers interpolate between neighbouring knots.

    The rows of a number column are not free parameters: row k is a straight line in k plus the
    running sum of k learned steps. The function of a number is then smooth from the start, and one
    step moves every knot behind it, so 64 knots learn from all rows and not each from its own few.
    Every column has a learned scale: one number that makes all its cells count for more or less.

    Shape: cells [B, N] → [B, N, width].
    """

    # NOTE[DIFF]: the paper sends numbers through a single-input MLP per column (``MLPTokens``).
    # Knots at quantiles learn columns with long tails better.

    offsets: Tensor
    entry_columns: Tensor
    entry_above: Tensor
    lines: Tensor
    block_columns: Tensor
    block_grid: Tensor
    block_owners: Tensor
    level_owners: Tensor

    def __init__(
        self, places: Sequence[int], is_number: Sequence[bool], width: int, scale: float
    ) -> None:
        super().__init__()
        lengths = [n for n, flag in zip(places, is_number, strict=True) if flag]
        levels = [n for n, flag in zip(places, is_number, strict=True) if not flag]
        blocks = cut_ladders(lengths)
        self.register_buffer("block_columns", blocks.columns, persistent=False)
        self.register_buffer("block_grid", blocks.grid, persistent=False)
        self.register_buffer("lines", blocks.lines, persistent=False)
        self.grid_shape = blocks.n_columns, blocks.n_longest
        self._lay_rows(is_number, levels)
        self.slopes = nn.Parameter(scale * torch.randn(len(lengths), 1, width))
        self.steps = nn.Parameter(torch.zeros(*blocks.lines.shape[:2], width))
        self.levels = nn.Parameter(scale * torch.randn(sum(levels), width))
        self.scales = nn.Parameter(torch.ones(len(places)))
        with torch.no_grad():  # a level never seen starts as, and stays, no information
            self.levels[torch.tensor(_starts(levels), dtype=torch.long)] = 0.0

    def _lay_rows(self, is_number: Sequence[bool], levels: Sequence[int]) -> None:
        """Note where each column's rows begin: all ladders first, then the levels."""
        number = torch.tensor(is_number)
        block_owners = number.nonzero()[:, 0][self.block_columns]
        level_owners = (~number).nonzero()[:, 0].repeat_interleave(torch.tensor(levels).long())
        self.register_buffer("block_owners", block_owners, persistent=False)
        self.register_buffer("level_owners", level_owners, persistent=False)
        offsets = torch.empty(len(number), dtype=torch.long)
        firsts = (self.block_grid % self.grid_shape[1] == 0).nonzero()[:, 0]
        offsets[number] = firsts * self.lines.shape[1]
        offsets[~number] = torch.tensor(_starts(levels)).long() + self.lines.numel()
        self.register_buffer("offsets", offsets, persistent=False)
        # A number looks two knots up, the one below and the one above it; a category one level.
        entries = [(i, above) for i, flag in enumerate(is_number) for above in range(1 + flag)]
        owner, above = torch.tensor(entries).T.contiguous()
        self.register_buffer("entry_columns", owner, persistent=False)
        self.register_buffer("entry_above", above, persistent=False)

    @property
    def n_rows(self) -> int:
        """How many rows the table has."""
        return self.steps.shape[0] * self.steps.shape[1] + len(self.levels)

    def rows(self) -> Tensor:
        """Return the whole table, [number places + category places, width]."""
        blocks = Blocks(self.block_columns, self.block_grid, self.lines, *self.grid_shape)
        layout = Layout(blocks, self.block_owners, self.level_owners)
        return make_table(self.steps, self.slopes, self.levels, self.scales, layout)

    def _look_ups(self, cells: Tensor) -> tuple[Tensor, Tensor]:
        """Return the table rows all cells lie between and how much of each they are: two [B, E]."""
        place = cells.nan_to_num()
        low = place.floor()
        fraction = (place - low)[:, self.entry_columns]
        rows = (low.long() + self.offsets)[:, self.entry_columns] + self.entry_above
        # At the last knot the fraction is 0 and any row above will do.
        return rows.clamp_max_(self.n_rows - 1), (1 - self.entry_above - fraction).abs_()

    def forward(self, cells: Tensor) -> Tensor:
        """Return the vector of every cell (absent cells: that of place 0, to be masked)."""
        return self.read(self.rows(), cells)

    def read(self, table: Tensor, cells: Tensor) -> Tensor:
        """Return a table's entry for every cell, between two knots the mixture of both.

        Shape: table [places, D], cells [B, N] → [B, N, D].
        """
        rows, weights = self._look_ups(cells)
        sizes = torch.bincount(self.entry_columns).repeat(len(cells))
        return bag_sums(table, rows.flatten(), weights.flatten(), sizes).unflatten(0, cells.shape)

    def coalition_sums(self, cells: Tensor, coalitions: Tensor) -> Tensor:
        """Return Σ_{i∈S} token_i for every coalition without building the tokens.

        Shape: cells [B, N], coalitions [B, M, N] → [B, M, width].
        """
        rows, weights = self._look_ups(cells)
        # Only what is in a coalition is looked up: its bag is as long as it is large.
        kept = coalitions[..., self.entry_columns]
        row, _, entry = kept.nonzero(as_tuple=True)
        sizes = kept.sum(2).flatten()
        sums = bag_sums(self.rows(), rows[row, entry], weights[row, entry], sizes)
        return sums.unflatten(0, coalitions.shape[:2])


def _starts(sizes: Sequence[int]) -> list[int]:
    """Return where each of several parts of these sizes begins."""
    return [end - size for end, size in zip(accumulate(sizes), sizes, strict=True)]


class MLPTokens(nn.Module):
    """The paper's tokens: an embedding per level, a single-input MLP per number column.

    The MLPs of all columns run as one batched matrix product, never in a loop over columns.

    Shape: cells [B, N] (numbers standardised) → [B, N, width].
    """

    numbers: Tensor
    categories: Tensor
    starts: Tensor

    def __init__(
        self,
        places: Sequence[int],
        is_number: Sequence[bool],
        width: int,
        hidden: Sequence[int],
        activation: nn.Module,
    ) -> None:
        super().__init__()
        number = torch.tensor(is_number, dtype=torch.bool)
        self.register_buffer("numbers", number.nonzero()[:, 0], persistent=False)
        self.register_buffer("categories", (~number).nonzero()[:, 0], persistent=False)
        levels = [n for n, flag in zip(places, is_number, strict=True) if not flag]
        starts = torch.tensor(_starts(levels), dtype=torch.long)
        self.register_buffer("starts", starts, persistent=False)
        self.levels = nn.Parameter(torch.randn(sum(levels), width))
        with torch.no_grad():
            self.levels[starts] = 0.0
        sizes = [1, *hidden, width]
        self.weights, self.biases = nn.ParameterList(), nn.ParameterList()
        for fan_in, fan_out in pairwise(sizes):
            scale = math.sqrt(2 / fan_in)
            self.weights.append(scale * torch.randn(len(self.numbers), fan_in, fan_out))
            self.biases.append(0.1 * torch.randn(len(self.numbers), 1, fan_out))
        self.activation = activation

    def forward(self, cells: Tensor) -> Tensor:
        """Return the vector of every cell (absent cells: that of 0, to be masked)."""
        cells = cells.nan_to_num()
        hidden = cells[:, self.numbers].T[..., None]  # [numbers, B, 1]
        for depth, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            hidden = torch.baddbmm(bias, self.activation(hidden) if depth else hidden, weight)
        tokens = cells.new_empty(*cells.shape, self.levels.shape[1])
        tokens[:, self.numbers] = hidden.transpose(0, 1)
        tokens[:, self.categories] = F.embedding(
            cells[:, self.categories].long() + self.starts, self.levels
        )
        return tokens

    def coalition_sums(self, cells: Tensor, coalitions: Tensor) -> Tensor:
        """Return Σ_{i∈S} token_i: cells [B, N], coalitions [B, M, N] → [B, M, width]."""
        return coalitions.to(cells.dtype) @ self(cells)


Tokens = TableTokens | MLPTokens


def make_tokens(
    places: Sequence[int],
    is_number: Sequence[bool],
    width: int,
    number_layers: Sequence[int] | None,
    activation: nn.Module,
) -> Tokens:
    """Build cell vectors: tables, or the paper's MLPs where ``number_layers`` is given."""
    if number_layers is not None:
        return MLPTokens(places, is_number, width, number_layers, activation)
    return TableTokens(places, is_number, width, scale=1 / math.sqrt(len(places)))
