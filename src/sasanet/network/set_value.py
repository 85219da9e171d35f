"""An order in, what each feature adds along it out: the paper's marginal contribution module.

Two of them behind one interface (sizes: B rows, N features, K outputs):

- ``cell_vectors(cells, present) → [B, N, D]``: what the module knows of each cell, once per row;
- ``contributions(vectors, present, orders) → Δ [B, N, K]``: what the k-th feature of the order adds
  to the base value and everything before it; exactly zero for absent features, which stand last;
- ``contributions_both_ways(…) → Δ, Δ'``: the same for the order and its reverse.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from sasanet.network.coalitions import positions, steps_both_ways
from sasanet.network.embedding.cells import TableTokens, Tokens
from sasanet.network.layers import feed_forward

_MANY = 8  # coalitions of one row
_LONG = 64  # features beyond which running sums are cheaper than a product
_SMALL_TABLE = 4096  # rows; beyond it evaluating each cell is cheaper than each row


@dataclass(frozen=True)
class SetFunction:
    """The value of summed cell vectors: cap·tanh((ρ(b + Σψ) − ρ(b)) / cap).

    The cap keeps a claim from being stronger than the rows support (log n for probabilities).
    """

    # NOTE[DIFF]: the paper's output has no bound; the log-odds of hopeless rows then run away, and
    # their attributions with them.

    rho: nn.Sequential
    bias: Tensor  # [D], or [M, D] for M members at once
    cap: float

    def value_of_sums(self, sums: Tensor) -> Tensor:
        """Return v of summed cell vectors: [..., D] → [..., K]; with members [..., M, D]."""
        return self.bounded(self.rho(sums + self.bias) - self.rho(self.bias))

    def bounded(self, raw: Tensor) -> Tensor:
        """Bend claims so that none is stronger than the cap."""
        return self.cap * torch.tanh(raw / self.cap) if math.isfinite(self.cap) else raw


class SetValue(nn.Module):
    """A value network that is a set function: v(S) = mean_m f_m(Σ_{i∈S} r_mi ψ_i).

    ψ_i is the vector of cell i and f a :class:`SetFunction`, so the value cannot depend on the
    order: the condition of Theorem 3.4 is true by construction. v(∅) = 0 exactly (the base value is
    added outside). Usually there is one member and r = 1.

    Several members share ψ and ρ; each has its own bias and its own factor r_mi for every feature,
    +1 or −1 at first, so that each sees another table. Each is trained by its own loss, as TabM's
    are, and the Shapley values of their mean are the mean of their Shapley values (linearity).

    Sizes: M members; in ``[..., M, D]`` one sum for each of them.
    """

    # NOTE[DIFF]: the paper has only the sequence module, whose output depends on the order. A set
    # function trains on a few coalitions per row instead of N prefixes and is as expressive.

    def __init__(
        self,
        tokens: Tokens,
        sizes: Sequence[int],
        activation: nn.Module,
        dropout: float,
        cap: float,
        n_members: int,
        n_features: int,
    ) -> None:
        super().__init__()
        self.tokens = tokens
        self.cap = cap
        self.bias = nn.Parameter(0.1 * torch.randn(n_members, sizes[0]))
        self.rho = feed_forward(sizes, activation, dropout, activate_first=True)
        self.factors: nn.Parameter | None = None
        if n_members > 1:
            self.factors = nn.Parameter(2.0 * torch.randint(0, 2, (n_members, n_features)) - 1)

    @property
    def _together(self) -> SetFunction:
        """All members at once."""
        return SetFunction(self.rho, self.bias, self.cap)

    def members(self, vectors: Tensor) -> Iterator[tuple[SetFunction, Tensor]]:
        """Yield each member's function and its own cell vectors: [B, N, D] → [B, N, D]."""
        for m, bias in enumerate(self.bias):
            own = vectors if self.factors is None else vectors * self.factors[m, :, None]
            yield SetFunction(self.rho, bias, self.cap), own

    def _weighted(self, coalitions: Tensor) -> Tensor:
        """Return how much of each feature is in each member's sum: [..., N] → [..., M, N]."""
        weights = coalitions.to(self.bias.dtype)[..., None, :]
        return weights if self.factors is None else weights * self.factors

    def _sums(self, cells: Tensor, coalitions: Tensor) -> Tensor:
        """Return every member's sum over every coalition: [B, N], [B, S, N] → [B, S, M, D]."""
        if self.factors is None and coalitions.shape[1] < _MANY:
            return self.tokens.coalition_sums(cells, coalitions)[:, :, None]
        # Many sums share the row's vectors: one product instead of look-ups for each.
        weights = self._weighted(coalitions)
        return (weights.flatten(1, 2) @ self.tokens(cells)).unflatten(1, weights.shape[1:3])

    def values(self, cells: Tensor, coalitions: Tensor) -> Tensor:
        """Return v(S) − φ0 for every coalition: [B, N], [B, S, N] → [B, S, K]."""
        return self.member_values(cells, coalitions).mean(2)

    def member_values(self, cells: Tensor, coalitions: Tensor) -> Tensor:
        """Return the same for each member: [B, N], [B, S, N] → [B, S, M, K]."""
        values = self._together.value_of_sums(self._sums(cells, coalitions))
        # ρ(b) − ρ(b) is zero only up to rounding: of nothing the value is exactly φ0.
        return values * coalitions.any(2)[..., None, None]

    def values_with_complement(self, cells: Tensor, present: Tensor, kept: Tensor) -> Tensor:
        """Return each member's v of the complete row, of a coalition in it, and of the rest.

        Shape: cells, present, kept [B, N] → [B, 3, M, K].

        Sums are linear, so the complete row costs no look-ups of its own.
        """
        kept, rest = self._sums(cells, torch.stack([kept, present & ~kept], 1)).unbind(1)
        # The empty coalition is the last row: one pass through ρ instead of two.
        sums = torch.cat([kept + rest, kept, rest, torch.zeros_like(kept[:1])])
        raw = self.rho(sums + self.bias)
        values = self._together.bounded(raw[:-1] - raw[-1:])
        return values.unflatten(0, (3, len(cells))).transpose(0, 1)

    def cell_vectors(self, cells: Tensor, present: Tensor) -> Tensor:
        """Return ψ of every cell, zero where absent: [B, N, D]."""
        return self.tokens(cells) * present[..., None]

    def contributions(self, vectors: Tensor, present: Tensor, orders: Tensor) -> Tensor:
        """Return Δ along each order: the difference of v between neighbouring prefixes."""
        del present  # absent features are zero vectors at the end: their Δ is exactly zero
        value = self._together.value_of_sums(self._prefix_sums(vectors, orders)).mean(2)
        return torch.cat([value[:, :1], value.diff(dim=1)], 1)

    def contributions_both_ways(
        self, vectors: Tensor, present: Tensor, orders: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return Δ along each order and along its reverse, both in the order's own sequence.

        What is behind a prefix is the total minus the prefix: the way back needs no new sums.
        """
        del present
        prefix = self._prefix_sums(vectors, orders)
        both = torch.stack([prefix, prefix[:, -1:] - prefix], 1)
        ahead, behind = self._together.value_of_sums(both).mean(3).unbind(1)  # first k, the rest
        return steps_both_ways(ahead, behind)

    def _prefix_sums(self, vectors: Tensor, orders: Tensor) -> Tensor:
        """Return every member's running sum along each order: [B, N, D], [B, N] → [B, N, M, D]."""
        n = vectors.shape[1]
        if n <= _LONG:
            # A product with "who stands before" costs N² D, yet reads the vectors only once.
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
        """Return the ends of every feature's position profile and the value of the row, by member.

        Coming first a feature adds v({i}) − v(∅), which depends on its own cell only: with one
        member it is read from one evaluation per table row (between two knots, their mixture).
        Coming last it adds v(S) − v(S∖i).

        Shape: cells, present [B, N], vectors [B, N, D], value [B, M, K] (where it is known)
        → ends [B, N, 2, M, K], value [B, M, K].
        """
        own = vectors[:, :, None]
        if self.factors is not None:
            own = own * self.factors.T[..., None]
        value_of = self._together.value_of_sums
        alone = self._alone(cells)
        if alone is None:
            alone = value_of(own)
        total = own.sum(1, keepdim=True)
        whole = value_of(total) if value is None else value[:, None]
        last = whole - value_of(total - own)
        return torch.stack([alone, last], 2) * present[..., None, None, None], whole[:, 0]

    def _alone(self, cells: Tensor) -> Tensor | None:
        """Read v({i}) from a table of the value of every row, if that is cheap: [B, N, M, K]."""
        if not isinstance(self.tokens, TableTokens) or self.factors is not None:
            return None
        if self.tokens.n_rows > _SMALL_TABLE:
            return None
        by_row = self._together.value_of_sums(self.tokens.rows())
        return self.tokens.read(by_row, cells)[:, :, None]
