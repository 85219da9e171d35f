"""The one training loop, for any network and any loss.

A fit is a list of phases, each a straight line: batch, forward, loss, backward, clip, step, log. A
:class:`Phase` carries all that differs between them: its loss, which modules learn, how long and
how fast, its weight decay, its share of the time and what it may be stopped by.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import torch
from torch import Tensor, nn
from tqdm.auto import tqdm

from sasanet.malloc import steady_heap
from sasanet.network.interface import WHOLE, TabularNetwork
from sasanet.network.layers import dropout_from
from sasanet.training.learning_rate import LearningRate
from sasanet.training.optimizer import AdamW, clip_gradients

_LONGEST_GRADIENT = 1.0
_WARM_UP = 100  # steps


class Batchable(Protocol):
    """Rows the loop can shuffle and cut into batches; the loss knows what is in them."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: Tensor | slice) -> Self: ...

    @property
    def device(self) -> torch.device:
        """Where the rows are."""
        ...


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
    def device(self) -> torch.device:
        """Where the rows are."""
        return self.cells.device

    @property
    def present(self) -> Tensor:
        """Which cells are present: [n, N] bool."""
        return ~self.cells.isnan()


# The loss of one batch. Each belongs to the network and the rows it is written for, hence Any.
BatchLoss = Callable[[Any, Any, torch.Generator], Tensor]


@dataclass(frozen=True)
class EarlyStopping:
    """Judge every epoch, keep the best weights, stop after so many epochs without a better one."""

    loss: Callable[[Any], float]  # of the network
    patience: int


@dataclass(frozen=True, kw_only=True)
class Phase:
    """One stretch of training: which modules learn, from which loss, for how long."""

    name: str  # for the progress bar and the history
    loss: BatchLoss
    parts: tuple[str, ...] = WHOLE
    steps: int
    batch_size: int
    learning_rate: float
    weight_decay: float = 0.0
    time_share: float = 1.0  # of the time limit of all phases
    early_stopping: EarlyStopping | None = None


@dataclass
class History:
    """What happened, as plain data: one dict per epoch."""

    epochs: list[dict[str, Any]] = field(default_factory=list)
    interrupted: bool = False


def train(
    network: TabularNetwork,
    rows: Batchable,
    phases: Sequence[Phase],
    generator: torch.Generator,
    time_limit: float = math.inf,
    verbose: bool = False,
    dropout_generator: torch.Generator | None = None,
) -> History:
    """Run every phase; on Ctrl-C keep the best state so far and say so in the history.

    ``generator`` draws batches and coalitions; ``dropout_generator`` draws dropout (by default
    torch's global one does, which several fits at once would share).
    """
    history = History()
    # Gradients whatever the caller's mode: an interrupt may have left it switched off.
    with steady_heap(), torch.enable_grad(), dropout_from(network, dropout_generator):
        for phase in phases:
            try:
                _run_phase(network, rows, phase, generator, time_limit, verbose, history)
            except KeyboardInterrupt:
                history.interrupted = True
                break
    network.eval()
    return history


def _run_phase(
    network: TabularNetwork,
    rows: Batchable,
    phase: Phase,
    generator: torch.Generator,
    time_limit: float,
    verbose: bool,
    history: History,
) -> None:
    learned = _freeze_others(network, phase)
    optimizer = _make_optimizer(network, learned, phase)
    rate = LearningRate(phase.learning_rate, phase.steps, _WARM_UP, time_limit * phase.time_share)
    best = _Best(network, phase.early_stopping)
    bar = tqdm(total=phase.steps, desc=phase.name, disable=not verbose)
    try:
        while not (rate.over() or best.patience_is_over()):
            _set_modes(network, phase)
            losses = []
            for batch in _batches(rows, phase.batch_size, generator):
                current = rate.next()
                loss = phase.loss(network, batch, generator)
                optimizer.zero_grad()
                loss.backward()
                clip_gradients(learned, _LONGEST_GRADIENT)
                optimizer.step(current)
                losses.append(loss.item())
                bar.update()
                if rate.over():
                    break
            network.eval()
            record: dict[str, Any] = {"phase": phase.name, "train_loss": sum(losses) / len(losses)}
            record |= best.judge()
            record |= {"steps": rate.step, "seconds": rate.seconds()}
            history.epochs.append(record)
            bar.set_postfix(loss=f"{record.get('validation_loss', record['train_loss']):.4g}")
    finally:
        bar.close()
        best.restore()
        network.requires_grad_(True)


def _freeze_others(network: TabularNetwork, phase: Phase) -> list[nn.Parameter]:
    """Return the parameters that learn; all others are frozen."""
    network.requires_grad_(False)
    learned = network.parts(phase.parts)
    for parameter in learned:
        parameter.requires_grad_(True)
    return learned


def _set_modes(network: TabularNetwork, phase: Phase) -> None:
    """Put the modules that learn in training mode; frozen ones must not drop units."""
    network.eval()
    for part in phase.parts:
        network.get_submodule(part).train()


def _batches(rows: Batchable, size: int, generator: torch.Generator) -> Iterator[Batchable]:
    """Yield the rows once, shuffled."""
    order = torch.randperm(len(rows), generator=generator)
    for start in range(0, len(rows), size):
        yield rows[order[start : start + size].to(rows.device)]


def _make_optimizer(network: TabularNetwork, learned: list[nn.Parameter], phase: Phase) -> AdamW:
    """Return AdamW; only the matrices of feed-forward layers decay, never tables or biases."""
    matrices = set(map(id, network.matrices()))
    decaying = [p for p in learned if id(p) in matrices]
    others = [p for p in learned if id(p) not in matrices]
    return AdamW([(decaying, phase.weight_decay), (others, 0.0)])


class _Best:
    """Keep a copy of the best weights by validation loss and put them back at the end."""

    def __init__(self, network: TabularNetwork, stopping: EarlyStopping | None) -> None:
        self.network, self.stopping = network, stopping
        self.loss, self.since = math.inf, 0
        self.state: dict[str, Tensor] | None = None

    def judge(self) -> dict[str, float]:
        """Return what to note of this epoch, and keep its weights if they are the best so far."""
        if self.stopping is None:
            return {}
        loss = self.stopping.loss(self.network)
        self.since += 1
        if loss < self.loss:
            self.loss, self.since = loss, 0
            self.state = {k: v.detach().clone() for k, v in self.network.state_dict().items()}
        return {"validation_loss": loss}

    def patience_is_over(self) -> bool:
        """Tell whether no epoch has been better for too long."""
        stopping = self.stopping
        return stopping is not None and self.state is not None and self.since >= stopping.patience

    def restore(self) -> None:
        """Put the best weights back."""
        if self.state is not None:
            self.network.load_state_dict(self.state)
