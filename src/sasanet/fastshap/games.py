"""Predictions or a value function in, the game FastSHAP explains out.

Sizes: B rows, N features, M coalitions, K outputs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from sasanet.contract import TabularNetwork
from sasanet.errors import InvalidInputError
from sasanet.posthoc.game import Masks
from sasanet.training import Rows

Floats = NDArray[np.float64]
Game = Callable[[Rows, Tensor], Tensor]  # rows whose targets are positions, [B, M, N] → [B, M, K]
TableValue = Callable[[pd.DataFrame, Masks], Any]
UNITS = {"binary": "log-odds", "multiclass": "log-probability", "regression": "target"}


def surrogate_game(surrogate: TabularNetwork, task: str, mean: float, scale: float) -> Game:
    """Return the surrogate's v(S): log-odds, log-probabilities or the target."""

    def game(rows: Rows, coalitions: Tensor) -> Tensor:
        outputs = surrogate.values(rows.cells, coalitions).double()
        # Logits are free up to a constant, which would be attributed too; log-probabilities not.
        return F.log_softmax(outputs, 2) if task == "multiclass" else outputs * scale + mean

    return game


def table_game(value: TableValue, table: pd.DataFrame) -> Game:
    """Return a value function over tables as a game of the rows at given positions."""

    def game(rows: Rows, coalitions: Tensor) -> Tensor:
        found = np.asarray(value(table.iloc[rows.targets.numpy()], coalitions.numpy()), np.float64)
        shape = tuple(coalitions.shape[:2])
        if found.shape[:2] != shape or found.ndim > 3 or not np.isfinite(found).all():
            raise InvalidInputError(
                f"value must return finite numbers of shape {shape}, or with outputs behind, "
                f"however: {found.shape}; give a method such as model.value"
            )
        return torch.from_numpy(found.reshape(*shape, -1))

    return game


def read_predictions(predicted: Any, task: str, n_rows: int) -> Floats:
    """Return predictions as the surrogate's targets: (n,), or (n, C) for multiclass."""
    if task not in UNITS:
        raise InvalidInputError(f"task must be one of {[*UNITS]}, however: {task!r}; name one")
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
            f"however: shape {found.shape}, starting {found.ravel()[:3].tolist()}; "
            "check the task, or give predict_proba"
        )
    return found if task == "regression" else found.clip(0.0, 1.0)
