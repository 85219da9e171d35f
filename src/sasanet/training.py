"""Encoded rows in, a trained network and its history out: the one training loop.

A fit is a list of phases, each a straight line: batch, forward, loss, backward, clip, step, log.
The loop trains any :class:`~sasanet.contract.TabularNetwork`: ``TrainingConfig.steps`` says which
loss of one batch each phase descends. Those of SASANet are here:

- ``value``: the set module learns v(S) from labels on the complete row and a coalition with its
  complement.
- ``joint``: the paper's loss for the sequence module, λ_v·L_v + λ_s·L_s along one random order.
- ``attribution``: everything else stands still and the Shapley module distils it, an order and its
  reverse per row, learning rate down to zero (the polishing phase).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from tqdm.auto import tqdm

from sasanet.coalitions import (
    by_feature,
    positions,
    random_coalitions,
    random_orders,
    random_prefixes,
    read_profiles,
)
from sasanet.contract import TabularNetwork
from sasanet.heap import steady_heap
from sasanet.losses import distillation_loss, prediction_losses, value_loss, weighted_mean
from sasanet.marginal import SetMarginal
from sasanet.network import SASANet
from sasanet.optimizer import AdamW, Clock, clip_gradients


@dataclass(frozen=True)
class Rows:
    """Encoded rows on one device: cells [n, N] (NaN absent), targets [n], weights [n]."""

    cells: Tensor
    targets: Tensor
    weights: Tensor

    def __len__(self) -> int:
        return len(self.cells)

    def __getitem__(self, index: Tensor | slice) -> Rows:
        return Rows(self.cells[index], self.targets[index], self.weights[index])

    @property
    def present(self) -> Tensor:
        """Which cells are there: [n, N] bool."""
        return ~self.cells.isnan()


@dataclass(frozen=True)
class Phase:
    """One stretch of training: which modules learn, from which loss, for how long."""

    name: str
    parts: tuple[str, ...]
    steps: int
    batch_size: int
    learning_rate: float


@dataclass(frozen=True)
class TrainingConfig:
    """Everything the loop needs beside the network and the rows."""

    task: str
    base: Tensor  # φ0, [K]
    phases: tuple[Phase, ...]
    full_share: float
    weight_decay: float
    patience: int
    time_limit: float
    verbose: bool
    clip: float = 1.0
    warm_up: int = 100
    steps: Mapping[str, Step] = field(default_factory=lambda: STEPS)  # by the phase's name


@dataclass
class History:
    """What happened, as plain data: one dict per epoch."""

    epochs: list[dict[str, Any]] = field(default_factory=list)
    interrupted: bool = False


# --- the losses of one batch -----------------------------------------------------------------


def value_step(
    network: SASANet, rows: Rows, config: TrainingConfig, generator: torch.Generator
) -> Tensor:
    """Return L_v of the set module: the complete row, a random coalition and its complement.

    Every member has a loss of its own.
    """
    assert isinstance(network.marginal, SetMarginal)
    present = rows.present
    kept = random_coalitions(present, generator)
    outputs = network.marginal.values_with_complement(rows.cells, present, kept)
    flat = (outputs + config.base).flatten(1, 2)
    losses = prediction_losses(flat, rows.targets, config.task)
    losses = losses.unflatten(1, outputs.shape[1:3]).mean(2)
    return value_loss(losses, rows.weights, config.full_share)


def joint_step(
    network: SASANet, rows: Rows, config: TrainingConfig, generator: torch.Generator
) -> Tensor:
    """Return the paper's combined loss ("Network Implementation") along one order per row."""
    arch, present = network.architecture, rows.present
    orders = random_orders(present, generator)
    vectors = network.marginal.cell_vectors(rows.cells, present)
    deltas = network.marginal.contributions(vectors, present, orders)
    prefixes = deltas.cumsum(1) + config.base
    losses = prediction_losses(prefixes, rows.targets, config.task)
    losses = torch.cat([losses[:, -1:], losses], 1)  # absent features add 0: the last is complete
    loss = arch.value_weight * value_loss(losses, rows.weights, config.full_share)
    if network.attribution is None or arch.attribution_weight == 0:
        return loss
    kept = random_prefixes(present, orders, generator)
    profiles, _ = network.profiles(rows.cells, kept)
    distilled = _distil(profiles, rows, kept, positions(orders), by_feature(deltas, orders))
    return loss + arch.attribution_weight * distilled


def attribution_step(
    network: SASANet, rows: Rows, config: TrainingConfig, generator: torch.Generator
) -> Tensor:
    """Return L_s on a random prefix coalition, for an order and its reverse."""
    # NOTE[DIFF]: the paper prints L_s on the complete row only, which leaves Σφ(x_S) untrained.
    del config
    present = rows.present
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


# The loss of one batch. Each belongs to the network it is written for, hence Any.
Step = Callable[[Any, Rows, TrainingConfig, torch.Generator], Tensor]
STEPS: dict[str, Step] = {
    "value": value_step,
    "joint": joint_step,
    "attribution": attribution_step,
}


# --- the loop --------------------------------------------------------------------------------


def train(
    network: TabularNetwork,
    rows: Rows,
    validation: Rows | None,
    config: TrainingConfig,
    generator: torch.Generator,
) -> History:
    """Run every phase; on Ctrl-C keep the best state so far and say so in the history."""
    history = History()
    with steady_heap():
        for phase in config.phases:
            try:
                _run_phase(network, rows, validation, config, phase, generator, history)
            except KeyboardInterrupt:
                history.interrupted = True
                break
    network.eval()
    return history


def _share(phase: Phase, config: TrainingConfig) -> float:
    """Split a time limit over the phases: two thirds for prediction, one for attribution."""
    return 1.0 if len(config.phases) == 1 else (1 / 3 if phase.name == "attribution" else 2 / 3)


def _run_phase(
    network: TabularNetwork,
    rows: Rows,
    validation: Rows | None,
    config: TrainingConfig,
    phase: Phase,
    generator: torch.Generator,
    history: History,
) -> None:
    network.requires_grad_(False)
    learned = network.parts(phase.parts)
    for parameter in learned:
        parameter.requires_grad_(True)
    optimizer = _make_optimizer(network, learned, phase, config)
    limit = config.time_limit * _share(phase, config)
    clock = Clock(phase.learning_rate, phase.steps, config.warm_up, limit)
    # The attribution phase has no early stopping: its targets are noisy, its rate anneals to zero.
    judged = validation if phase.name != "attribution" else None
    best = _Best(network, config.patience)
    bar = tqdm(total=phase.steps, desc=phase.name, disable=not config.verbose)
    try:
        while not (clock.over() or best.patience_is_over()):
            network.eval()  # modules that stand still must not drop units
            for part in phase.parts:
                network.get_submodule(part).train()
            losses = []
            for batch in _batches(rows, phase.batch_size, generator):
                rate = clock.next_rate()
                loss = config.steps[phase.name](network, batch, config, generator)
                optimizer.forget_gradients()
                loss.backward()
                clip_gradients(learned, config.clip)
                optimizer.step(rate)
                losses.append(loss.item())
                bar.update()
                if clock.over():
                    break
            network.eval()
            record: dict[str, Any] = {"phase": phase.name, "train_loss": sum(losses) / len(losses)}
            if judged is not None:
                record["validation_loss"] = validation_loss(network, judged, config)
                best.see(record["validation_loss"])
            record |= {"steps": clock.step, "seconds": clock.seconds()}
            history.epochs.append(record)
            bar.set_postfix(loss=f"{record.get('validation_loss', record['train_loss']):.4g}")
    finally:
        bar.close()
        best.restore()
        network.requires_grad_(True)


def _batches(rows: Rows, size: int, generator: torch.Generator) -> Iterator[Rows]:
    """Yield the rows once, shuffled."""
    order = torch.randperm(len(rows), generator=generator)
    for start in range(0, len(rows), size):
        yield rows[order[start : start + size].to(rows.cells.device)]


def _make_optimizer(
    network: TabularNetwork, learned: list[nn.Parameter], phase: Phase, config: TrainingConfig
) -> AdamW:
    """Return AdamW; only the matrices of feed-forward layers decay, never tables or biases."""
    matrices = set(map(id, network.matrices()))
    decay = config.weight_decay if phase.name != "attribution" else 0.0
    decaying = [p for p in learned if id(p) in matrices]
    others = [p for p in learned if id(p) not in matrices]
    return AdamW([(decaying, decay), (others, 0.0)])


@torch.no_grad()
def validation_loss(network: TabularNetwork, rows: Rows, config: TrainingConfig) -> float:
    """Return the prediction loss of complete rows (what is there of them).

    Few rows are too noisy a judge: below a thousand, eight fixed coalitions of each have their say
    as in training, which steadies the choice of the best epoch (unless it knew complete rows only).
    """
    generator = torch.Generator().manual_seed(0)
    extra = 8 if len(rows) < 1000 and config.full_share < 1 else 0
    losses = []
    for start in range(0, len(rows), 4096):
        part = rows[slice(start, start + 4096)]
        masks = [part.present, *(random_coalitions(part.present, generator) for _ in range(extra))]
        outputs = network.values(part.cells, torch.stack(masks, 1)) + config.base
        losses.append(prediction_losses(outputs, part.targets, config.task))
    every = torch.cat(losses)
    if extra:
        return value_loss(every, rows.weights, config.full_share).item()
    return weighted_mean(every, rows.weights).item()


class _Best:
    """Keep a copy of the best weights by validation loss and put them back at the end."""

    def __init__(self, network: TabularNetwork, patience: int) -> None:
        self.network, self.patience = network, patience
        self.loss, self.since = math.inf, 0
        self.state: dict[str, Tensor] | None = None

    def see(self, loss: float) -> None:
        self.since += 1
        if loss < self.loss:
            self.loss, self.since = loss, 0
            self.state = {k: v.detach().clone() for k, v in self.network.state_dict().items()}

    def patience_is_over(self) -> bool:
        return self.state is not None and self.since >= self.patience

    def restore(self) -> None:
        if self.state is not None:
            self.network.load_state_dict(self.state)
