"""What a model predicts, in the units a reader expects: probabilities, numbers, rates."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import softmax

from sasanet.arrays import Floats
from sasanet.estimator.sasanet import SASANetModel
from sasanet.report.metrics import row_cross_entropy
from sasanet.table.target import Target


def predict(model: Any, table: Any) -> Floats:
    """Return probabilities (n, C), numbers or rates (n,), or quantiles (n, Q)."""
    regression = model.target_.task == "regression"
    found = model.predict(table) if regression else model.predict_proba(table)
    return np.asarray(found, dtype=np.float64)


def base_prediction(model: SASANetModel) -> Floats:
    """Return the prediction when nothing is known: (C,), (), or (Q,) quantiles."""
    base, target = model.base_value_, model.target_
    if target.task == "regression":
        found = target.to_target(base)
        return found if len(found) > 1 else found[0]
    log_odds = np.array([0.0, base[0]]) if len(base) == 1 else base
    return np.asarray(softmax(log_odds))


def judged_as(target: Target) -> str:
    """Return what the measures of predictions follow: the task, or the objective of a regression.

    Huber's robust mean is judged as any other mean.
    """
    return "regression" if target.objective == "huber" else target.loss


def errors(target: Target, labels: Floats, predicted: Floats) -> Floats:
    """Return how far off each prediction is; of several quantiles the middle one."""
    if target.task != "regression":
        return row_cross_entropy(labels, predicted)
    middle = predicted if predicted.ndim == 1 else predicted[:, predicted.shape[1] // 2]
    return np.abs(labels - middle)


def describe_target(model: SASANetModel, name: str) -> tuple[str, str]:
    """Return what is predicted, and what is predicted when nothing is known."""
    base, target = base_prediction(model), model.target_
    names = [str(label) for label in target.labels]
    if target.task == "regression":
        return _describe_number(model, name, base)
    if target.task == "binary":
        predicts = f"the probability that {name} is {names[1]} (otherwise {names[0]})"
        return predicts, f"{100 * base[1]:.3g} %, log-odds {model.base_value_[0]:+.3f}"
    predicts = f"which of {len(names)} classes {name} is: {', '.join(names)}"
    shares = zip(names, base, strict=True)
    return predicts, ", ".join(f"{name} {100 * share:.3g} %" for name, share in shares)


def _describe_number(model: SASANetModel, name: str, base: Floats) -> tuple[str, str]:
    target = model.target_
    if target.has_log_link:
        predicts = (
            f"the mean of {name}, per unit of exposure where there is one ({target.objective})"
        )
        return predicts, f"{float(base):.6g}, the mean of training; its logarithm is explained"
    if target.quantiles:
        pairs = zip(target.quantiles, np.atleast_1d(base), strict=True)
        starts = ", ".join(f"q{level:g} {number:.6g}" for level, number in pairs)
        which = ", ".join(f"{level:g}" for level in target.quantiles)
        return f"quantiles of {name}: {which}", f"{starts}, those of the training target"
    kind = "robust mean" if target.objective == "huber" else "mean"
    return name, f"{float(base):.6g}, the {kind} of the training target"
