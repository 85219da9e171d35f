"""Models and one split of a table in, how good each is out: quality, time, ranking of features."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import spearmanr
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import train_test_split

from sasanet.cli.comparison import rivals
from sasanet.cli.files.labels import Question
from sasanet.cli.terminal import Terminal
from sasanet.errors import InvalidInputError, MissingPackageError

_RESAMPLES = 200
_TOP = 3


def split(question: Question, test_share: float, seed: int) -> rivals.Rows:
    """Divide a table once for all models; texts become categories, classes numbers."""
    y = question.y.to_numpy()
    strata = None
    if not question.is_regression:
        y, _ = pd.factorize(question.y, sort=True)
        strata = y
    X = question.X.copy()
    texts = X.columns[[dtype.kind not in "iufb" for dtype in X.dtypes]]
    for name in dict.fromkeys([*texts, *question.codes]):
        X[name] = X[name].astype("category")
    try:
        parts = train_test_split(X, y, test_size=test_share, random_state=seed, stratify=strata)
    except ValueError as error:
        raise InvalidInputError(
            f"Both parts of the table must have rows of every class, got {error}"
        ) from None
    X_train, X_test, y_train, y_test = parts
    return rivals.Rows(X_train, X_test, y_train, y_test, question.is_regression, seed)


def measure(
    systems: dict[str, Callable[[], rivals.Fitted]], rows: rivals.Rows, terminal: Terminal
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Fit and judge every model; the first is what the others are compared with."""
    found: list[dict[str, Any]] = []
    skipped: dict[str, str] = {}
    first: tuple[NDArray[Any], NDArray[Any]] | None = None
    for name, fit in systems.items():
        start = time.perf_counter()
        try:
            with terminal.progress(f"fitting {name}"):
                model = fit()
        except MissingPackageError as error:
            skipped[name] = str(error)
            continue
        seconds = time.perf_counter() - start
        draws = _resampled(rows.y_test, model.score(rows.X_test), rows.regression)
        strength = model.rank(rows.X_test)
        first = first or (draws, strength)
        order = np.argsort(-strength, kind="stable")[:_TOP]
        found.append(
            {
                "model": name,
                "quality": float(draws[0]),
                "interval": _interval(draws[1:]),
                "difference": float(draws[0] - first[0][0]),
                "difference_interval": _interval(draws[1:] - first[0][1:]),
                "fit_seconds": round(seconds, 3),
                "rank_correlation": _agreement(strength, first[1]),
                "top_features": [str(rows.X_test.columns[j]) for j in order],
            }
        )
    return found, skipped


def _resampled(y: NDArray[Any], scores: NDArray[Any], regression: bool) -> NDArray[Any]:
    """Return the quality of all test rows, then of rows drawn anew; NaN where it is undefined.

    The draws are the same for every model, so that differences are of equal rows.
    """
    random, n = np.random.RandomState(0), len(y)
    picks = [np.arange(n), *(random.randint(0, n, n) for _ in range(_RESAMPLES))]
    return np.array([_quality(y[pick], scores[pick], regression) for pick in picks])


def _quality(y: NDArray[Any], scores: NDArray[Any], regression: bool) -> float:
    if regression:
        return float(r2_score(y, scores))
    n_classes = 2 if scores.ndim == 1 else scores.shape[1]
    if len(np.unique(y)) < n_classes:
        return math.nan
    return float(roc_auc_score(y, scores, multi_class="ovr"))


def _interval(draws: NDArray[Any]) -> list[float]:
    return [float(edge) for edge in np.nanquantile(draws, [0.025, 0.975])]


def _agreement(one: NDArray[Any], other: NDArray[Any]) -> float | None:
    """Return Spearman's correlation of two rankings; of a single feature there is none."""
    if len(one) < 2 or np.ptp(one) == 0 or np.ptp(other) == 0:
        return None
    return float(spearmanr(one, other).statistic)
