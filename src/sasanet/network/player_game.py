"""The network's game with other players: groups of columns, each present or absent as a whole.

v is a function of a *sum*, so a group is a player like any other: its vector is the sum of its
cells' vectors, and the same formula gives its own Shapley value. That is not the sum of its
members' Shapley values, which also count what members add while the rest of the group is absent.

Sizes: B rows, N features, P players, D the length of a cell vector, M members of the network,
K outputs, S coalitions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from sasanet.network.attribution.closed_form import ClosedFormAttribution, is_enumerated
from sasanet.network.sasanet import Contributions, SASANet, contributions_of_prefixes
from sasanet.network.set_value import SetFunction, SetValue


@dataclass(frozen=True)
class PlayerGame:
    """A game of groups of features on a set network, with the interface of the network itself.

    Parameters
    ----------
    network : SASANet
        A network whose marginal module is a set function.
    membership : Tensor [P, N] of bool
        Which features belong to which player; every feature to exactly one.
    """

    network: SASANet
    membership: Tensor

    @property
    def marginal(self) -> SetValue:
        """The set function."""
        assert isinstance(self.network.marginal, SetValue)
        return self.network.marginal

    @property
    def n_outputs(self) -> int:
        """K."""
        return self.network.n_outputs

    @property
    def is_exact(self) -> bool:
        """Whether the attributions of every row are exact: all coalitions are enumerated."""
        return is_enumerated(len(self.membership))

    def parameters(self) -> Iterator[nn.Parameter]:
        """Return the parameters of the network, which tell its device."""
        return self.network.parameters()

    def present(self, cells: Tensor) -> Tensor:
        """Return which players have any cell: [B, N] → [B, P] bool."""
        return (~cells.isnan()).float() @ self._weights(cells).mT > 0

    def values(self, cells: Tensor, coalitions: Tensor) -> Tensor:
        """Return v of every coalition of players: [B, N], [B, S, P] bool → [B, S, K]."""
        features = coalitions.float() @ self._weights(cells) > 0
        return self.network.values(cells, features & ~cells.isnan()[:, None])

    def value_contributions(self, cells: Tensor, present: Tensor) -> Contributions:
        """Return a function of orders of players: see :meth:`SASANet.value_contributions`."""
        return contributions_of_prefixes(lambda chosen: self.values(cells, chosen), present)

    def attribute(self, cells: Tensor, present: Tensor) -> tuple[Tensor, Tensor]:
        """Return the attributions of the players and the output they nearly add up to.

        Shape: cells [B, N], present [B, P] → φ [B, P, K], output [B, K].
        """
        value = self.marginal.member_values(cells, ~cells.isnan()[:, None])[:, 0]
        own = self._vectors(cells)
        ends = self._ends(own, present, value)
        formula = ClosedFormAttribution(len(self.membership), points=1)
        found = [
            formula.attributions(
                SetFunction(self.marginal.rho, bias, self.marginal.cap),
                present,
                own[:, :, m],
                ends[..., m, :],
                value[:, m],
            )[0]
            for m, bias in enumerate(self.marginal.bias)
        ]
        return torch.stack(found).mean(0), value.mean(1)

    def _weights(self, cells: Tensor) -> Tensor:
        return self.membership.to(cells.device, torch.float32)

    def _vectors(self, cells: Tensor) -> Tensor:
        """Return every player's vector for each member of the network: [B, N] → [B, P, M, D]."""
        vectors = self.marginal.cell_vectors(cells, ~cells.isnan())
        own = self.marginal.member_vectors(vectors)
        return torch.einsum("pn,bnmd->bpmd", self._weights(cells), own)

    def _ends(self, own: Tensor, present: Tensor, value: Tensor) -> Tensor:
        """Return what each player adds alone, and last: [B, P, M, D], [B, M, K] → [B, P, 2, M, K].

        As :meth:`SetValue.ends`, whose look-ups are for single cells.
        """
        value_of = self.marginal.together.value_of_sums
        last = value[:, None] - value_of(own.sum(1, keepdim=True) - own)
        return torch.stack([value_of(own), last], 2) * present[..., None, None, None]


Game = SASANet | PlayerGame
