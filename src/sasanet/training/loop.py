"""The one training loop, for any network and any loss.

A fit is a list of phases, each a straight line: batch, forward, loss, backward, clip, step, log. A
:class:`Phase` carries all that differs between them: its loss, which modules learn, how long and
how fast, its weight decay, its share of the time and what it may be stopped by.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from sasanet.forks import note_computing
from sasanet.malloc import steady_heap
from sasanet.network.interface import WHOLE, TabularNetwork
from sasanet.network.layers import dropout_from
from sasanet.progress import Progress
from sasanet.training.checkpoint import Checkpoint, pack_generators, part_of, unpack_generators
from sasanet.training.learning_rate import LearningRate
from sasanet.training.optimizer import AdamW, clip_gradients
from sasanet.training.rows import Batchable, Rows
from sasanet.training.shared.fellows import Alone

__all__ = ["Batchable", "EarlyStopping", "History", "Phase", "Rows", "Surroundings", "train"]

_LONGEST_GRADIENT = 1.0
_WARM_UP = 100  # steps

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


@dataclass(frozen=True)
class Surroundings:
    """What a training may have around it: a checkpoint to go on from, and fellow workers.

    ``dropout`` draws dropout (by default torch's global generator does, which several fits at once
    would share). ``fellows`` train the same network on rows of their own.
    """

    dropout: torch.Generator | None = None
    checkpoint: Checkpoint | None = None
    fellows: Alone = field(default_factory=Alone)


def train(
    network: TabularNetwork,
    rows: Batchable,
    phases: Sequence[Phase],
    generator: torch.Generator,
    time_limit: float = math.inf,
    verbose: bool = False,
    surroundings: Surroundings | None = None,
) -> History:
    """Run every phase; on Ctrl-C keep the best state so far and say so in the history.

    ``generator`` draws batches and coalitions.
    """
    note_computing()
    around = surroundings or Surroundings()
    history = History()
    generators = {"rows": generator}
    if around.dropout is not None:
        generators["dropout"] = around.dropout
    saved = around.checkpoint.load() if around.checkpoint else None
    done = saved[1]["phase"] if saved else 0
    around.fellows.begin()
    # Gradients whatever the caller's mode: an interrupt may have left it switched off.
    with steady_heap(), torch.enable_grad(), dropout_from(network, around.dropout):
        for number, phase in enumerate(phases):
            if number < done:
                continue
            run = _Run(network, phase, number, generators, time_limit, history, around)
            if saved and number == done:
                run.unpack(*saved)
            try:
                run.go(rows, verbose)
            except KeyboardInterrupt:
                history.interrupted = True
                break
    if not history.interrupted:
        _keep_end(network, len(phases), saved, generators, history, around.checkpoint)
    network.eval()
    return history


def _keep_end(
    network: TabularNetwork,
    n_phases: int,
    saved: tuple[dict[str, Tensor], dict[str, Any]] | None,
    generators: Mapping[str, torch.Generator],
    history: History,
    keeper: Checkpoint | None,
) -> None:
    """Write the trained weights, or read those of a training that had ended before."""
    if keeper is None:
        return
    if saved and saved[1]["phase"] == n_phases:
        network.load_state_dict(part_of(saved[0], "network."))
        unpack_generators(generators, saved[0])  # another training may go on with them
        history.epochs = saved[1]["epochs"]
        return
    tensors = {f"network.{name}": value for name, value in network.state_dict().items()}
    tensors |= pack_generators(generators)
    keeper.save(tensors, {"phase": n_phases, "epochs": history.epochs})


class _Run:
    """One phase while it runs: everything that a checkpoint of it must hold."""

    def __init__(
        self,
        network: TabularNetwork,
        phase: Phase,
        number: int,
        generators: Mapping[str, torch.Generator],
        time_limit: float,
        history: History,
        around: Surroundings,
    ) -> None:
        self.network, self.phase, self.number = network, phase, number
        self.generators, self.history, self.around = generators, history, around
        self.learned = _freeze_others(network, phase)
        self.optimizer = _make_optimizer(network, self.learned, phase)
        limit = time_limit * phase.time_share
        clock = around.fellows.clock
        self.rate = LearningRate(phase.learning_rate, phase.steps, _WARM_UP, limit, clock)
        self.best = _Best(network, phase.early_stopping, around.fellows)
        self.losses: list[float] = []  # of this epoch's batches
        self.epoch_start = self.generators["rows"].get_state()  # the order follows from it
        self.resumes = False

    def go(self, rows: Batchable, verbose: bool) -> None:
        """Train to the end of the phase."""
        size, left = self.phase.batch_size, self.rate.limit - self.rate.seconds()
        end, done = time.monotonic() + left, size * self.rate.step
        bar = Progress(self.phase.name, size * self.phase.steps, verbose, end, done)
        try:
            while self.resumes or not (self.rate.over() or self.best.patience_is_over()):
                self._run_epoch(rows, bar)
                if not self.losses:  # the time was over before the first batch of this epoch
                    break
                record = self._judge()
                bar.note(record.get("validation_loss", record["train_loss"]))
        finally:
            bar.close()
            self.best.restore()
            self.network.constrain()  # an interrupt may have come between a step and this
            self.network.requires_grad_(True)

    def _run_epoch(self, rows: Batchable, bar: Progress) -> None:
        _set_modes(self.network, self.phase)
        generator, keeper = self.generators["rows"], self.around.checkpoint
        for batch in self._batches(rows):
            if self.rate.over():
                break
            current = self.rate.next()
            loss = self.phase.loss(self.network, batch, generator)
            self.optimizer.zero_grad()
            loss.backward()
            self.around.fellows.average(self.learned, batch)
            clip_gradients(self.learned, _LONGEST_GRADIENT)
            self.optimizer.step(current)
            self.network.constrain()
            self.losses.append(loss.item())
            bar.add(self.phase.batch_size)
            if keeper is not None and keeper.due():
                keeper.save(*self.pack())
        self.network.eval()

    def _batches(self, rows: Batchable) -> Any:
        """Begin an epoch, or find the place in it where a killed training stopped."""
        generator = self.generators["rows"]
        if not self.resumes:
            self.epoch_start = generator.get_state()
            return rows.batches(self.phase.batch_size, generator)
        self.resumes = False
        present = generator.get_state()
        generator.set_state(self.epoch_start)
        batches = rows.batches(self.phase.batch_size, generator, skip=len(self.losses))
        generator.set_state(present)
        return batches

    def _judge(self) -> dict[str, Any]:
        """Note what became of an epoch."""
        mean = sum(self.losses) / len(self.losses)
        record: dict[str, Any] = {"phase": self.phase.name, "train_loss": mean}
        record |= self.best.judge()
        record |= {"steps": self.rate.step, "seconds": self.rate.seconds()}
        self.history.epochs.append(record)
        self.losses = []
        return record

    def pack(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return the whole state of the training."""
        tensors = {f"network.{name}": value for name, value in self.network.state_dict().items()}
        tensors |= {f"optimizer.{n}": t for n, t in self.optimizer.state().items()}
        tensors |= {f"best.{name}": value for name, value in (self.best.state or {}).items()}
        tensors |= pack_generators(self.generators)
        tensors["epoch_start"] = self.epoch_start
        tensors["losses"] = torch.tensor(self.losses, dtype=torch.float64)
        tensors["best_loss"] = torch.tensor(self.best.loss, dtype=torch.float64)
        record = {"phase": self.number, "epochs": self.history.epochs, "since": self.best.since}
        return tensors, {**record, "step": self.rate.step, "seconds": self.rate.seconds()}

    def unpack(self, tensors: dict[str, Tensor], record: dict[str, Any]) -> None:
        """Go back to a state that :meth:`pack` returned."""
        self.network.load_state_dict(part_of(tensors, "network."))
        self.optimizer.load(part_of(tensors, "optimizer."))
        self.best.state = part_of(tensors, "best.") or None
        self.best.loss, self.best.since = tensors["best_loss"].item(), record["since"]
        self.epoch_start, self.losses = tensors["epoch_start"], tensors["losses"].tolist()
        unpack_generators(self.generators, tensors)
        self.history.epochs = record["epochs"]
        self.rate.go_on(record["step"], record["seconds"])
        self.resumes = True


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


def _make_optimizer(network: TabularNetwork, learned: list[nn.Parameter], phase: Phase) -> AdamW:
    """Return AdamW; only the matrices of feed-forward layers decay, never tables or biases."""
    matrices = set(map(id, network.matrices()))
    decaying = [p for p in learned if id(p) in matrices]
    others = [p for p in learned if id(p) not in matrices]
    return AdamW([(decaying, phase.weight_decay), (others, 0.0)])


class _Best:
    """Keep a copy of the best weights by validation loss and put them back at the end."""

    def __init__(
        self, network: TabularNetwork, stopping: EarlyStopping | None, fellows: Alone
    ) -> None:
        self.network, self.stopping, self.fellows = network, stopping, fellows
        self.loss, self.since = math.inf, 0
        self.state: dict[str, Tensor] | None = None

    def judge(self) -> dict[str, float]:
        """Return what to note of this epoch, and keep its weights if they are the best so far."""
        if self.stopping is None:
            return {}
        loss = self.fellows.once(partial(self.stopping.loss, self.network))
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
