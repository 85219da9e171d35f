"""Fit and evaluate models on one split of a table: quality, time, agreement of importances."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import spearmanr
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.utils import check_consistent_length

from sasanet.arrays import Floats
from sasanet.comparison.models import OTHERS, FittedModel, chosen_models
from sasanet.comparison.split import Split, split, suggests_regression
from sasanet.errors import InvalidInputError, MissingPackageError
from sasanet.table.reading import read_table
from sasanet.validation import check_integer, our_refusals, read_choice, read_real

_RESAMPLES = 200
_TOP = 3


@dataclass(frozen=True)
class Evaluation:
    """One model on the test rows: quality of all and of resampled rows, importances, time."""

    quality: Floats
    importance: Floats
    seconds: float


@dataclass(frozen=True)
class Comparison:
    """How good several models are on the same rows.

    Parameters
    ----------
    metric : str
        "AUC" (of several classes: the mean of each against the rest) or "R²".
    models : tuple of dict
        One record per model, SASANet first: ``model``, ``quality`` with its 95 % ``interval`` over
        test rows, ``difference`` to SASANet's with ``difference_interval``, ``fit_seconds``,
        ``rank_correlation`` of the feature importances with SASANet's, ``top_features``.
    skipped : dict
        Models whose package is missing, and what to install.
    n_rows : int
        Rows fitted on.
    n_test_rows : int
        Rows judged on.
    """

    metric: str
    models: tuple[dict[str, Any], ...]
    skipped: dict[str, str]
    n_rows: int
    n_test_rows: int

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one line per model; intervals are two columns each."""
        lines = []
        for one in self.models:
            line = dict(one)
            line["low"], line["high"] = line.pop("interval")
            line["difference_low"], line["difference_high"] = line.pop("difference_interval")
            line["top_features"] = ", ".join(line["top_features"])
            lines.append(line)
        found = pd.DataFrame(lines).set_index("model")
        quality = ["quality", "low", "high", "difference", "difference_low", "difference_high"]
        return found[quality + [name for name in found if name not in quality]]

    def __str__(self) -> str:
        shown = self.to_frame().drop(columns=["difference_low", "difference_high"]).round(3)
        shown = shown.rename(columns={"quality": self.metric})
        notes = [f"Skipped {name}: {why}" for name, why in self.skipped.items()]
        return "\n".join([shown.to_string(), *notes])


def compare(  # noqa: PLR0913 - what to compare, and on what
    X: Any,
    y: Any,
    *,
    models: Sequence[str] = OTHERS,
    task: str = "auto",
    test_size: float = 0.25,
    preset: str = "default",
    time_limit: float = math.inf,
    random_state: int = 0,
) -> Comparison:
    """Fit SASANet and other models on the same rows, and judge them on the same others.

    All have their own default settings. One split of one table: differences within the intervals
    may come out the other way on another.

    Parameters
    ----------
    X : table (n, d)
        Features; text is read as categories, cells may be missing.
    y : array-like (n,)
        Labels.
    models : sequence of str, default=("LightGBM", "linear", "EBM")
        Whom to compare with. EBM needs ``pip install "sasanet[compare]"``, is slow, and is skipped
        where it is missing.
    task : {"auto", "classification", "regression"}, default="auto"
        Numbers with fractions, or with more than ten different values, are regression by default.
    test_size : float, default=0.25
        Share of the rows to judge on.
    preset : {"default", "best"}, default="default"
        Of SASANet.
    time_limit : float, default=inf
        Seconds of training, of SASANet.
    random_state : int, default=0
        Seed of the split and of the models.

    Returns
    -------
    Comparison
        Print it, or see ``to_frame``.

    Examples
    --------
    >>> from sasanet import compare
    >>> X = [[i % 2, i % 3] for i in range(24)]
    >>> found = compare(X, [a + b for a, b in X], models=["linear"])
    >>> found.metric, [one["model"] for one in found.models]
    ('AUC', ['SASANet', 'logistic regression'])
    """
    _check_others(models)
    task = read_choice("task", task, ("auto", "classification", "regression"))
    share = read_real({"test_size": test_size}, "test_size", above=0, below=1)
    seed = check_integer("random_state", random_state, 0, 2**32 - 1, "give a seed such as 0")
    table, labels = read_table(X), pd.Series(np.asarray(y))
    with our_refusals():
        check_consistent_length(table, labels)
    if labels.isna().any():
        raise InvalidInputError(
            "y must have a label in every row, got missing ones; leave them out"
        )
    numbers = suggests_regression(labels) if task == "auto" else task == "regression"
    rows = split(table, labels, numbers, share, seed)
    return evaluate(chosen_models(rows, models, time_limit, preset), rows)


def _check_others(models: Sequence[str]) -> None:
    listed = isinstance(models, list | tuple) and len({*models}) == len(models)
    if not listed or not {*models} <= {*OTHERS}:
        raise InvalidInputError(f"models must be a list of some of {OTHERS}, got {models!r}")


def evaluate(
    models: Mapping[str, Callable[[], FittedModel]],
    rows: Split,
    progress: Callable[[str], AbstractContextManager[Any]] = nullcontext,
) -> Comparison:
    """Fit and judge every model; ``progress`` surrounds each fit, and is told what happens."""
    found: dict[str, Evaluation] = {}
    skipped: dict[str, str] = {}
    for name, fit in models.items():
        try:
            with progress(f"fitting {name}"):
                found[name] = _evaluate_one(fit, rows)
        except MissingPackageError as error:
            skipped[name] = str(error)
    first = next(iter(found.values()))
    names = [str(name) for name in rows.X_test.columns]
    records = tuple(_compare(name, one, first, names) for name, one in found.items())
    metric = "R²" if rows.regression else "AUC"
    return Comparison(metric, records, skipped, len(rows.X_train), len(rows.X_test))


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
