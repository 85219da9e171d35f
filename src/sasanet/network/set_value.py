"""A value network that is a set function: the default marginal contribution module.

It has the interface of :mod:`~sasanet.network.sequence_value` (sizes: B rows, N features, K
outputs):

- ``cell_vectors(cells, present) → [B, N, D]``: the vector of each cell, computed once per row;
- ``contributions(vectors, present, orders) → Δ [B, N, K]``: what the k-th feature of the order adds
  to those before it; exactly zero for absent features, which come last;
- ``contributions_both_ways(…) → Δ, Δ'``: the same for the order and its reverse.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor, nn

from sasanet.network.coalitions import positions, steps_both_ways
from sasanet.network.embedding.cells import CellEmbedding, TableEmbedding
from sasanet.network.embedding.memo import RemembersTables
from sasanet.network.layers import Ladder, feed_forward, used_up

_MANY = 8  # coalitions per row
_LONG = 64  # features, above which cumulative sums are cheaper than a product
_SMALL_TABLE = 4096  # rows, above which evaluating each cell is cheaper than each row


@dataclass(frozen=True)
class SetFunction:
    """The value of a sum of cell vectors: cap·tanh((ρ(b + Σψ) − ρ(b)) / cap).

    The cap bounds predictions to what the number of rows supports: log n for log-odds.
    """

    # NOTE[DIFF]: the output of the paper has no bound; the log-odds of some rows then grow without
    # limit, and their attributions too.

    rho: nn.Sequential
    bias: Tensor  # [D], or [M, D] for M members at once
    cap: float
    ladder: Ladder | None = None  # of several quantiles

    @cached_property
    def origin(self) -> Tensor:
        """ρ(b), which is taken off: of nothing v is 0. Shape: [K], or [M, K]."""
        found: Tensor = self.rho(self.bias)
        return found

    @cached_property
    def linears(self) -> list[nn.Linear]:
        """The linear layers of ρ; before each comes the activation."""
        return [layer for layer in self.rho if isinstance(layer, nn.Linear)]

    def value_of_sums(self, sums: Tensor) -> Tensor:
        """Return v of summed cell vectors: [..., D] → [..., K]; with members [..., M, D]."""
        return self._value(sums + self.bias)

    def value_without(self, total: Tensor, parts: Tensor) -> Tensor:
        """Return v of a sum without each of its parts: [..., 1, D], [..., N, D] → [..., N, K]."""
        return self._value(total + self.bias - parts)

    def _value(self, inputs: Tensor) -> Tensor:
        return self.bounded(used_up(self.rho, inputs).sub_(self.origin))

    def bounded(self, raw: Tensor) -> Tensor:
        """Apply the cap, smoothly; quantiles are put in order."""
        if self.ladder is not None:
            return self.ladder(raw)
        return self.cap * torch.tanh(raw / self.cap) if math.isfinite(self.cap) else raw


class SetValue(RemembersTables):
    """A value network that is a set function: v(S) = mean_m f_m(Σ_{i∈S} r_mi ψ_i).

    ψ_i is the vector of cell i and f a :class:`SetFunction`, so the value cannot depend on the
    order: the condition of Theorem 3.4 holds by construction. v(∅) = 0 exactly; the base value is
    added elsewhere. By default there is one member and r = 1.

    Several members share ψ and ρ. Each has its own bias and its own factor r_mi for every feature,
    initially +1 or −1, so that the members differ. Each is trained with its own loss, as in TabM,
    and the Shapley values of their mean are the mean of their Shapley values (linearity).

    Sizes: M members; in ``[..., M, D]`` one sum for each of them.
    """

    # NOTE[DIFF]: the paper has the sequence module only, whose output depends on the order. A set
    # function is as expressive and trains on a few coalitions per row instead of N prefixes.

    def __init__(
        self,
        embedding: CellEmbedding,
        sizes: Sequence[int],
        activation: nn.Module,
        dropout: float,
        cap: float,
        n_members: int,
        n_features: int,
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.cap = cap
        self.ladder: Ladder | None = None
        self.bias = nn.Parameter(0.1 * torch.randn(n_members, sizes[0]))
        self.rho = feed_forward(sizes, activation, dropout, activate_first=True)
        self.factors: nn.Parameter | None = None
        if n_members > 1:
            self.factors = nn.Parameter(2.0 * torch.randint(0, 2, (n_members, n_features)) - 1)

    @property
    def together(self) -> SetFunction:
        """All members at once."""
        return self._functions[0]

    @property
    def _functions(self) -> list[SetFunction]:
        """The function of all members at once, then that of each."""
        return self.remembered("functions", self._weights, self._make_functions)

    @property
    def _weights(self) -> tuple[Tensor, ...]:
        """What ρ is made from, and the bias."""
        linear = [layer for layer in self.rho if isinstance(layer, nn.Linear)]
        return (self.bias, *(part for layer in linear for part in (layer.weight, layer.bias)))

    def _make_functions(self) -> list[SetFunction]:
        biases = (self.bias, *self.bias)
        return [SetFunction(self.rho, bias, self.cap, self.ladder) for bias in biases]

    def members(self, vectors: Tensor) -> Iterator[tuple[SetFunction, Tensor]]:
        """Yield each member's function and its own cell vectors: [B, N, D] → [B, N, D]."""
        for m, function in enumerate(self._functions[1:]):
            own = vectors if self.factors is None else vectors * self.factors[m, :, None]
            yield function, own

    def member_vectors(self, vectors: Tensor) -> Tensor:
        """Return every member's own cell vectors: [B, N, D] → [B, N, M, D]."""
        own = vectors[:, :, None]
        return own if self.factors is None else own * self.factors.T[..., None]

    def _weighted(self, coalitions: Tensor) -> Tensor:
        """Return the weight of each feature in each member's sum: [..., N] → [..., M, N]."""
        weights = coalitions.to(self.bias.dtype)[..., None, :]
        return weights if self.factors is None else weights * self.factors

    def _sums(self, cells: Tensor, coalitions: Tensor) -> Tensor:
        """Return every member's sum over every coalition: [B, N], [B, S, N] → [B, S, M, D]."""
        if self.factors is None and coalitions.shape[1] < _MANY:
            return self.embedding.coalition_sums(cells, coalitions)[:, :, None]
        # For many sums per row one matrix product is faster than look-ups for each.
        weights = self._weighted(coalitions)
        return (weights.flatten(1, 2) @ self.embedding(cells)).unflatten(1, weights.shape[1:3])

    def values(self, cells: Tensor, coalitions: Tensor) -> Tensor:
        """Return v(S) − φ0 for every coalition: [B, N], [B, S, N] → [B, S, K]."""
        return self.member_values(cells, coalitions).mean(2)

    def member_values(self, cells: Tensor, coalitions: Tensor) -> Tensor:
        """Return the same for each member: [B, N], [B, S, N] → [B, S, M, K]."""
        values = self.together.value_of_sums(self._sums(cells, coalitions))
        # ρ(b) − ρ(b) is zero only up to rounding; v(∅) must be exactly φ0.
        return values * coalitions.any(2)[..., None, None]

    def raw_values(self, cells: Tensor, coalitions: Tensor) -> Tensor:
        """Return every member's outputs before the cap or :class:`Ladder`, as member_values."""
        plain = SetFunction(self.rho, self.bias, math.inf)
        return plain.value_of_sums(self._sums(cells, coalitions))

    @torch.no_grad()
    def scale_outputs(self, factors: Tensor) -> None:
        """Multiply what stands before the cap or :class:`Ladder`: of every output k by factor k."""
        last = self.rho[-1]
        assert isinstance(last, nn.Linear)
        last.weight.mul_(factors[:, None])
        last.bias.mul_(factors)

    def values_with_complement(
        self, cells: Tensor, present: Tensor, kept: Tensor, others: Tensor | None = None
    ) -> Tensor:
        """Return each member's v of the complete row, of a coalition, and of its complement.

        Sums are linear, so the complete row needs no look-ups of its own. With ``others``, as many
        further rows, the last value is that of each of these.

        Shape: cells, present, kept, others [B, N] → [B, 3 or 4, M, K].
        """
        parts = torch.stack([kept, present & ~kept], 1)
        if others is not None:
            there = ~others[:, : present.shape[1]].isnan()
            parts = torch.cat([parts, torch.stack([there, torch.zeros_like(there)], 1)])
            cells = torch.cat([cells, others])
        kept, rest = self._sums(cells, parts).unbind(1)
        n_rows = len(present)
        # The empty coalition is appended as the last row: one pass through ρ instead of two.
        own = [kept[:n_rows] + rest[:n_rows], kept[:n_rows], rest[:n_rows], kept[n_rows:]]
        raw = self.rho(torch.cat([*own, torch.zeros_like(kept[:1])]) + self.bias)
        values = self.together.bounded(raw[:-1] - raw[-1:])
        return values.unflatten(0, (-1, n_rows)).transpose(0, 1)

    def cell_vectors(self, cells: Tensor, present: Tensor) -> Tensor:
        """Return ψ of every cell, zero where absent: [B, N, D]."""
        vectors = self.embedding(cells)
        return vectors if present.all() else vectors * present[..., None]

    def contributions(self, vectors: Tensor, present: Tensor, orders: Tensor) -> Tensor:
        """Return Δ along each order: the difference of v between successive prefixes."""
        del present  # absent features are zero vectors and come last: their Δ is exactly zero
        value = self.together.value_of_sums(self._prefix_sums(vectors, orders)).mean(2)
        return torch.cat([value[:, :1], value.diff(dim=1)], 1)

    def contributions_both_ways(
        self, vectors: Tensor, present: Tensor, orders: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return Δ along each order and its reverse, both in the sequence of the order.

        The sum over the rest is the total minus the prefix: the reverse needs no new sums.
        """
        del present
        prefix = self._prefix_sums(vectors, orders)
        both = torch.stack([prefix, prefix[:, -1:] - prefix], 1)
        ahead, behind = self.together.value_of_sums(both).mean(3).unbind(1)  # first k, the rest
        return steps_both_ways(ahead, behind)

    def _prefix_sums(self, vectors: Tensor, orders: Tensor) -> Tensor:
        """Return every member's sums over prefixes of each order: [B, N, D] → [B, N, M, D]."""
        n = vectors.shape[1]
        if n <= _LONG:
            # A product with the mask "comes before" costs N² D but reads the vectors only once.
            before = positions(orders)[:, None] <= torch.arange(n, device=orders.device)[:, None]
            weights = self._weighted(before)
            return (weights.flatten(1, 2) @ vectors).unflatten(1, weights.shape[1:3])
        index = orders[..., None].expand(-1, -1, vectors.shape[2])
        steps = torch.gather(vectors, 1, index)[:, :, None]
        if self.factors is not None:
            steps = steps * self.factors.T[orders][..., None]
        return steps.cumsum(1)

    def ends(
        self, cells: Tensor, present: Tensor, vectors: Tensor, value: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return both ends of every position profile and the value of the row, per member.

        A feature that comes first adds v({i}) − v(∅), which depends on its own cell only: with one
        member it is interpolated from one evaluation per table row. One that comes last adds
        v(S) − v(S∖i).

        Shape: cells, present [B, N], vectors [B, N, D], value [B, M, K] (if already computed)
        → ends [B, N, 2, M, K], value [B, M, K].
        """
        own = self.member_vectors(vectors)
        value_of = self.together.value_of_sums
        alone = self._alone(cells)
        if alone is None:
            alone = value_of(own)
        total = own.sum(1, keepdim=True)
        whole = value_of(total) if value is None else value[:, None]
        last = whole - self.together.value_without(total, own)
        return torch.stack([alone, last], 2) * present[..., None, None, None], whole[:, 0]

    @property
    def interpolates_alone(self) -> bool:
        """Whether v({i}) of a number is interpolated between the values of two knots."""
        if not isinstance(self.embedding, TableEmbedding) or self.factors is not None:
            return False
        return self.embedding.n_rows <= _SMALL_TABLE

    def _alone(self, cells: Tensor) -> Tensor | None:
        """Return v({i}) from the value of every table row, if that is cheap: [B, N, M, K]."""
        if not self.interpolates_alone:
            return None
        assert isinstance(self.embedding, TableEmbedding)
        weights = (*self._weights, *self.embedding.weights)
        by_row = self.remembered("alone", weights, self._value_of_rows)
        return self.embedding.read(by_row, cells)[:, :, None]

    def _value_of_rows(self) -> Tensor:
        """Return v of every row of the table as if it were alone: [rows, K]."""
        assert isinstance(self.embedding, TableEmbedding)
        return self.together.value_of_sums(self.embedding.rows())
