"""A trained network and encoded rows in, float64 outputs out, in chunks of bounded memory.

Sizes: n rows, N features, K outputs, M coalitions. Outputs are relative to the base value.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from sasanet.coalitions import add_up, by_feature, positions, random_orders, read_profiles
from sasanet.heap import steady_heap
from sasanet.network import SASANet

_CELLS_AT_ONCE = 20_480  # about 20 MB of cell vectors: fits the caches, bounds the memory


def _in_chunks(
    network: SASANet,
    cells: Tensor,
    per_row: int,
    function: Callable[[Tensor, slice], tuple[Tensor, ...]],
) -> list[Tensor]:
    """Run a function over chunks of rows without gradients and join what it returns."""
    device = next(network.parameters()).device
    size = max(1, _CELLS_AT_ONCE // max(1, cells.shape[1] * per_row))
    parts = []
    with torch.inference_mode(), steady_heap():
        for start in range(0, len(cells), size):
            chunk = slice(start, start + size)
            parts.append([part.cpu() for part in function(cells[chunk].to(device), chunk)])
    return [torch.cat(column) for column in zip(*parts, strict=True)]


def outputs(network: SASANet, cells: Tensor) -> Tensor:
    """Return the output of every row from what is present of it: [n, N] → [n, K]."""

    def predict(part: Tensor, _: slice) -> tuple[Tensor, ...]:
        return (network.values(part, ~part.isnan()[:, None])[:, 0],)

    (result,) = _in_chunks(network, cells, 1, predict)
    return result.double()


def attributions(network: SASANet, cells: Tensor) -> Tensor:
    """Return φ of every row: [n, N] → [n, N, K], adding up to :func:`outputs` in float64."""

    def attribute(part: Tensor, _: slice) -> tuple[Tensor, ...]:
        present = ~part.isnan()
        # The total is computed as in `outputs`, so that the sum is exactly the prediction.
        total = network.values(part, present[:, None])[:, 0]
        return network.attribute(part, present)[0], total, present

    values, total, present = _in_chunks(network, cells, 1, attribute)
    return add_up(values.double(), total.double(), present)


def coalition_outputs(network: SASANet, cells: Tensor, coalitions: Tensor) -> Tensor:
    """Return v(S) of coalitions of each row: [n, N], [1 or n, M, N] bool → [n, M, K]."""

    def evaluate(part: Tensor, chunk: slice) -> tuple[Tensor, ...]:
        mask = coalitions[chunk] if len(coalitions) > 1 else coalitions
        return (network.values(part, mask.to(part.device) & ~part.isnan()[:, None]),)

    (result,) = _in_chunks(network, cells, coalitions.shape[1], evaluate)
    return result.double()


def mean_of_draws(draw: Callable[[], Tensor], n_draws: int) -> tuple[Tensor, Tensor]:
    """Return the mean of equally distributed draws in float64, and the variance of that mean."""
    total = squares = torch.zeros((), dtype=torch.float64)
    for _ in range(n_draws):
        drawn = draw().cpu().double()
        total, squares = total + drawn, squares + drawn**2
    mean = total / n_draws
    return mean, (squares / n_draws - mean**2).clamp_min(0) / max(1, n_draws - 1)


def refined_attributions(
    network: SASANet, cells: Tensor, n_pairs: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Return unbiased Shapley values of the model's own output, and their standard errors.

    Each pair of an order and its reverse gives what every feature adds, twice. The learned profile
    at the same positions is subtracted and its known mean φ_i added back (a control variate): the
    position of a feature in a random order is uniform, so the expectation does not change,
    only the noise.

    Shape: cells [n, N] → values, standard errors [n, N, K].
    """

    def refine(part: Tensor, chunk: slice) -> tuple[Tensor, ...]:
        del chunk
        present = ~part.isnan()
        sizes = present.sum(1)
        profiles = network.profiles(part, present)[0]
        learned = network.mean_over_positions(profiles, present)

        def surprise() -> Tensor:
            orders = random_orders(present, generator)
            forth, back = network.value_steps(part, present, orders)
            place = positions(orders)
            behind = (sizes[:, None] - 1 - place).clamp_min(0)
            known = read_profiles(profiles, place, sizes) + read_profiles(profiles, behind, sizes)
            return (by_feature(forth + back, orders) - known) / 2

        mean, variance = mean_of_draws(surprise, n_pairs)
        full = network.values(part, present[:, None])[:, 0]
        return learned.cpu().double() + mean, variance.sqrt(), full, present

    values, errors, total, present = _in_chunks(network, cells, 1, refine)
    return add_up(values, total.double(), present), errors * present[..., None]
