"""Soft labels: labels mixed with out-of-fold predictions of boosted trees.

A label is one noisy draw; a network that learns from labels alone spends its rows on averaging the
noise away. So every row's label becomes a mixture,

    (1 − w) · label  +  w · prediction of boosted trees fitted without this row

The trees (scikit-learn's) are fitted once per fold on the other folds. Their prediction is an
estimate of E[y | x], so for any coalition S the mixture has the conditional expectation E[y | x_S]
that the labels have, as far as the trees are right; where they are wrong, the labels' own share
corrects the network. Predictions and explanations are the network's alone: no tree is kept.

Sizes: n rows, N features, C classes.
"""

# NOTE[DIFF]: the paper trains on labels alone (``teacher_weight=0``), as the sequence module does.

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from sasanet.arrays import Floats
from sasanet.malloc import steady_heap

_FOLDS = 5
_LARGE = 30_000  # rows from which several folds are fitted at once
_SMALL = 10_000  # rows below which trees stop sooner: what they still gain is noise
_SOONER = {"n_iter_no_change": 20, "tol": 3e-4}
_FEWEST_ROWS = 40  # with fewer there is nothing to split by
_FEWEST_OF_CLASS = 20  # rows: with fewer, trees cannot hold some out to see when to stop
_BLIND_ITERATIONS = 50  # then
_CLEAREST = 0.99
_TINY = 1e-6
_MOST_LEVELS = 255  # of a column scikit-learn's trees split by sets of levels; more: as numbers
_TREES = {
    "learning_rate": 0.08,
    "max_iter": 1000,
    "max_features": 0.5,
    "l2_regularization": 10,  # without, trees run wild where one class is rare (credit card fraud)
    "early_stopping": True,
    "validation_fraction": 0.1,
    "n_iter_no_change": 30,
}


@dataclass(frozen=True)
class TeacherSettings:
    """How the trees soften labels: their weight w, their seconds and their threads."""

    task: str
    weight: float
    time_limit: float
    n_threads: int
    seed: int


@dataclass(frozen=True)
class SoftLabels:
    """Mixed labels, [n] or for more than two classes [n, C]; and how clear the labels are.

    The clarity is the share of the labels' spread that the out-of-fold predictions explain: R², or
    for classes the share of the entropy. It is 0 without a teacher.
    """

    labels: Floats
    clarity: float = 0.0


def soften_labels(
    cells: NDArray[np.floating[Any]],
    labels: Floats,
    weights: Floats,
    levels: Sequence[int | None],
    settings: TeacherSettings,
) -> SoftLabels:
    """Return labels mixed with the trees' out-of-fold predictions.

    ``levels`` holds the number of levels of every category column, ``None`` for a number. Rows
    without a prediction in time keep their label; all do where the trees explain nothing.

    Shape: cells [n, N] (NaN absent), labels (class index or number), weights [n].
    """
    classes = None if settings.task == "regression" else labels.astype(int)
    if settings.weight == 0 or not _enough(classes, len(labels)):
        return SoftLabels(labels)
    plain = labels
    if classes is not None and settings.task == "multiclass":
        plain = np.eye(classes.max() + 1)[classes]
    expected = _out_of_fold(cells, labels, classes, weights, levels, settings, plain.shape)
    predicted = ~np.isnan(expected.reshape(len(labels), -1)[:, 0])
    if not weights[predicted].any():
        return SoftLabels(labels)
    mixed = np.where(np.isnan(expected), plain, plain + settings.weight * (expected - plain))
    known = plain[predicted], expected[predicted], weights[predicted]
    clarity = _clarity(*known, squared=classes is None)
    return SoftLabels(mixed, clarity) if clarity > 0 else SoftLabels(labels)


def _enough(classes: NDArray[np.int_] | None, n_rows: int) -> bool:
    """Tell whether there are rows enough: whatever fold is left out, two classes remain."""
    if classes is None:
        return n_rows >= _FEWEST_ROWS
    return n_rows >= _FEWEST_ROWS and (np.bincount(classes) >= _FOLDS).sum() > 1


def _out_of_fold(
    cells: NDArray[np.floating[Any]],
    labels: Floats,
    classes: NDArray[np.int_] | None,
    weights: Floats,
    levels: Sequence[int | None],
    settings: TeacherSettings,
    shape: tuple[int, ...],
) -> Floats:
    """Return out-of-fold predictions, [n] or [n, C]; NaN for want of time."""
    expected, deadline = np.full(shape, np.nan), time.monotonic() + settings.time_limit
    # Equal weights are none: reading quantiles by weight takes ten times as long as the trees.
    given = None if np.ptp(weights) == 0 else weights

    def predict(unseen: NDArray[np.bool_]) -> None:
        if time.monotonic() >= deadline:
            return
        trees, seen = _make_trees(classes, levels, settings, len(labels)), ~unseen
        # One thread for each fold: threads within a tree wait for each other, and for those of
        # other libraries, many times longer than they work.
        with threadpool_limits(1, "openmp"):
            trees.fit(cells[seen], labels[seen], None if given is None else given[seen])
            expected[unseen] = _expectation(trees, cells[unseen], shape)

    folds = _folds(classes, len(labels), settings.seed)
    with steady_heap():
        # Small trees are grown by Python more than by compiled loops: side by side they only wait.
        if len(labels) < _LARGE:
            list(map(predict, folds))
        else:
            with ThreadPoolExecutor(settings.n_threads) as pool:
                list(pool.map(predict, folds))
    return expected


def _clarity(labels: Floats, expected: Floats, weights: Floats, squared: bool) -> float:
    """Return the share of the labels' spread that the expectations explain, between 0 and 0.99."""
    prior = np.average(labels, axis=0, weights=weights)
    known, unknown = (_losses(labels, guess, squared) for guess in (expected, prior))
    spread = np.average(unknown, weights=weights)
    share = 1 - np.average(known, weights=weights) / spread if spread > 0 else 0.0
    return float(np.clip(share, 0, _CLEAREST))


def _losses(labels: Floats, expected: Floats, squared: bool) -> Floats:
    """Return squared errors, or cross-entropies of one probability or of one per class: [n]."""
    if squared:
        return (labels - expected) ** 2
    expected = np.clip(expected, _TINY, 1 - _TINY)
    if labels.ndim > 1:
        return -(labels * np.log(expected)).sum(1)
    return -(labels * np.log(expected) + (1 - labels) * np.log(1 - expected))


def _folds(classes: NDArray[np.int_] | None, n_rows: int, seed: int) -> Iterator[NDArray[np.bool_]]:
    """Yield which rows are left out, each row once; every fold has its share of each class."""
    order = np.random.RandomState(seed).permutation(n_rows)
    if classes is not None:
        order = order[np.argsort(classes[order], kind="stable")]
    fold = np.empty(n_rows, dtype=int)
    fold[order] = np.arange(n_rows) % _FOLDS
    for number in range(_FOLDS):
        yield fold == number


def _make_trees(
    classes: NDArray[np.int_] | None,
    levels: Sequence[int | None],
    settings: TeacherSettings,
    n_rows: int,
) -> Any:
    kind: Any = HistGradientBoostingRegressor if classes is None else HistGradientBoostingClassifier
    sets = [i for i, count in enumerate(levels) if count is not None and count <= _MOST_LEVELS]
    patience = _SOONER if n_rows < _SMALL else {}
    trees = kind(categorical_features=sets or None, random_state=settings.seed, **_TREES | patience)
    if classes is not None and np.bincount(classes).min() < _FEWEST_OF_CLASS:
        trees.set_params(early_stopping=False, max_iter=_BLIND_ITERATIONS)
    return trees


def _expectation(
    trees: Any, cells: NDArray[np.floating[Any]], shape: tuple[int, ...]
) -> NDArray[Any]:
    """Return E[y | x] by the trees: a number, the probability of the second class, or of each."""
    if not hasattr(trees, "predict_proba"):
        return np.asarray(trees.predict(cells))
    shares = np.asarray(trees.predict_proba(cells))
    if len(shape) == 1:
        return shares[:, 1]
    of_all = np.zeros((len(cells), shape[1]))  # a class may be in no row of the other folds
    of_all[:, trees.classes_.astype(int)] = shares
    return of_all
