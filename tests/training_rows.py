"""Rows a small network can learn from, and the settings of a short training."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor

from sasanet.network.architecture import Architecture, find_architecture
from sasanet.table.columns import Columns
from sasanet.training import loop
from sasanet.training.loop import EarlyStopping, Phase, Rows
from sasanet.training.losses import Objective
from sasanet.training.sasanet_losses import (
    attribution_batch_loss,
    joint_batch_loss,
    validation_loss,
    value_batch_loss,
)

COLUMNS = Columns((6, 3, 5, 4), (True, False, True, True))
SEQUENCE = {"marginal": "sequence", "attribution": "attention"}
TASKS = {"binary": 1, "multiclass": 3, "regression": 1}
LOSSES = {
    "value": value_batch_loss,
    "joint": joint_batch_loss,
    "attribution": attribution_batch_loss,
}
PARTS = {
    "value": ("marginal",),
    "joint": ("marginal", "attribution"),
    "attribution": ("attribution",),
}


def briefly(network: str | Architecture, steps: int = 5) -> Architecture:
    """Return a shape by its name; its Shapley module, if it learns at all, learns so many steps."""
    shape = find_architecture(network)
    if shape.attribution in ("closed_form", "none"):
        return shape
    return replace(shape, attribution_steps=steps)


def make_rows(make_cells, task="binary", n_rows=128, seed=0, missing=0.2):
    """Return labelled rows that can be learned from, some cells missing."""
    cells = make_cells(COLUMNS, n_rows, missing, seed)
    known = cells.nan_to_num(1.0)
    score = (known[:, 0] - 2.5) * (known[:, 1] - 1) + 0.7 * (known[:, 2] - 2)
    if task == "multiclass":
        targets = (score > 0).float() + (known[:, 3] > 1.5).float()
    else:
        targets = (score > 0).float() if task == "binary" else score / score.std()
    return Rows(cells, targets, torch.ones(n_rows))


def phase(name="value", steps=60, batch_size=32, learning_rate=0.01):
    """Return how one phase of a short training differs from another."""
    return {
        "name": name,
        "parts": PARTS[name],
        "steps": steps,
        "batch_size": batch_size,
        "learning_rate": learning_rate,
    }


@dataclass(frozen=True)
class Settings:
    """A short training of SASANet."""

    objective: Objective
    phases: tuple[dict, ...]
    weight_decay: float = 0.01
    patience: int = 1000
    time_limit: float = math.inf
    verbose: bool = False

    def made_phases(self, validation):
        stopping = None
        if validation is not None:
            judge = partial(validation_loss, rows=validation, objective=self.objective)
            stopping = EarlyStopping(judge, self.patience)
        return [self._made(fields, stopping) for fields in self.phases]

    def _made(self, fields, stopping):
        loss = LOSSES[fields["name"]]
        if fields["name"] == "attribution":
            return Phase(loss=loss, **fields)
        loss = partial(loss, objective=self.objective)
        decay = self.weight_decay
        return Phase(loss=loss, weight_decay=decay, early_stopping=stopping, **fields)


def config(*phases, task="binary", base: Tensor | None = None, full_share=0.5, **changes):
    """Return the settings of a short training."""
    base = torch.zeros(TASKS[task]) if base is None else base
    return Settings(Objective(task, base, full_share), phases or (phase(),), **changes)


def train(network, rows, validation, settings, generator):
    """Run the training loop."""
    phases = settings.made_phases(validation)
    return loop.train(network, rows, phases, generator, settings.time_limit, settings.verbose)
