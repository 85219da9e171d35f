"""Rows a small network can learn from, and the settings of a short training."""

from __future__ import annotations

import math

import torch

from sasanet.network import Columns
from sasanet.training import Phase, Rows, TrainingConfig

COLUMNS = Columns((6, 3, 5, 4), (True, False, True, True))
SEQUENCE = {"marginal": "sequence", "attribution": "attention"}
TASKS = {"binary": 1, "multiclass": 3, "regression": 1}


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
    parts = {
        "value": ("marginal",),
        "joint": ("marginal", "attribution"),
        "attribution": ("attribution",),
    }
    return Phase(name, parts[name], steps, batch_size, learning_rate)


def config(*phases, task="binary", **changes):
    fields = {
        "task": task,
        "base": torch.zeros(TASKS[task]),
        "phases": phases or (phase(),),
        "full_share": 0.5,
        "weight_decay": 0.01,
        "patience": 1000,
        "time_limit": math.inf,
        "verbose": False,
    }
    return TrainingConfig(**fields | changes)
