"""Train until the network foresees as much as its teachers.

The rules of :mod:`sasanet.training.hyperparameters` say how long a table is trained. They were
found on some tables; the teachers were asked about this one. A few rows, the judges, have labels
the network never learns from (:mod:`sasanet.teachers.panel`). Where it foresees these labels worse
than its teachers, by more than chance makes of it, it is under-trained or has learned noise. Both
are mended the same way: it goes on, from labels that are the teachers' for the most part, as long
as that brings it closer.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sasanet.arrays import Floats
from sasanet.network import inference
from sasanet.network.interface import TabularNetwork
from sasanet.training.loop import History, Phase, Rows
from sasanet.training.losses import Objective

_ROUNDS = (1, 2)  # times as long as training was at first
_RATE = 0.5  # of the learning rate at first
_SURE = 2.0  # standard errors
TEACHERS_SHARE = 0.9  # of the labels in further rounds


@dataclass(frozen=True)
class Yardstick:
    """What the teachers foresee of the judges, and the labels of further rounds.

    judges [m]: places of rows, labels [m] (class index or number), losses [m] of the teachers,
    weights [m]; further [n] or [n, C].
    """

    judges: NDArray[np.intp]
    labels: Floats
    losses: Floats
    weights: Floats
    further: Floats

    def gap(self, network: TabularNetwork, cells: Tensor, objective: Objective) -> Gap:
        """Return how much more the network loses on the judges than the teachers do."""
        outputs = inference.outputs(network, cells[self.judges]) + objective.base.cpu().double()
        targets = torch.from_numpy(np.asarray(self.labels, dtype=np.float64))
        ours = objective.losses(outputs[:, None], targets)[:, 0].numpy()
        more, weights = ours - self.losses, self.weights / self.weights.sum()
        mean = float(more @ weights)
        return Gap(mean, float(np.sqrt((weights**2) @ (more - mean) ** 2)))


@dataclass(frozen=True)
class Gap:
    """A mean difference and its standard error."""

    mean: float
    error: float

    @property
    def is_sure(self) -> bool:
        """Whether the network is behind, and not by chance."""
        return self.mean > _SURE * self.error


def train_further(  # noqa: PLR0913 - what training needs, and what it is judged by
    network: TabularNetwork,
    rows: Rows,
    phase: Phase,
    yardstick: Yardstick,
    objective: Objective,
    history: History,
    run: Callable[[Rows, Sequence[Phase]], History],
    deadline: float = math.inf,
) -> History:
    """Go on training while the network is behind its teachers and gains; return all that happened.

    ``history`` is that of ``phase``, after which the network is judged first; ``run`` trains the
    network. No round is begun that would not be over by ``deadline`` (monotonic time).
    """
    gap = yardstick.gap(network, rows.cells, objective)
    targets = torch.as_tensor(yardstick.further, dtype=torch.float32).to(rows.device)
    rows = replace(rows, targets=targets)
    round_ = replace(phase, name="further", learning_rate=_RATE * phase.learning_rate)
    for factor in _ROUNDS:
        expected = factor * history.epochs[-1]["seconds"]
        if not gap.is_sure or history.interrupted or time.monotonic() + expected > deadline:
            break
        kept = {name: value.detach().clone() for name, value in network.state_dict().items()}
        found = run(rows, [replace(round_, steps=factor * phase.steps)])
        history = History(history.epochs + found.epochs, found.interrupted)
        after = yardstick.gap(network, rows.cells, objective)
        if not after.mean < gap.mean:
            network.load_state_dict(kept)
            break
        gap = after
    return history
