"""The losses of one batch that SASANet learns from.

- ``value_batch_loss``: the set module learns v(S) from labels, on the complete row and on a random
  coalition with its complement.
- ``joint_batch_loss``: the paper's loss for the sequence module, λ_v·L_v + λ_s·L_s along one random
  order.
- ``attribution_batch_loss``: everything else is frozen and the Shapley module distils it, an order
  and its reverse per row, learning rate down to zero (the polishing phase).
"""

from __future__ import annotations

import torch
from torch import Tensor

from sasanet.network.coalitions import (
    by_feature,
    positions,
    random_coalitions,
    random_orders,
    random_prefixes,
    read_profiles,
)
from sasanet.network.interface import TabularNetwork
from sasanet.network.sasanet import SASANet
from sasanet.network.set_value import SetValue
from sasanet.training.loop import Rows
from sasanet.training.losses import (
    Objective,
    distillation_loss,
    prediction_losses,
    value_loss,
    weighted_mean,
)


def value_batch_loss(
    network: SASANet, rows: Rows, generator: torch.Generator, objective: Objective
) -> Tensor:
    """Return L_v of the set module: the complete row, a random coalition and its complement.

    Every member has a loss of its own. Of augmented rows only the complete one is learned from:
    their cells do not go together, so nothing follows from some of them about the others.
    """
    assert isinstance(network.marginal, SetValue)
    present = network.present(rows.cells)
    kept = random_coalitions(present, generator)
    augmented = rows.augmented
    others, wanted = augmented.draw(generator) if augmented else (None, None)
    outputs = network.marginal.values_with_complement(rows.cells, present, kept, others)
    outputs = outputs + objective.base
    losses = _losses_of_members(outputs[:, :3], rows.targets, objective.task)
    if augmented and wanted is not None:
        more = _losses_of_members(outputs[:, 3:], wanted, objective.task)
        losses = torch.cat([losses[:, :1].lerp(more, augmented.share), losses[:, 1:]], 1)
    return value_loss(losses, rows.weights, objective.full_share)


def _losses_of_members(outputs: Tensor, targets: Tensor, task: str) -> Tensor:
    """Return the mean over members of their losses: outputs [B, S, M, K] → [B, S]."""
    losses = prediction_losses(outputs.flatten(1, 2), targets, task)
    return losses.unflatten(1, outputs.shape[1:3]).mean(2)


def joint_batch_loss(
    network: SASANet, rows: Rows, generator: torch.Generator, objective: Objective
) -> Tensor:
    """Return the paper's combined loss ("Network Implementation") along one order per row."""
    arch, present = network.architecture, network.present(rows.cells)
    orders = random_orders(present, generator)
    vectors = network.marginal.cell_vectors(rows.cells, present)
    deltas = network.marginal.contributions(vectors, present, orders)
    prefixes = deltas.cumsum(1) + objective.base
    losses = prediction_losses(prefixes, rows.targets, objective.task)
    losses = torch.cat([losses[:, -1:], losses], 1)  # absent features add 0: the last is complete
    loss = arch.value_weight * value_loss(losses, rows.weights, objective.full_share)
    if network.attribution is None or arch.attribution_weight == 0:
        return loss
    kept = random_prefixes(present, orders, generator)
    profiles, _ = network.profiles(rows.cells, kept)
    distilled = _distil(profiles, rows, kept, positions(orders), by_feature(deltas, orders))
    return loss + arch.attribution_weight * distilled


def attribution_batch_loss(network: SASANet, rows: Rows, generator: torch.Generator) -> Tensor:
    """Return L_s on a random prefix coalition, for an order and its reverse."""
    # NOTE[DIFF]: the paper prints L_s on the complete row only, which leaves Σφ(x_S) untrained.
    present = network.present(rows.cells)
    orders = random_orders(present, generator)
    kept = random_prefixes(present, orders, generator)
    with torch.no_grad():
        vectors = network.marginal.cell_vectors(rows.cells, kept)
        forth, back = network.marginal.contributions_both_ways(vectors, kept, orders)
    profiles, _ = network.profiles(rows.cells, kept, vectors)
    place = positions(orders)
    from_behind = (kept.sum(1, keepdim=True) - 1 - place).clamp_min(0)
    there = _distil(profiles, rows, kept, place, by_feature(forth, orders))
    return (there + _distil(profiles, rows, kept, from_behind, by_feature(back, orders))) / 2


def _distil(profiles: Tensor, rows: Rows, kept: Tensor, place: Tensor, deltas: Tensor) -> Tensor:
    """Return L_s of profiles [B, N, R, K] read at each feature's place [B, N] against its Δ."""
    predicted = read_profiles(profiles, place, kept.sum(1))
    return distillation_loss(predicted, deltas, kept, rows.weights)


@torch.no_grad()
def validation_loss(network: TabularNetwork, rows: Rows, objective: Objective) -> float:
    """Return the prediction loss of complete rows (what is present of them).

    Few rows judge too noisily: below a thousand, eight fixed coalitions of each count as well, as
    in training, which steadies the choice of the best epoch (unless it knew complete rows only).
    """
    generator = torch.Generator().manual_seed(0)
    extra = 8 if len(rows) < 1000 and objective.full_share < 1 else 0
    losses = []
    for start in range(0, len(rows), 4096):
        part = rows[slice(start, start + 4096)]
        present = network.present(part.cells)
        masks = [present, *(random_coalitions(present, generator) for _ in range(extra))]
        outputs = network.values(part.cells, torch.stack(masks, 1)) + objective.base
        losses.append(prediction_losses(outputs, part.targets, objective.task))
    every = torch.cat(losses)
    if extra:
        return value_loss(every, rows.weights, objective.full_share).item()
    return weighted_mean(every, rows.weights).item()
