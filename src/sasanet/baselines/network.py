"""What the networks of all baselines share: inputs, grouped layers, the base classes.

Sizes: B rows, N columns, U units, G groups, M coalitions, K outputs. Outputs are relative to the
labels' own base value and, for regression, in standard deviations of the target.
"""

from __future__ import annotations

import math
from itertools import accumulate

import torch
from torch import Tensor, nn

from sasanet.network.interface import TabularNetwork
from sasanet.table.columns import Columns
from sasanet.training.loop import Rows
from sasanet.training.losses import Objective, weighted_mean


class InputUnits(nn.Module):
    """Input units: one per number, its standard score, and one per level of a category (one-hot).

    A missing number is at the training mean, and a missing or unseen level has no unit: both are
    all zeros. The row of zeros is the reference of every baseline.

    Shape: cells [B, N] → [B, U].
    """

    numbers: Tensor
    number_units: Tensor
    categories: Tensor
    firsts: Tensor
    owners: Tensor

    def __init__(self, columns: Columns) -> None:
        super().__init__()
        flags = torch.tensor(columns.is_number)
        pairs = zip(columns.places, columns.is_number, strict=True)
        sizes = [1 if number else max(1, places - 1) for places, number in pairs]
        starts = torch.tensor([0, *accumulate(sizes)][:-1])
        owners = torch.arange(len(columns)).repeat_interleave(torch.tensor(sizes))
        for name, index in (
            ("numbers", flags.nonzero()[:, 0]),
            ("number_units", starts[flags]),
            ("categories", (~flags).nonzero()[:, 0]),
            ("firsts", starts[~flags]),
            ("owners", owners),  # the column each unit belongs to
        ):
            self.register_buffer(name, index, persistent=False)
        self.n_columns, self.n_units = len(columns), len(owners)

    def forward(self, cells: Tensor) -> Tensor:
        """Return the units of every row."""
        known = cells.nan_to_num()
        units = known.new_zeros(len(cells), self.n_units + 1)  # the last is for unknown levels
        units[:, self.number_units] = known[:, self.numbers]
        places = known[:, self.categories].long()
        units.scatter_(1, torch.where(places > 0, self.firsts + places - 1, self.n_units), 1.0)
        return units[:, :-1]

    def by_column(self, values: Tensor) -> Tensor:
        """Sum over the units of each column: [B, U, K] → [B, N, K]."""
        totals = values.new_zeros(len(values), self.n_columns, values.shape[2])
        return totals.index_add(1, self.owners, values)


class GroupedLinear(nn.Module):
    """One linear layer per group, as one batched matrix product: [G, B, in] → [G, B, out]."""

    def __init__(self, groups: int, n_in: int, n_out: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(math.sqrt(2 / n_in) * torch.randn(groups, n_in, n_out))
        self.bias = nn.Parameter(torch.zeros(groups, 1, n_out))

    def forward(self, inputs: Tensor) -> Tensor:
        """Apply each group's layer to its rows."""
        return torch.baddbmm(self.bias, inputs, self.weight)


class BaselineNetwork(TabularNetwork):
    """A network of complete rows: an absent cell is set to its reference, like a missing one.

    Shape: cells [B, N] → [B, K].
    """

    def __init__(self, columns: Columns, n_outputs: int) -> None:
        super().__init__()
        self.columns, self.n_outputs = columns, n_outputs
        self.bias = nn.Parameter(torch.zeros(n_outputs))

    def forward(self, cells: Tensor) -> Tensor:
        """Return the output of every row."""
        raise NotImplementedError

    def values(self, cells: Tensor, coalitions: Tensor) -> Tensor:
        """Return f(x_S), with the other cells at their reference: [B, N], [B, M, N] → [B, M, K]."""
        known = cells[:, None].masked_fill(~coalitions, math.nan)
        return self(known.flatten(0, 1)).unflatten(0, known.shape[:2])

    def matrices(self) -> list[Tensor]:
        """Return the parameters that weight decay applies to."""
        grouped = [m.weight for m in self.modules() if isinstance(m, GroupedLinear)]
        return [*super().matrices(), *grouped]

    def after_training(self, rows: Rows) -> None:
        """Finish the network once it is trained; by default there is nothing to do."""


class AdditiveNetwork(BaselineNetwork):
    """f(x) = bias + Σ_i φ_i(x): additive self-attribution (Definition 2.1)."""

    def attributions(self, cells: Tensor) -> Tensor:
        """Return φ of every row: [B, N] → [B, N, K]."""
        raise NotImplementedError

    def forward(self, cells: Tensor) -> Tensor:
        """Return the output of every row."""
        return self.bias + self.attributions(cells).sum(1)


def prediction_loss(outputs: Tensor, rows: Rows, objective: Objective) -> Tensor:
    """Return the weighted mean of Eq. (3): outputs [B, K] → scalar."""
    losses = objective.losses((outputs + objective.base)[:, None], rows.targets)
    return weighted_mean(losses, rows.weights)


def prediction_batch_loss(
    network: BaselineNetwork, rows: Rows, generator: torch.Generator, objective: Objective
) -> Tensor:
    """Return the loss of one batch from the labels alone."""
    del generator
    return prediction_loss(network(rows.cells), rows, objective)
