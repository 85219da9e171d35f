"""The vector of each cell: ``cells [B, N] → vectors [B, N, D]``.

A cell is one number (see :mod:`sasanet.table.encoder`): the index of a category's level, or the
place of a number among the knots of its column. In both cases its vector is found in one table: a
category takes one row, a number is interpolated between two, and the sum over a coalition is a
single weighted ``embedding_bag``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sasanet.network.embedding.bag_sum import bag_sums
from sasanet.network.embedding.knots import KnotBlocks, TableLayout, make_table, split_into_blocks
from sasanet.network.embedding.memo import RemembersTables


class LookUps(NamedTuple):
    """The entries of a table that cells are read from: E for each of B rows."""

    rows: Tensor  # of the table, [B, E]
    weights: Tensor  # [B, E]


class TableEmbedding(RemembersTables):
    """One table row per level and per knot; numbers interpolate between neighbouring knots.

    The rows of a number column are not free parameters: row k is a straight line in k plus the
    cumulative sum of k learned steps. The function of a number is then smooth from the start, and a
    step moves every later knot, so 64 knots learn from all rows instead of each from its own few.
    Every column has a learned scale, one number that multiplies the vectors of all its cells.

    Shape: cells [B, N] → [B, N, width].
    """

    # NOTE[DIFF]: the paper uses a single-input MLP per number column (``MLPEmbedding``). Knots at
    # quantiles learn columns with long tails better.

    offsets: Tensor
    entry_columns: Tensor
    entry_above: Tensor
    n_entries: Tensor
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
        blocks = split_into_blocks(lengths)
        self.register_buffer("block_columns", blocks.columns, persistent=False)
        self.register_buffer("block_grid", blocks.grid, persistent=False)
        self.register_buffer("lines", blocks.lines, persistent=False)
        self.grid_shape = blocks.n_columns, blocks.n_longest
        self._index_rows(is_number, levels)
        self.slopes = nn.Parameter(scale * torch.randn(len(lengths), 1, width))
        self.steps = nn.Parameter(torch.zeros(*blocks.lines.shape[:2], width))
        self.levels = nn.Parameter(scale * torch.randn(sum(levels), width))
        self.scales = nn.Parameter(torch.ones(len(places)))
        with torch.no_grad():  # unseen levels start, and stay, without information
            self.levels[torch.tensor(_starts(levels), dtype=torch.long)] = 0.0

    def _index_rows(self, is_number: Sequence[bool], levels: Sequence[int]) -> None:
        """Compute where the rows of each column begin: all knots first, then all levels."""
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
        # A number looks up two knots, the one below and the one above; a category one level.
        entries = [(i, above) for i, flag in enumerate(is_number) for above in range(1 + flag)]
        owner, above = torch.tensor(entries).T.contiguous()
        self.register_buffer("entry_columns", owner, persistent=False)
        self.register_buffer("entry_above", above, persistent=False)
        self.register_buffer("n_entries", torch.bincount(owner), persistent=False)

    @property
    def n_rows(self) -> int:
        """Number of rows of the table."""
        return self.steps.shape[0] * self.steps.shape[1] + len(self.levels)

    def rows(self) -> Tensor:
        """Return the whole table: [rows of numbers + rows of categories, width]."""
        return self.remembered("rows", self.weights, self._make_rows)

    @property
    def weights(self) -> tuple[Tensor, ...]:
        """What the table is made from; torch's own list of them takes longer than a row."""
        return self.steps, self.slopes, self.levels, self.scales

    def _make_rows(self) -> Tensor:
        blocks = KnotBlocks(self.block_columns, self.block_grid, self.lines, *self.grid_shape)
        layout = TableLayout(blocks, self.block_owners, self.level_owners)
        return make_table(self.steps, self.slopes, self.levels, self.scales, layout)

    def look_ups(self, cells: Tensor, present: Tensor | None = None) -> LookUps:
        """Return where the entries of all cells are found, and how much of each is taken: [B, E].

        With ``present`` [B, N] nothing is taken of the others.
        """
        place = cells.nan_to_num()
        low = place.floor()
        fraction = (place - low)[:, self.entry_columns]
        rows = (low.long() + self.offsets)[:, self.entry_columns] + self.entry_above
        # At the last knot the fraction is 0, so the row above does not matter.
        weights = (1 - self.entry_above - fraction).abs_()
        if present is not None and not present.all():
            weights = weights * present[:, self.entry_columns]
        return LookUps(rows.clamp_max_(self.n_rows - 1), weights)

    def forward(self, cells: Tensor) -> Tensor:
        """Return the vector of every cell; absent cells get that of place 0 and must be masked."""
        return self.read(self.rows(), cells)

    def read(self, table: Tensor, cells: Tensor) -> Tensor:
        """Return the entry of any table for every cell, interpolated between two knots.

        Shape: table [rows, D], cells [B, N] → [B, N, D].
        """
        return self.read_each(table, self.look_ups(cells))

    def read_each(self, table: Tensor, found: LookUps) -> Tensor:
        """Return the same, where look-ups are known: [rows, D] → [B, N, D]."""
        rows, weights = found
        sizes = self.n_entries.repeat(len(rows))
        vectors = bag_sums(table, rows.flatten(), weights.flatten(), sizes)
        return vectors.unflatten(0, (len(rows), len(self.n_entries)))

    def read_sums(self, table: Tensor, found: LookUps) -> Tensor:
        """Return the sum over all cells of a row, where look-ups are known: [rows, D] → [B, D]."""
        rows, weights = found
        sizes = torch.full((len(rows),), rows.shape[1], device=rows.device)
        return bag_sums(table, rows.flatten(), weights.flatten(), sizes)

    def coalition_sums(self, cells: Tensor, coalitions: Tensor) -> Tensor:
        """Return the sum of the cell vectors of every coalition, without computing each vector.

        Shape: cells [B, N], coalitions [B, M, N] → [B, M, width].
        """
        table = self.rows()
        if coalitions.shape[1] == 1 and not torch.is_grad_enabled():
            # Most cells of a row to predict are there: to skip the others costs more than it saves.
            return self.read_sums(table, self.look_ups(cells, coalitions[:, 0]))[:, None]
        rows, weights = self.look_ups(cells)
        # Only members of a coalition are looked up: the size of a bag is that of its coalition.
        kept = coalitions[..., self.entry_columns]
        row, _, entry = kept.nonzero(as_tuple=True)
        sizes = kept.sum(2).flatten()
        sums = bag_sums(table, rows[row, entry], weights[row, entry], sizes)
        return sums.unflatten(0, coalitions.shape[:2])

    @property
    def owners(self) -> Tensor:
        """The column of every row of the table: [rows]."""
        return torch.cat(
            [self.block_owners.repeat_interleave(self.lines.shape[1]), self.level_owners]
        )


def _starts(sizes: Sequence[int]) -> list[int]:
    """Return where each of several consecutive parts begins."""
    return [end - size for end, size in zip(accumulate(sizes), sizes, strict=True)]


class MLPEmbedding(nn.Module):
    """The paper's embedding: a vector per level, a single-input MLP per number column.

    The MLPs of all columns run as one batched matrix product, without a loop over columns.

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
        """Return the vector of every cell; absent cells get that of 0 and must be masked."""
        cells = cells.nan_to_num()
        hidden = cells[:, self.numbers].T[..., None]  # [numbers, B, 1]
        for depth, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            hidden = torch.baddbmm(bias, self.activation(hidden) if depth else hidden, weight)
        vectors = cells.new_empty(*cells.shape, self.levels.shape[1])
        vectors[:, self.numbers] = hidden.transpose(0, 1)
        vectors[:, self.categories] = F.embedding(
            cells[:, self.categories].long() + self.starts, self.levels
        )
        return vectors

    def coalition_sums(self, cells: Tensor, coalitions: Tensor) -> Tensor:
        """Return the sum of the cell vectors of every coalition: [B, M, N] → [B, M, width]."""
        return coalitions.to(cells.dtype) @ self(cells)


class BagEmbedding(nn.Module):
    """Several cells per column where a column is a bag: its vector is the sum of theirs.

    Nobody else needs to know: the vectors are those of columns, and coalitions are of columns.

    Shape: cells [B, C], of which the first N are those of the N columns and each of the others
    belongs to one of ``owners`` [C − N] → [B, N, width].
    """

    owners: Tensor

    def __init__(self, of_cells: TableEmbedding | MLPEmbedding, owners: Sequence[int]) -> None:
        super().__init__()
        self.of_cells = of_cells
        self.register_buffer("owners", torch.tensor(owners, dtype=torch.long), persistent=False)

    def forward(self, cells: Tensor) -> Tensor:
        """Return the vector of every column; those of absent columns must be masked."""
        vectors, n = self.of_cells(cells), cells.shape[1] - len(self.owners)
        further = vectors[:, n:] * ~cells[:, n:, None].isnan()
        return vectors[:, :n].index_add(1, self.owners, further)

    def coalition_sums(self, cells: Tensor, coalitions: Tensor) -> Tensor:
        """Return the sum of the vectors of every coalition: [B, M, N] → [B, M, width]."""
        further = cells[:, None, coalitions.shape[2] :]
        of_bags = coalitions[..., self.owners] & ~further.isnan()
        return self.of_cells.coalition_sums(cells, torch.cat([coalitions, of_bags], 2))


CellEmbedding = TableEmbedding | MLPEmbedding | BagEmbedding


def make_embedding(
    places: Sequence[int],
    is_number: Sequence[bool],
    width: int,
    number_layers: Sequence[int] | None,
    activation: nn.Module,
    owners: Sequence[int] = (),
) -> CellEmbedding:
    """Return a table of vectors, or the paper's MLPs if ``number_layers`` is given.

    ``owners`` are the columns of the cells beyond one for each.
    """
    found: TableEmbedding | MLPEmbedding
    if number_layers is not None:
        found = MLPEmbedding(places, is_number, width, number_layers, activation)
    else:
        found = TableEmbedding(places, is_number, width, scale=1 / math.sqrt(len(places)))
    return BagEmbedding(found, owners) if owners else found
