"""The games that FastSHAP explains: of a surrogate network, or a value function over tables.

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
from sasanet.training.rows import CellRows
from sasanet.validation import read_choice


@dataclass(frozen=True)
class PositionedRows(CellRows):
    """Encoded rows with their positions in the table: [n]."""

    positions: Tensor


# Rows and coalitions [B, M, N] → v(S) [B, M, K].
BatchGame = Callable[[PositionedRows, Tensor], Tensor]
TableValue = Callable[[pd.DataFrame, Masks], Any]
UNITS = {"binary": "log-odds", "multiclass": "log-probability", "regression": "target"}


def surrogate_game(surrogate: TabularNetwork, task: str, mean: float, scale: float) -> BatchGame:
    """Return the surrogate's v(S): log-odds, log-probabilities or the target."""

    def game(rows: PositionedRows, coalitions: Tensor) -> Tensor:
        outputs = surrogate.values(rows.cells, coalitions).double()
        # Logits are defined up to a constant, which would be attributed as well.
        return F.log_softmax(outputs, 2) if task == "multiclass" else outputs * scale + mean

    return game


def table_game(value: TableValue, table: pd.DataFrame) -> BatchGame:
    """Return a value function over tables as a game of the rows of one table."""

    def game(rows: PositionedRows, coalitions: Tensor) -> Tensor:
        found = np.asarray(
            value(table.iloc[rows.positions.numpy()], coalitions.numpy()), np.float64
        )
        shape = tuple(coalitions.shape[:2])
        if found.shape[:2] != shape or found.ndim > 3 or not np.isfinite(found).all():
            raise InvalidInputError(
                f"value must return finite numbers of shape {shape} or {(*shape, 'K')}, "
                f"got {found.shape}; give a method such as model.value"
            )
        return torch.from_numpy(found.reshape(*shape, -1))

    return game


def read_predictions(predicted: Any, task: str, n_rows: int) -> Floats:
    """Return predictions as targets of the surrogate: (n,), or (n, C) for multiclass."""
    read_choice("task", task, tuple(UNITS))
    found = np.asarray(predicted, dtype=np.float64)
    if task == "binary" and found.shape == (n_rows, 2):
        found = found[:, 1]
    n_axes = 2 if task == "multiclass" else 1
    if found.ndim != n_axes or len(found) != n_rows or not np.isfinite(found).all():
        raise _wrong_predictions(found, task, n_rows)
    if task == "regression":
        return found
    if not _are_probabilities(found):
        raise _wrong_predictions(found, task, n_rows)
    return found.clip(0.0, 1.0)


def _are_probabilities(found: Floats) -> bool:
    """Tell whether numbers are in [0, 1] and, by class, sum to 1, up to float32 rounding."""
    inside = bool(found.min() > -1e-6 and found.max() < 1 + 1e-6)
    return inside and (found.ndim == 1 or np.allclose(found.sum(axis=1), 1.0, atol=1e-4))


def _wrong_predictions(found: Floats, task: str, n_rows: int) -> InvalidInputError:
    shape = {"binary": "(n,) or (n, 2)", "multiclass": "(n, C)", "regression": "(n,)"}[task]
    kind = "numbers" if task == "regression" else "probabilities"
    return InvalidInputError(
        f"predict must return finite {kind} of shape {shape}, n = {n_rows}, for {task}, "
        f"got shape {found.shape}, starting {found.ravel()[:3].tolist()}; "
        "check the task, or give predict_proba"
    )
