"""What attributions should be: Shapley values by enumeration or by random orders.

Sampled values come with their variance, so that their noise is not mistaken for an error of the
attributions.

Sizes: n rows, N features, K outputs, m coalitions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sasanet.arrays import Floats
from sasanet.malloc import steady_heap
from sasanet.network import inference
from sasanet.network.coalitions import by_feature, nested_orders, random_orders
from sasanet.network.player_game import Game
from sasanet.network.sasanet import Contributions, SASANet
from sasanet.shapley.exact import exact_shapley
from sasanet.shapley.game import ValueFunction

DrawOrders = Callable[[Tensor, torch.Generator], Tensor]  # of the present players
MakeContributions = Callable[[Any, Tensor, Tensor], Contributions]  # of a game

EXACT_UP_TO = 12  # present features: 4,096 coalitions per row
_CELLS_AT_ONCE = 20_480  # as in inference: bounds the memory
_PREFIXES_AT_ONCE = 1_024  # of the set network: about 1 MB of sums, which stays in a core's cache


@dataclass(frozen=True, eq=False)
class ReferenceValues:
    """Shapley values to compare attributions with, on the network's scale.

    Parameters
    ----------
    values, variance : ndarray (n, N, K)
        The values, and the sampling variance of each; 0 where exact.
    n_orders : int
        Orders used for each row that was not enumerated; 0 if all were.
    """

    values: Floats
    variance: Floats
    n_orders: int


def is_enumerated(network: Game, cells: Tensor) -> Tensor:
    """Return which rows have few enough present players: [n, N] → [n] bool."""
    return network.present(cells).sum(1) <= EXACT_UP_TO


def own_game(
    network: Game, cells: Tensor, n_orders: int, generator: torch.Generator
) -> ReferenceValues:
    """Return the Shapley values of v(S) = f(x_S): enumerated where few players are present."""
    exact = is_enumerated(network, cells)
    values = np.zeros((*network.present(cells).shape, network.n_outputs))
    variance = np.zeros_like(values)
    rows, others = exact.numpy(), ~exact.numpy()
    values[rows] = enumerated(network, cells[exact])
    if others.any():
        make = type(network).value_contributions
        found = sampled(network, cells[~exact], make, n_orders, generator)
        values[others], variance[others] = found
    return ReferenceValues(values, variance, n_orders if others.any() else 0)


def within_groups(
    network: Game,
    cells: Tensor,
    n_orders: int,
    generator: torch.Generator,
    membership: Tensor,
) -> ReferenceValues:
    """Return the Owen values of v(S): the mean over orders in which groups stand together."""

    def draw(present: Tensor, generator: torch.Generator) -> Tensor:
        return nested_orders(present, membership, generator)

    make = type(network).value_contributions
    return ReferenceValues(*sampled(network, cells, make, n_orders, generator, draw), n_orders)


def distillation_targets(
    network: SASANet, cells: Tensor, n_orders: int, generator: torch.Generator
) -> ReferenceValues:
    """Return the mean over orders of the marginal module's Δ, which the Shapley module learned.

    Δ may depend on the whole order, not only on which features come before, so there are no
    coalitions to enumerate.
    """
    found = sampled(network, cells, SASANet.module_contributions, n_orders, generator)
    return ReferenceValues(*found, n_orders)


def enumerated(network: Game, cells: Tensor) -> Floats:
    """Return exact Shapley values from all coalitions of present players: [n, N] → (n, P, K).

    Missing players add nothing to any coalition: their value is 0, and they are left out.
    """
    present = network.present(cells).numpy()
    found = np.zeros((*present.shape, network.n_outputs))
    patterns, group = np.unique(present, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        rows = np.flatnonzero(group.ravel() == number)
        players = np.flatnonzero(pattern)
        if len(players):
            game = _game(network, cells[rows], players, len(pattern))
            found[np.ix_(rows, players)] = exact_shapley(game, len(players))
    return found


def _game(network: Game, cells: Tensor, players: NDArray[np.intp], n_players: int) -> ValueFunction:
    """Return v(S) of rows for coalitions of some players, as a function of masks."""
    size = max(1, _CELLS_AT_ONCE // cells.shape[1])

    def value(masks: NDArray[np.bool_]) -> Floats:
        wide = torch.zeros(len(masks), n_players, dtype=torch.bool)
        wide[:, players] = torch.from_numpy(masks)
        parts = [inference.coalition_outputs(network, cells, m[None]) for m in wide.split(size)]
        return torch.cat(parts, 1).numpy()

    return value


def sampled(
    network: Game,
    cells: Tensor,
    make_contributions: MakeContributions,
    n_orders: int,
    generator: torch.Generator,
    draw_orders: DrawOrders = random_orders,
) -> tuple[Floats, Floats]:
    """Return the mean contributions along random orders and their reverses, and its variance.

    Shape: cells [n, N] → two (n, P, K).
    """
    n_features, device = cells.shape[1], next(network.parameters()).device
    size = _CELLS_AT_ONCE // n_features**2  # every prefix needs a pass of its own
    if isinstance(network, SASANet) and network.is_set:
        size = _PREFIXES_AT_ONCE // n_features
    means, variances = [], []
    with torch.no_grad(), steady_heap():
        for part in cells.to(device).split(max(1, size)):
            present = network.present(part)
            contributions = make_contributions(network, part, present)

            def pair(
                contributions: Contributions = contributions, present: Tensor = present
            ) -> Tensor:
                orders = draw_orders(present, generator)
                forward, backward = contributions(orders)
                return by_feature((forward + backward) / 2, orders)

            mean, variance = inference.mean_of_draws(pair, n_orders // 2)
            means.append(mean)
            variances.append(variance)
    return torch.cat(means).numpy(), torch.cat(variances).numpy()
