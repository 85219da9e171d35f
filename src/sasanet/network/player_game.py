"""The network's game with other players, or in other units.

Players may be groups of columns, each present or absent as a whole.

v is a function of a *sum*, so a group is a player like any other: its vector is the sum of its
cells' vectors, and the same formula gives its own Shapley value. That is not the sum of its
members' Shapley values, which also count what members add while the rest of the group is absent.

Units may be those of what is predicted: :mod:`~sasanet.network.attribution.probability`.

Sizes: B rows, N features, P players, D the length of a cell vector, M members of the network,
K outputs, S coalitions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from sasanet.network.attribution.closed_form import (
    ClosedFormAttribution,
    SumFunction,
    is_enumerated,
)
from sasanet.network.attribution.closer_look import closer_attributions
from sasanet.network.attribution.interactions import pair_interactions
from sasanet.network.attribution.owen import owen_values
from sasanet.network.attribution.probability import (
    Link,
    LinkedFunction,
    expected_growth,
)
from sasanet.network.sasanet import Contributions, SASANet, contributions_of_prefixes
from sasanet.network.set_value import SetFunction, SetValue


@dataclass(frozen=True)
class PlayerGame:
    """A game on a set network with players or units of its own, and the network's interface.

    Parameters
    ----------
    network : SASANet
        A network whose marginal module is a set function.
    membership : Tensor [P, N] of bool
        Which features belong to which player; every feature to exactly one.
    link : Link, optional
        To play for the probability, or the rate, instead of the network's output.
    """

    network: SASANet
    membership: Tensor
    link: Link | None = None

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
        return self.network.present(cells).float() @ self._weights(cells).mT > 0

    def values(self, cells: Tensor, coalitions: Tensor) -> Tensor:
        """Return v of every coalition of players: [B, N], [B, S, P] bool → [B, S, K]."""
        features = coalitions.float() @ self._weights(cells) > 0
        values = self.network.values(cells, features & self.network.present(cells)[:, None])
        return self._in_units(values)

    def value_contributions(self, cells: Tensor, present: Tensor) -> Contributions:
        """Return a function of orders of players: see :meth:`SASANet.value_contributions`."""
        return contributions_of_prefixes(lambda chosen: self.values(cells, chosen), present)

    def attribute(
        self, cells: Tensor, present: Tensor, closely: bool = False
    ) -> tuple[Tensor, Tensor]:
        """Return the attributions of the players and the output they nearly add up to.

        ``closely``: by a closer and slower formula (:mod:`~.attribution.closer_look`).

        Shape: cells [B, N], present [B, P] → φ [B, P, K], output [B, K].
        """
        value = self.marginal.member_values(cells, self.network.present(cells)[:, None])[:, 0]
        own, output = self._vectors(cells), self._in_units(value.mean(1))
        find = closer_attributions if closely else self._formula
        if self.link is not None:
            link = self.link.to(cells.device, torch.float32)
            function = LinkedFunction(self.marginal.together, link)
            flat, whole = own.flatten(2), output.float()
            ends = _ends(function, flat, present, whole)
            return find(function, present, flat, ends, whole, expected_growth), output
        parts = []
        for m, (member, vectors) in enumerate(self._members(own)):
            ends = _ends(member, vectors, present, value[:, m])
            parts.append(find(member, present, vectors, ends, value[:, m]))
        return torch.stack(parts).mean(0), output

    def members(self, cells: Tensor, totals: Tensor) -> Tensor:
        """Return the Owen values of all features, which add up to their groups' values.

        Shape: cells [B, N], totals [B, P, K] → [B, N, K].
        """
        vectors = self.marginal.cell_vectors(cells, self.network.present(cells))
        flat = self.marginal.member_vectors(vectors).flatten(2)
        link = None if self.link is None else self.link.to(cells.device, torch.float32)
        function = LinkedFunction(self.marginal.together, link)
        return owen_values(function, flat, self.membership.to(cells.device), totals)

    def _formula(self, *given: Any) -> Tensor:
        return ClosedFormAttribution(len(self.membership), points=1).attributions(*given)[0]

    def slopes(self, cells: Tensor, coalitions: Tensor) -> Tensor:
        """Return how fast v grows with the weight of every player, at some coalitions.

        A present player has weight 1 and an absent one 0 in the sum that v is a function of.

        Shape: cells [B, N], coalitions [B, S, P] bool → [B, S, P, K].
        """
        own = self._vectors(cells)
        with torch.enable_grad():
            weights = coalitions.to(own.dtype).requires_grad_()
            sums = torch.einsum("bsp,bpmd->bsmd", weights, own)
            values = self._in_units(self.marginal.together.value_of_sums(sums).mean(2))
            found = [
                torch.autograd.grad(part.sum(), weights, retain_graph=True)[0]
                for part in values.unbind(2)
            ]
        return torch.stack(found, 3)

    def interactions(self, cells: Tensor, present: Tensor) -> Tensor:
        """Return the Shapley interaction index I_ij of all pairs of players, 0 for i = j.

        Of the network's output, whatever the units. Shape: cells [B, N], present [B, P] →
        [B, P, P, K].
        """
        parts = [
            pair_interactions(member, present, vectors)
            for member, vectors in self._members(self._vectors(cells))
        ]
        return torch.stack(parts).mean(0)

    def _members(self, own: Tensor) -> Iterator[tuple[SetFunction, Tensor]]:
        """Yield each member's function and its vectors of the players: [B, P, M, D] → [B, P, D]."""
        for m, bias in enumerate(self.marginal.bias):
            marginal = self.marginal
            function = SetFunction(marginal.rho, bias, marginal.cap, marginal.ladder)
            yield function, own[:, :, m]

    def _in_units(self, outputs: Tensor) -> Tensor:
        """Return outputs of the network in the units of this game: [..., K] → [..., K]."""
        if self.link is None:
            return outputs
        return self.link.to(outputs.device, torch.float64).gained(outputs.double())

    def _weights(self, cells: Tensor) -> Tensor:
        return self.membership.to(cells.device, torch.float32)

    def _vectors(self, cells: Tensor) -> Tensor:
        """Return every player's vector for each member of the network: [B, N] → [B, P, M, D]."""
        vectors = self.marginal.cell_vectors(cells, self.network.present(cells))
        own = self.marginal.member_vectors(vectors)
        return torch.einsum("pn,bnmd->bpmd", self._weights(cells), own)


def _ends(function: SumFunction, vectors: Tensor, present: Tensor, value: Tensor) -> Tensor:
    """Return what each player adds alone, and last: [B, P, D], [B, K] → [B, P, 2, K].

    As :meth:`SetValue.ends`, whose look-ups are for single cells.
    """
    value_of = function.value_of_sums
    last = value[:, None] - value_of(vectors.sum(1, keepdim=True) - vectors)
    return torch.stack([value_of(vectors), last], 2) * present[..., None, None]


Game = SASANet | PlayerGame


def of_single_columns(game: Game) -> PlayerGame | None:
    """Return the same game with what a set network can do besides; none of another network."""
    if isinstance(game, PlayerGame):
        return game
    every = torch.eye(len(game.columns), dtype=torch.bool)
    return PlayerGame(game, every) if game.is_set else None
