"""Fit and evaluate models on one split of a table: quality, time, agreement of importances."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import spearmanr
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import train_test_split

from sasanet.arrays import Floats
from sasanet.cli.comparison.models import FittedModel, Split
from sasanet.cli.files.labels import TrainingTable
from sasanet.cli.terminal import Terminal
from sasanet.errors import InvalidInputError, MissingPackageError

_RESAMPLES = 200
_TOP = 3


def split(data: TrainingTable, test_share: float, seed: int) -> Split:
    """Split a table once for all models; texts become categories, classes numbers."""
    y, strata = data.y.to_numpy(), None
    if not data.is_regression:
        y, _ = pd.factorize(data.y, sort=True)
        strata = y
    X = data.X.copy()
    texts = X.columns[[dtype.kind not in "iufb" for dtype in X.dtypes]]
    for name in dict.fromkeys([*texts, *data.codes]):
        X[name] = X[name].astype("category")
    try:
        parts = train_test_split(X, y, test_size=test_share, random_state=seed, stratify=strata)
    except ValueError as error:
        raise InvalidInputError(
            f"Both parts of the table must have rows of every class, got: {error}"
        ) from None
    X_train, X_test, y_train, y_test = parts
    return Split(X_train, X_test, y_train, y_test, data.is_regression, seed)


@dataclass(frozen=True)
class Evaluation:
    """One model on the test rows: quality of all and of resampled rows, importances, time."""

    quality: Floats
    importance: Floats
    seconds: float


def evaluate(
    models: dict[str, Callable[[], FittedModel]], rows: Split, terminal: Terminal
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Fit and evaluate every model; the others are compared with the first.

    Returns one record per model, and why others were skipped.
    """
    found: dict[str, Evaluation] = {}
    skipped: dict[str, str] = {}
    for name, fit in models.items():
        try:
            with terminal.progress(f"fitting {name}"):
                found[name] = _evaluate_one(fit, rows)
        except MissingPackageError as error:
            skipped[name] = str(error)
    first = next(iter(found.values()))
    names = [str(name) for name in rows.X_test.columns]
    return [_compare(name, one, first, names) for name, one in found.items()], skipped


def _evaluate_one(fit: Callable[[], FittedModel], rows: Split) -> Evaluation:
    start = time.perf_counter()
    model = fit()
    seconds = time.perf_counter() - start
    quality = _resampled(rows.y_test, model.score(rows.X_test), rows.regression)
    return Evaluation(quality, model.importance(rows.X_test), seconds)


def _compare(
    name: str, one: Evaluation, first: Evaluation, feature_names: list[str]
) -> dict[str, Any]:
    strongest = np.argsort(-one.importance, kind="stable")[:_TOP]
    return {
        "model": name,
        "quality": float(one.quality[0]),
        "interval": _interval(one.quality[1:]),
        "difference": float(one.quality[0] - first.quality[0]),
        "difference_interval": _interval(one.quality[1:] - first.quality[1:]),
        "fit_seconds": round(one.seconds, 3),
        "rank_correlation": _rank_correlation(one.importance, first.importance),
        "top_features": [feature_names[j] for j in strongest],
    }


def _resampled(y: NDArray[Any], scores: Floats, regression: bool) -> Floats:
    """Return the quality of all test rows, then of resampled ones; NaN where it is undefined.

    The resamples are the same for every model, so that differences are between the same rows.
    """
    random, n = np.random.RandomState(0), len(y)
    picks = [np.arange(n), *(random.randint(0, n, n) for _ in range(_RESAMPLES))]
    return np.array([_quality(y[pick], scores[pick], regression) for pick in picks])


def _quality(y: NDArray[Any], scores: Floats, regression: bool) -> float:
    if regression:
        return float(r2_score(y, scores))
    n_classes = 2 if scores.ndim == 1 else scores.shape[1]
    if len(np.unique(y)) < n_classes:
        return math.nan
    return float(roc_auc_score(y, scores, multi_class="ovr"))


def _interval(draws: Floats) -> list[float]:
    return [float(edge) for edge in np.nanquantile(draws, [0.025, 0.975])]


def _rank_correlation(one: Floats, other: Floats) -> float | None:
    """Return Spearman's correlation of importances; with a single feature there is none."""
    if len(one) < 2 or np.ptp(one) == 0 or np.ptp(other) == 0:
        return None
    return float(spearmanr(one, other).statistic)
