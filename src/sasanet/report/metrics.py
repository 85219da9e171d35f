"""Predictions and labels in, how good they are out: measures with 95 % intervals, by group too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn import config_context, metrics

from sasanet.arrays import Floats
from sasanet.explanation.wording import MISSING

Compute = Callable[[Floats, Floats], float]  # labels, predictions → number
_DRAWS, _MOST_RESAMPLED = 100, 20_000  # resamples, and rows in each
_Z = 1.959964
_MOST_GROUPS, _QUARTERS = 12, 4
_FEWEST_ROWS = 10  # a group of fewer says nothing


@dataclass(frozen=True)
class Measure:
    """One measure of predictions, what knowing nothing would score, and which way is better."""

    name: str
    value: float
    low: float
    high: float
    nothing: float
    better: str


@dataclass(frozen=True)
class Kind:
    """How one measure is computed, and between which ends it lies."""

    name: str
    compute: Compute
    better: str
    ends: tuple[float, float]


def measure(
    task: str, labels: Floats, predicted: Floats, base: Floats, most: int | None = None
) -> list[dict[str, Any]]:
    """Return the measures of a task, undefined where these labels do not define them.

    Parameters
    ----------
    task : {"binary", "multiclass", "regression"}
        What is predicted.
    labels : ndarray (n,)
        Class indices, or numbers.
    predicted : ndarray (n, C) or (n,)
        Probabilities, or numbers.
    base : ndarray (C,) or ()
        The same of the base value: what is predicted when nothing is known.
    most : int, optional
        So many measures, the main ones first.

    Returns
    -------
    list of dict
        Fields of :class:`Measure`.

    Examples
    --------
    >>> labels = np.array([1.0, 2.0, 3.0])
    >>> found = measure("regression", labels, labels, np.array(2.0))
    >>> [(one["name"], one["value"]) for one in found][0]
    ('R²', 1.0)
    """
    nothing = np.broadcast_to(base, predicted.shape)
    kinds = _kinds(task)[:most]
    return [asdict(_with_interval(kind, labels, predicted, nothing)) for kind in kinds]


def by_group(
    task: str, labels: Floats, predicted: Floats, base: Floats, group: pd.Series
) -> list[dict[str, Any]]:
    """Return for each group its size, what came, what was predicted, and the measures."""
    found, names = [], _group_names(group)
    for name in names.cat.categories[:_MOST_GROUPS]:
        rows = (names == name).to_numpy()
        if rows.sum() < _FEWEST_ROWS:
            continue
        one: dict[str, Any] = {"name": str(name), "rows": int(rows.sum())}
        if task != "multiclass":
            shown = predicted[:, 1] if task == "binary" else predicted
            one |= {"observed": labels[rows].mean(), "predicted": shown[rows].mean()}
        one["measures"] = measure(task, labels[rows], predicted[rows], base, most=2)
        found.append(one)
    return found


def _group_names(group: pd.Series) -> pd.Series:
    """Return the group of every row; a number with many values is cut into quarters."""
    missing = group.isna().to_numpy()
    numeric = pd.api.types.is_numeric_dtype(group) and not pd.api.types.is_bool_dtype(group)
    if not numeric or group.nunique() <= _MOST_GROUPS:
        names = group.map(str).astype(object).mask(missing, MISSING)
        return pd.Series(pd.Categorical(names, categories=names.value_counts().index))
    values = group.astype(np.float64)
    codes = pd.Series(pd.qcut(values, _QUARTERS, labels=False, duplicates="drop"), values.index)
    ends = values.groupby(codes).agg(["min", "max"])
    labels = [f"{low:.6g} to {high:.6g}" for low, high in ends.to_numpy()]
    names = codes.map(dict(zip(ends.index, labels, strict=True))).astype(object)
    return pd.Series(pd.Categorical(names.mask(missing, MISSING), categories=[*labels, MISSING]))


def _with_interval(kind: Kind, labels: Floats, predicted: Floats, nothing: Floats) -> Measure:
    """Return a measure ± 1.96 of its bootstrap standard error over rows.

    A large table is resampled from a part of it: the error shrinks with the root of the rows.
    """
    if not _is_defined(kind, labels):
        return Measure(kind.name, np.nan, np.nan, np.nan, np.nan, kind.better)
    value = kind.compute(labels, predicted)
    random, draws = np.random.default_rng(0), []
    part = random.permutation(len(labels))[:_MOST_RESAMPLED]
    with config_context(skip_parameter_validation=True, assume_finite=True):
        for _ in range(_DRAWS):
            rows = random.choice(part, len(part))
            if _is_defined(kind, labels[rows]):
                draws.append(kind.compute(labels[rows], predicted[rows]))
    error = float(np.std(draws)) if len(draws) > 1 and len(labels) > 1 else np.nan
    half = _Z * error * np.sqrt(len(part) / len(labels))
    low, high = (float(end) for end in np.clip([value - half, value + half], *kind.ends))
    return Measure(kind.name, value, low, high, kind.compute(labels, nothing), kind.better)


def _is_defined(kind: Kind, labels: Floats) -> bool:
    """Whether the labels differ, where a measure compares what differs."""
    return not kind.name.startswith(("Area", "Average", "R²")) or len(np.unique(labels)) > 1


def _kinds(task: str) -> list[Kind]:
    share, positive = (0.0, 1.0), (0.0, np.inf)
    if task == "regression":
        return [
            Kind("R²", _r2, "higher", (-np.inf, 1.0)),
            Kind("Root mean squared error", _rmse, "lower", positive),
            Kind("Mean absolute error", _mae, "lower", positive),
        ]
    ranking = [
        Kind("Area under the ROC curve", _auc, "higher", share),
        Kind("Average precision", _precision, "higher", share),
    ]
    return [
        *(ranking if task == "binary" else []),
        Kind("Accuracy", _accuracy, "higher", share),
        Kind("Cross-entropy", _cross_entropy, "lower", positive),
        Kind("Brier score", _brier, "lower", (0.0, 2.0)),
    ]


def _auc(labels: Floats, predicted: Floats) -> float:
    return float(metrics.roc_auc_score(labels, predicted[:, 1]))


def _precision(labels: Floats, predicted: Floats) -> float:
    return float(metrics.average_precision_score(labels, predicted[:, 1]))


def _accuracy(labels: Floats, predicted: Floats) -> float:
    return float(np.mean(predicted.argmax(axis=1) == labels))


def _cross_entropy(labels: Floats, predicted: Floats) -> float:
    return float(surprise(labels, predicted).mean())


def _brier(labels: Floats, predicted: Floats) -> float:
    """Return the mean squared distance of probabilities, halved for two classes as is usual."""
    came = np.eye(predicted.shape[1])[labels.astype(int)]
    squares = ((predicted - came) ** 2).sum(axis=1) / (2 if predicted.shape[1] == 2 else 1)
    return float(squares.mean())


def _r2(labels: Floats, predicted: Floats) -> float:
    return float(metrics.r2_score(labels, predicted))


def _rmse(labels: Floats, predicted: Floats) -> float:
    return float(np.sqrt(np.mean((labels - predicted) ** 2)))


def _mae(labels: Floats, predicted: Floats) -> float:
    return float(np.abs(labels - predicted).mean())


def surprise(labels: Floats, predicted: Floats) -> Floats:
    """Return −log of the probability that each row's own class was given: (n,), (n, C) → (n,)."""
    given = predicted[np.arange(len(labels)), labels.astype(int)]
    return np.asarray(-np.log(np.maximum(given, 1e-15)))
