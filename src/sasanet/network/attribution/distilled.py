"""A Shapley module taught by the formula: a coarse formula, and a small network that corrects it.

    φ_i ≈ 1/12 v({i}) + ⟨a_i, Σ_t w_t g_t + c(x)⟩

The formula (:mod:`~.closed_form`) integrates ψ_i · ∂E[v]/∂mean over the share t of features that
are present. Here g_t is that gradient in its coarsest form, with nothing pinned or followed, at the
points t of the same rule; and both its factors are projected to the few directions W in which they
meet: a_i = ψ_i A, g_t = G ∂E[v]/∂mean. What this misses is learned: c(x), a network with one hidden
layer, sees the g_t, Σ a_i, v and how many features are present.

This is the paper's internal distillation with the expectation over orders in place of one draw:
targets without noise, so that seconds suffice. How it is trained is in
:mod:`sasanet.training.distillation`.

A row unlike those it was taught is noticed in two ways: its inputs lie far outside, or the raw φ
miss more of the known v(x) than they did for taught rows. Such rows belong to the formula.

Sizes: B rows, N features, D the length of a cell vector, M members, K outputs, T points, W.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from sasanet.network.attribution.closed_form import INSIDE, WEIGHTS
from sasanet.network.attribution.moment_propagation import smoothed_gradient, value_and_gradient
from sasanet.network.coalitions import add_up
from sasanet.network.embedding.cells import LookUps, TableEmbedding
from sasanet.network.embedding.memo import RemembersTables
from sasanet.network.interface import TabularNetwork
from sasanet.network.layers import feed_forward, linear, used_up
from sasanet.network.set_value import SetValue

POINTS = (INSIDE, 1 - INSIDE, 1.0)  # t; at t = 0 the gradient is that of the cell alone
_FARTHEST = 8.0  # standardised inputs beyond this count as this


def can_distil(marginal: nn.Module) -> bool:
    """Tell whether a marginal module is one this module can be taught from."""
    return isinstance(marginal, SetValue) and isinstance(marginal.embedding, TableEmbedding)


class RowFacts(NamedTuple):
    """What is known of rows before the correction.

    The coarse formula's φ_i are ``start``_i + ⟨a_i, ``along``⟩.
    """

    inputs: Tensor  # of the network that corrects, standardised: [B, I]
    start: Tensor  # [B, N, K]
    along: Tensor  # [B, W, K]
    output: Tensor  # v: [B, K]


class DistilledAttribution(RemembersTables, TabularNetwork):
    """The learned Shapley module of a set network with a table of cell vectors.

    Parameters
    ----------
    length : int
        D.
    directions : int
        W.
    hidden : int
        Units of the hidden layer.
    n_outputs : int
        K.
    """

    to_cell: Tensor
    to_row: Tensor
    center: Tensor
    spread: Tensor
    reach: Tensor
    largest_gap: Tensor

    def __init__(self, length: int, directions: int, hidden: int, n_outputs: int) -> None:
        super().__init__()
        self.n_outputs, self.hidden = n_outputs, hidden
        inputs = directions * (1 + len(POINTS) * n_outputs) + n_outputs + 1
        self.register_buffer("to_cell", torch.zeros(length, directions))  # A
        self.register_buffer("to_row", torch.zeros(length, directions))  # Gᵀ
        self.register_buffer("center", torch.zeros(inputs))  # of the taught rows' inputs
        self.register_buffer("spread", torch.ones(inputs))
        # Beyond these a row is unlike those taught: mean squared input, and missed |v − Σφ|.
        self.register_buffer("reach", torch.tensor(torch.inf))
        self.register_buffer("largest_gap", torch.full((n_outputs,), torch.inf))
        sizes = [inputs, hidden, directions * n_outputs]
        self.context = feed_forward(sizes, nn.GELU(), 0.0)
        for start in self.context[-1].parameters():  # nothing but the coarse formula yet
            nn.init.zeros_(start)

    @property
    def directions(self) -> int:
        """W."""
        return self.to_cell.shape[1]

    def attribute(
        self, marginal: SetValue, cells: Tensor, present: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return φ that add up, the output they add up to, and which rows are unlike those taught.

        The output is that of :meth:`SetValue.values`.

        Shape: cells, present [B, N] → φ [B, N, K], output [B, K], bool [B].
        """
        vectors, row = self.prepare(marginal, cells, present)
        found = self.raw(vectors, row) * present[..., None]
        gap = (row.output - found.sum(1)).abs()
        unlike = (gap > self.largest_gap).any(1) | (row.inputs.square().mean(1) > self.reach)
        return add_up(found, row.output, present), row.output, unlike

    def raw(self, vectors: Tensor, row: RowFacts) -> Tensor:
        """Return φ before they are made to add up: [B, N, W] → [B, N, K]; absent ones count not."""
        context = used_up(self.context, row.inputs.clamp(-_FARTHEST, _FARTHEST))
        along = row.along + context.unflatten(1, (self.directions, -1))
        # Transposed: few outputs times many cells, which is faster than the other way around.
        return torch.baddbmm(row.start.mT, along.mT, vectors.mT).mT

    def prepare(
        self, marginal: SetValue, cells: Tensor, present: Tensor
    ) -> tuple[Tensor, RowFacts]:
        """Return the cells' vectors [B, N, W] and all else that is known before the correction.

        Those of absent cells are 0.
        """
        embedding = marginal.embedding
        assert isinstance(embedding, TableEmbedding)
        found = embedding.look_ups(cells, present)
        sums, squares = self._sums(marginal, cells, present[:, None], found)
        value, gradients = self._gradients(marginal, sums, squares)
        # ρ(b) − ρ(b) is zero only up to rounding; v(∅) must be exactly φ0.
        output = (value * present.any(1)[:, None, None]).mean(1)
        vectors, alone = self._read(marginal, found)
        share = present.float().mean(1, keepdim=True)
        means = gradients.mean(2).permute(1, 0, 2, 3).flatten(1)
        inputs = torch.cat([vectors.sum(1), means, output, share], 1)
        inputs = inputs.sub_(self.center).div_(self.spread)
        return vectors, RowFacts(inputs, *self._coarse(marginal, vectors, alone, gradients), output)

    def _sums(
        self, marginal: SetValue, cells: Tensor, present: Tensor, found: LookUps
    ) -> tuple[Tensor, Tensor]:
        """Return each member's Σ r_mi ψ_i and Σ (r_mi ψ_i)²: [B, N], [B, 1, N] → [B, M, D] twice.

        With one member both are looked up at once.
        """
        embedding = marginal.embedding
        assert isinstance(embedding, TableEmbedding)
        if marginal.factors is not None:
            squares = self.remembered(
                "squares", embedding.weights, lambda: embedding.rows().square()
            )
            weights = present * marginal.factors.square()
            own = weights @ embedding.read_each(squares, found)
            return marginal._sums(cells, present)[:, 0], own

        def with_squares() -> Tensor:
            rows = embedding.rows()
            return torch.cat([rows, rows.square()], 1)

        table = self.remembered("with squares", embedding.weights, with_squares)
        sums, squares = embedding.read_sums(table, found)[:, None].chunk(2, dim=2)
        return sums, squares

    def _read(self, marginal: SetValue, found: LookUps) -> tuple[Tensor, Tensor]:
        """Return a of every cell, and v as if it were alone: → [B, N, W], [B, N, K]."""
        embedding = marginal.embedding
        assert isinstance(embedding, TableEmbedding)
        table, alone = self.cell_table(marginal), self._alone(marginal)
        both = self.remembered("both", (table, alone), lambda: torch.cat([table, alone], 1))
        every = embedding.read_each(both, found)
        return every[..., : self.directions], every[..., self.directions :]

    def _coarse(
        self, marginal: SetValue, vectors: Tensor, alone: Tensor, gradients: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return the coarse formula as a start [B, N, K] and what goes along with a [B, W, K].

        Members differ in how much of a they take: theirs is all in the start.

        Shape: vectors [B, N, W], alone [B, N, K], gradients [T, B, M, K, W].
        """
        start = WEIGHTS[0] * alone
        along = torch.einsum("tbmkw,t->bmkw", gradients, gradients.new_tensor(WEIGHTS[1:]))
        if marginal.factors is None:
            return start, along[:, 0].mT
        each = (vectors @ along.flatten(1, 2).mT).unflatten(2, along.shape[1:3])  # [B, N, M, K]
        start = start + (each * marginal.factors.T[..., None]).mean(2)
        return start, torch.zeros_like(along[:, 0].mT)

    def _gradients(
        self, marginal: SetValue, sums: Tensor, squares: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return v and g_t of members: [B, M, D] twice → [B, M, K], [T, B, M, K, W].

        At the last t = 1 nothing varies.
        """
        function = marginal.together
        value, last = value_and_gradient(function, sums)
        means = torch.stack([INSIDE * sums, (1 - INSIDE) * sums])
        # Both inner points have one variance.
        inside = smoothed_gradient(function, means, INSIDE * (1 - INSIDE) * squares)
        # Projected apart: to put them together first costs more.
        to_row = self.to_row.mT
        return value, torch.cat([linear(inside, to_row), linear(last, to_row)[None]])

    def cell_table(self, marginal: SetValue) -> Tensor:
        """Return a of every row of the table: [rows, W]."""
        embedding = marginal.embedding
        assert isinstance(embedding, TableEmbedding)
        sources = (self.to_cell, *embedding.weights)
        return self.remembered("cells", sources, lambda: embedding.rows() @ self.to_cell)

    def _alone(self, marginal: SetValue) -> Tensor:
        """Return v of every row of the table as if it were alone: [rows, K]."""
        embedding = marginal.embedding
        assert isinstance(embedding, TableEmbedding)

        def value_of_rows() -> Tensor:
            rows = embedding.rows()[:, None]
            if marginal.factors is not None:
                rows = rows * marginal.factors.T[embedding.owners][..., None]
            parts = [marginal.together.value_of_sums(part).mean(1) for part in rows.split(4096)]
            return torch.cat(parts)

        factors = () if marginal.factors is None else (marginal.factors,)
        weights = (*marginal._weights, *embedding.weights, *factors)
        return self.remembered("alone", weights, value_of_rows)
