"""A network and encoded rows in, what its attributions should be out, with the variance of that.

Sizes: n rows, N features, K outputs, m coalitions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sasanet.arrays import Floats
from sasanet.malloc import steady_heap
from sasanet.network import inference
from sasanet.network.coalitions import by_feature, random_orders
from sasanet.network.sasanet import SASANet, Walk
from sasanet.shapley.exact import exact_shapley
from sasanet.shapley.game import ValueFunction

Walker = Callable[[SASANet, Tensor, Tensor], Walk]

EXACT_UP_TO = 12  # present features: 4,096 coalitions a row
_CELLS_AT_ONCE = 20_480  # as many as inference takes: bounds the memory
_PREFIXES_AT_ONCE = 1_024  # of the set network: about 1 MB of sums, which stays in a core's cache


@dataclass(frozen=True, eq=False)
class Truth:
    """Shapley values, on the network's scale.

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


def is_enumerated(cells: Tensor) -> Tensor:
    """Return which rows have few enough present features: [n, N] → [n] bool."""
    return (~cells.isnan()).sum(1) <= EXACT_UP_TO


def own_game(network: SASANet, cells: Tensor, n_orders: int, generator: torch.Generator) -> Truth:
    """Return the Shapley values of v(S) = f(x_S): enumerated where few features are present."""
    exact = is_enumerated(cells)
    values = np.zeros((*cells.shape, network.n_outputs))
    variance = np.zeros_like(values)
    rows, others = exact.numpy(), ~exact.numpy()
    values[rows] = enumerated(network, cells[exact])
    if others.any():
        found = sampled(network, cells[~exact], SASANet.value_walk, n_orders, generator)
        values[others], variance[others] = found
    return Truth(values, variance, n_orders if others.any() else 0)


def taught(network: SASANet, cells: Tensor, n_orders: int, generator: torch.Generator) -> Truth:
    """Return the mean over orders of the marginal module's Δ: what the Shapley module was taught.

    Δ may depend on the order itself, not only on who stands before, so there is nothing to
    enumerate.
    """
    found = sampled(network, cells, SASANet.delta_walk, n_orders, generator)
    return Truth(*found, n_orders)


def enumerated(network: SASANet, cells: Tensor) -> Floats:
    """Return exact Shapley values by all coalitions of the present features: [n, N] → (n, N, K).

    Absent features add nothing to any coalition, so their value is 0 and they need no coalitions.
    """
    found = np.zeros((*cells.shape, network.n_outputs))
    patterns, group = np.unique(~cells.isnan().numpy(), axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        rows, features = np.flatnonzero(group.ravel() == number), np.flatnonzero(pattern)
        if len(features):
            game = _game(network, cells[rows], features)
            found[np.ix_(rows, features)] = exact_shapley(game, len(features))
    return found


def _game(network: SASANet, cells: Tensor, features: NDArray[np.intp]) -> ValueFunction:
    """Return the model's own game among some features of rows, as a function of masks."""
    n_features = cells.shape[1]
    size = max(1, _CELLS_AT_ONCE // n_features)

    def value(masks: NDArray[np.bool_]) -> Floats:
        wide = torch.zeros(len(masks), n_features, dtype=torch.bool)
        wide[:, features] = torch.from_numpy(masks)
        parts = [inference.coalition_outputs(network, cells, m[None]) for m in wide.split(size)]
        return torch.cat(parts, 1).numpy()

    return value


def sampled(
    network: SASANet, cells: Tensor, walker: Walker, n_orders: int, generator: torch.Generator
) -> tuple[Floats, Floats]:
    """Return the mean of steps along random orders and their reverses, and the variance of that.

    Shape: cells [n, N] → two (n, N, K).
    """
    n_features, device = cells.shape[1], next(network.parameters()).device
    size = _CELLS_AT_ONCE // n_features**2  # a pass of its own for each prefix
    if network.is_set:
        size = _PREFIXES_AT_ONCE // n_features
    means, variances = [], []
    with torch.no_grad(), steady_heap():
        for part in cells.to(device).split(max(1, size)):
            present = ~part.isnan()
            walk = walker(network, part, present)

            def pair(walk: Walk = walk, present: Tensor = present) -> Tensor:
                orders = random_orders(present, generator)
                forth, back = walk(orders)
                return by_feature((forth + back) / 2, orders)

            mean, variance = inference.mean_of_draws(pair, n_orders // 2)
            means.append(mean)
            variances.append(variance)
    return torch.cat(means).numpy(), torch.cat(variances).numpy()
