"""Predictions or a value function in, the game FastSHAP explains out.

Sizes: B rows, N features, M coalitions, K outputs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.nn import functional as F

from sasanet.arrays import Floats, Masks
from sasanet.errors import InvalidInputError
from sasanet.network.interface import TabularNetwork


@dataclass(frozen=True)
class GameRows:
    """Encoded rows that know their positions in the table: cells [n, N] (NaN absent), [n]."""

    cells: Tensor
    positions: Tensor

    def __len__(self) -> int:
        return len(self.cells)

    def __getitem__(self, index: Tensor | slice) -> GameRows:
        return GameRows(self.cells[index], self.positions[index])

    @property
    def device(self) -> torch.device:
        """Where the rows are."""
        return self.cells.device

    @property
    def present(self) -> Tensor:
        """Which cells are present: [n, N] bool."""
        return ~self.cells.isnan()


Game = Callable[[GameRows, Tensor], Tensor]  # rows, coalitions [B, M, N] → v(S) [B, M, K]
TableValue = Callable[[pd.DataFrame, Masks], Any]
UNITS = {"binary": "log-odds", "multiclass": "log-probability", "regression": "target"}


def surrogate_game(surrogate: TabularNetwork, task: str, mean: float, scale: float) -> Game:
    """Return the surrogate's v(S): log-odds, log-probabilities or the target."""

    def game(rows: GameRows, coalitions: Tensor) -> Tensor:
        outputs = surrogate.values(rows.cells, coalitions).double()
        # Logits are free up to a constant, which would be attributed too; log-probabilities not.
        return F.log_softmax(outputs, 2) if task == "multiclass" else outputs * scale + mean

    return game


def table_game(value: TableValue, table: pd.DataFrame) -> Game:
    """Return a value function over tables as a game of the rows at given positions."""

    def game(rows: GameRows, coalitions: Tensor) -> Tensor:
        found = np.asarray(
            value(table.iloc[rows.positions.numpy()], coalitions.numpy()), np.float64
        )
        shape = tuple(coalitions.shape[:2])
        if found.shape[:2] != shape or found.ndim > 3 or not np.isfinite(found).all():
            raise InvalidInputError(
                f"value must return finite numbers of shape {shape}, or with outputs behind, "
                f"got {found.shape}; give a method such as model.value"
            )
        return torch.from_numpy(found.reshape(*shape, -1))

    return game


def read_predictions(predicted: Any, task: str, n_rows: int) -> Floats:
    """Return predictions as the surrogate's targets: (n,), or (n, C) for multiclass."""
    if task not in UNITS:
        raise InvalidInputError(f"task must be one of {[*UNITS]}, got {task!r}; name one")
    found = np.asarray(predicted, dtype=np.float64)
    if task == "binary" and found.shape == (n_rows, 2):
        found = found[:, 1]
    several = task == "multiclass"
    fits = found.ndim == 1 + several and len(found) == n_rows and bool(np.isfinite(found).all())
    if fits and task != "regression":
        sums = found.sum(axis=1) if several else np.ones(n_rows)
        inside = bool(found.min() > -1e-6 and found.max() < 1 + 1e-6)
        fits = inside and np.allclose(sums, 1.0, atol=1e-4)  # float32 probabilities, summed
    if not fits:
        wanted = {"binary": "(n,) or (n, 2)", "multiclass": "(n, C)", "regression": "(n,)"}[task]
        kind = "numbers" if task == "regression" else "probabilities"
        raise InvalidInputError(
            f"predict must return finite {kind} of shape {wanted}, n = {n_rows}, for {task}, "
            f"got shape {found.shape}, starting {found.ravel()[:3].tolist()}; "
            "check the task, or give predict_proba"
        )
    return found if task == "regression" else found.clip(0.0, 1.0)
