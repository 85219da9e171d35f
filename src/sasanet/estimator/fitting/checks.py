"""What ``fit`` refuses before it begins, and what it warns of when it ends."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.base import BaseEstimator
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import _check_sample_weight, validate_data

from sasanet.arrays import Floats
from sasanet.errors import InterruptedFitWarning, InvalidInputError, ShortFitWarning, warn_user
from sasanet.network.interface import TabularNetwork
from sasanet.table.reading import TableTypeError, check_names, check_width, read_table
from sasanet.training.loop import History, Phase
from sasanet.validation import our_refusals

_FEW_STEPS = 50  # with fewer, and less than a tenth of all, a network has hardly learned
_MANY_STEPS = 2_000  # with so many it has, even if a very large table has more rows than they saw
_LARGEST_WEIGHT = 1_000_000  # of a network: beyond it float32 loses what a prediction is made of
_LARGE_WEIGHT = 1e100  # of a row: beyond it, or below its inverse, sums of weights may overflow


def check_table(estimator: str, X: Any, y: Any, sample_weight: Any) -> tuple[pd.DataFrame, Floats]:
    """Return the table and its weights, or refuse what cannot be learned from."""
    table = read_table(X)
    check_width(table.shape[1])
    check_names(table)  # before scikit-learn meets them
    if y is None:
        raise InvalidInputError(f"{estimator} requires y to be passed, but the target y is None.")
    with our_refusals():
        check_consistent_length(table, y)
        weights = _check_sample_weight(sample_weight, np.empty((len(table), 1)), dtype=np.float64)
    if (weights < 0).any() or weights.max() <= 0:
        raise InvalidInputError(
            "sample_weight must be at least 0 and not all 0, "
            f"got a smallest of {weights.min()} and a largest of {weights.max()}"
        )
    if not 1 / _LARGE_WEIGHT < weights.max() < _LARGE_WEIGHT:
        weights = weights / weights.max()  # only their ratios count
    return table, weights


def check_finite(network: TabularNetwork) -> None:
    """Refuse a network that training has driven out of the numbers that float32 can add up."""
    sizes = [p.detach().abs().max() for p in network.parameters() if p.numel()]
    largest = float(torch.stack(sizes).max())  # NaN if there is one, unlike Python's max
    if not largest < _LARGEST_WEIGHT:
        raise InvalidInputError(
            f"Training must end with finite weights below {_LARGEST_WEIGHT:,}, got {largest:.3g}; "
            "lower learning_rate, or look for extreme values in the target and the weights"
        )


def warn_if_short(history: History, phase: Phase, n_rows: int, time_limit: float) -> None:
    """Warn of a model that has learned less than it was to, and say why."""
    if history.interrupted:
        warn_user(
            "Training was interrupted: the model is the best state so far. "
            "Call fit again to train to the end.",
            InterruptedFitWarning,
        )
        return
    done = max((r["steps"] for r in history.epochs if r["phase"] == phase.name), default=0)
    epoch = math.ceil(n_rows / phase.batch_size)
    hardly = done < min(epoch, _MANY_STEPS) or done < min(_FEW_STEPS, phase.steps / 10)
    if done < phase.steps and hardly and math.isfinite(time_limit):
        warn_user(
            f"time_limit={time_limit:g} s ended training after {done} of {phase.steps} steps, when "
            f"{min(1.0, done / epoch):.0%} of the rows had been seen once: the model has hardly "
            "learned. Give it more time or fewer rows.",
            ShortFitWarning,
        )


def features_in(X: Any, table: pd.DataFrame) -> dict[str, Any]:
    """Return what scikit-learn keeps of the columns: their number and, if all are text, names."""
    noted = BaseEstimator()
    try:
        validate_data(noted, table if hasattr(X, "columns") else X, skip_check_array=True)
    except TypeError as error:  # labels of several types
        raise TableTypeError(str(error)) from None
    return vars(noted) | {"n_features_in_": table.shape[1]}
