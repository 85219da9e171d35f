"""Quality of predictions: measures with 95 % intervals over rows, for all rows and by group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn import config_context
from sklearn import metrics as sklearn_metrics

from sasanet.arrays import Floats
from sasanet.explanation.wording import MISSING
from sasanet.intervals import bootstrap_half_width
from sasanet.objectives import POWERS, deviance, pinball

Compute = Callable[[Floats, Floats, Floats | None], float]  # labels, predictions, weights
_RESAMPLES, _MOST_RESAMPLED = 100, 20_000  # resamples, and rows in each
_MOST_GROUPS, _QUARTERS = 12, 4
_FEWEST_ROWS = 10  # in a group: fewer would say nothing


@dataclass(frozen=True)
class Judged:
    """What predictions are judged by.

    Attributes
    ----------
    labels : ndarray (n,)
        Class indices, numbers, or rates.
    predicted : ndarray (n, C), (n,) or (n, Q)
        Probabilities, numbers, or quantiles.
    base : ndarray (C,), () or (Q,)
        The prediction of the base value: when nothing is known.
    weights : ndarray (n,), optional
        How much each row counts: its exposure.
    """

    labels: Floats
    predicted: Floats
    base: Floats
    weights: Floats | None = None

    def take(self, rows: Any) -> Judged:
        """Return some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        return Judged(self.labels[rows], self.predicted[rows], self.base, weights)


@dataclass(frozen=True)
class Measure:
    """One measure of predictions, the score of the base value alone, and which way is better."""

    name: str
    value: float
    low: float
    high: float
    base: float
    better: str


@dataclass(frozen=True)
class Metric:
    """How one measure is computed, and within which bounds it lies."""

    name: str
    compute: Compute
    better: str
    bounds: tuple[float, float]
    needs_spread: bool = False  # whether it is undefined when all labels are equal


def measure(
    task: str, judged: Judged, quantiles: Sequence[float] = (), most: int | None = None
) -> list[dict[str, Any]]:
    """Return the measures of a task, undefined where these labels do not define them.

    Parameters
    ----------
    task : {"binary", "multiclass", "regression", "poisson", "gamma", "tweedie", "quantile"}
        What is predicted.
    judged : Judged
        Labels and predictions.
    quantiles : sequence of float
        Those that are predicted.
    most : int, optional
        Return only so many measures, the main ones first.

    Returns
    -------
    list of dict
        Fields of :class:`Measure`.

    Examples
    --------
    >>> labels = np.array([1.0, 2.0, 3.0])
    >>> found = measure("regression", Judged(labels, labels, np.array(2.0)))
    >>> [(one["name"], one["value"]) for one in found][0]
    ('R²', 1.0)
    """
    metrics = _metrics(task, quantiles)[:most]
    return [asdict(_with_interval(metric, judged)) for metric in metrics]


def by_group(
    task: str, judged: Judged, group: pd.Series, quantiles: Sequence[float] = ()
) -> list[dict[str, Any]]:
    """Return the size, the mean label, the mean prediction and the measures of each group."""
    names = _group_names(group)
    found = []
    for name in names.cat.categories[:_MOST_GROUPS]:
        rows = (names == name).to_numpy()
        if rows.sum() < _FEWEST_ROWS:
            continue
        one: dict[str, Any] = {"name": str(name), "rows": int(rows.sum())}
        part = judged.take(rows)
        if task == "binary" or part.predicted.ndim == 1:
            shown = part.predicted[:, 1] if task == "binary" else part.predicted
            means = (np.average(x, weights=part.weights) for x in (part.labels, shown))
            one |= dict(zip(("observed", "predicted"), means, strict=True))
        one["measures"] = measure(task, part, quantiles, most=2)
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


def _with_interval(metric: Metric, judged: Judged) -> Measure:
    """Return a measure ± 1.96 of its bootstrap standard error over rows."""
    labels, predicted, weights = judged.labels, judged.predicted, judged.weights
    if not _is_defined(metric, labels):
        return Measure(metric.name, np.nan, np.nan, np.nan, np.nan, metric.better)
    value = metric.compute(labels, predicted, weights)
    half = _half_width(metric, judged)
    low, high = (float(end) for end in np.clip([value - half, value + half], *metric.bounds))
    base = metric.compute(labels, np.broadcast_to(judged.base, predicted.shape), weights)
    return Measure(metric.name, value, low, high, base, metric.better)


def _half_width(metric: Metric, judged: Judged) -> float:
    def resampled(rows: NDArray[np.intp]) -> float:
        part = judged.take(rows)
        if not _is_defined(metric, part.labels):
            return np.nan
        return metric.compute(part.labels, part.predicted, part.weights)

    with config_context(skip_parameter_validation=True, assume_finite=True):
        return bootstrap_half_width(resampled, len(judged.labels), _RESAMPLES, _MOST_RESAMPLED)


def _is_defined(metric: Metric, labels: Floats) -> bool:
    return not metric.needs_spread or len(np.unique(labels)) > 1


def _metrics(task: str, quantiles: Sequence[float] = ()) -> list[Metric]:
    share, positive = (0.0, 1.0), (0.0, np.inf)
    if task in POWERS:
        return _metrics_of_rates(POWERS[task])
    if task == "quantile":
        return _metrics_of_quantiles(quantiles)
    if task == "regression":
        return [
            Metric("R²", _r2, "higher", (-np.inf, 1.0), needs_spread=True),
            Metric("Root mean squared error", _rmse, "lower", positive),
            Metric("Mean absolute error", _mae, "lower", positive),
        ]
    ranking = [
        Metric("Area under the ROC curve", _auc, "higher", share, needs_spread=True),
        Metric("Average precision", _precision, "higher", share, needs_spread=True),
    ]
    return [
        *(ranking if task == "binary" else []),
        Metric("Accuracy", _accuracy, "higher", share),
        Metric("Cross-entropy", _cross_entropy, "lower", positive),
        Metric("Brier score", _brier, "lower", (0.0, 2.0)),
    ]


def _metrics_of_rates(power: float) -> list[Metric]:
    """Return deviances, by exposure where there is one."""

    def explained(labels: Floats, predicted: Floats, weights: Floats | None) -> float:
        constant = np.full_like(labels, np.average(labels, weights=weights))
        return 1 - loss(labels, predicted, weights) / loss(labels, constant, weights)

    def loss(labels: Floats, predicted: Floats, weights: Floats | None) -> float:
        return float(np.average(deviance(labels, predicted, power), weights=weights))

    positive = (0.0, np.inf)
    return [
        Metric("D² of the deviance", explained, "higher", (-np.inf, 1.0), needs_spread=True),
        Metric("Mean deviance", loss, "lower", positive),
        Metric("Mean absolute error", _mae, "lower", positive),
    ]


def _metrics_of_quantiles(quantiles: Sequence[float]) -> list[Metric]:
    """Return the pinball loss, the share below each quantile, and the coverage of the interval."""

    def loss(labels: Floats, predicted: Floats, _: Floats | None) -> float:
        return float(pinball(labels, predicted.reshape(len(labels), -1), quantiles).mean())

    def below(place: int) -> Compute:
        return lambda labels, predicted, _: float(
            np.mean(labels <= predicted.reshape(len(labels), -1)[:, place])
        )

    def inside(labels: Floats, predicted: Floats, _: Floats | None) -> float:
        return float(np.mean((predicted[:, 0] < labels) & (labels <= predicted[:, -1])))

    share = (0.0, 1.0)
    found = [Metric("Pinball loss", loss, "lower", (0.0, np.inf))]
    if len(quantiles) > 1:
        width = quantiles[-1] - quantiles[0]
        found.append(Metric("Inside the interval", inside, f"{100 * width:.4g} %", share))
    return found + [
        Metric(f"Below q{level:g}", below(place), f"{100 * level:.4g} %", share)
        for place, level in enumerate(quantiles)
    ]


def _auc(labels: Floats, predicted: Floats, _: Floats | None) -> float:
    return float(sklearn_metrics.roc_auc_score(labels, predicted[:, 1]))


def _precision(labels: Floats, predicted: Floats, _: Floats | None) -> float:
    return float(sklearn_metrics.average_precision_score(labels, predicted[:, 1]))


def _accuracy(labels: Floats, predicted: Floats, _: Floats | None) -> float:
    return float(np.mean(predicted.argmax(axis=1) == labels))


def _cross_entropy(labels: Floats, predicted: Floats, _: Floats | None) -> float:
    return float(row_cross_entropy(labels, predicted).mean())


def _brier(labels: Floats, predicted: Floats, _: Floats | None) -> float:
    """Return the mean squared error of probabilities, halved for two classes as is usual."""
    observed = np.eye(predicted.shape[1])[labels.astype(int)]
    squares = ((predicted - observed) ** 2).sum(axis=1) / (2 if predicted.shape[1] == 2 else 1)
    return float(squares.mean())


def _r2(labels: Floats, predicted: Floats, _: Floats | None) -> float:
    return float(sklearn_metrics.r2_score(labels, predicted))


def _rmse(labels: Floats, predicted: Floats, _: Floats | None) -> float:
    return float(np.sqrt(np.mean((labels - predicted) ** 2)))


def _mae(labels: Floats, predicted: Floats, weights: Floats | None) -> float:
    return float(np.average(np.abs(labels - predicted), weights=weights))


def row_cross_entropy(labels: Floats, predicted: Floats) -> Floats:
    """Return −log of the probability predicted for each row's own class: (n,), (n, C) → (n,)."""
    own = predicted[np.arange(len(labels)), labels.astype(int)]
    return np.asarray(-np.log(np.maximum(own, 1e-15)))
