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

import math
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from sasanet.arrays import Floats, Masks
from sasanet.malloc import steady_heap

_FOLDS = 5
_LARGE = 30_000  # rows from which several folds are fitted at once
_SMALL = 10_000  # rows below which trees stop sooner: what they still gain is noise
_SOONER = {"n_iter_no_change": 20, "tol": 3e-4}
_FEWEST_ROWS = 40  # with fewer there is nothing to split by
_FEWEST_VALUES = 20  # of a column: trees hold rows out and cannot bin a column without any value
_FEWEST_IN_TIME = 500  # rows: trees of fewer know less than the labels
# Seconds per cell of binning and predicting, and of growing one tree; measured on one core of two,
# and rounded up. They only decide how many rows are tried under a time limit.
_BINNING, _GROWING = 3e-7, 3e-8
_USUAL_ITERATIONS = 60
_FIRST_ITERATIONS = 10  # under a time limit: enough to see how fast trees grow
_FEWEST_OF_CLASS = 20  # rows: with fewer, trees cannot hold some out to see when to stop
_BLIND_ITERATIONS = 50  # then
_ROWS_AT_ONCE = 50_000  # predicted between two looks at the clock
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
    n_rows: int = 0  # that the trees learned from


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
    if settings.weight == 0 or not _enough(classes, weights > 0):
        return SoftLabels(labels)
    plain = labels
    if classes is not None and settings.task == "multiclass":
        plain = np.eye(classes.max() + 1)[classes]
    data = _Data(cells, labels, classes, weights, levels, plain.shape)
    used = _affordable_rows(data, settings)
    if used is None:
        return SoftLabels(labels)
    expected = _out_of_fold(data, used, settings)
    predicted = ~np.isnan(expected.reshape(len(labels), -1)[:, 0])
    if not weights[predicted].any():
        return SoftLabels(labels)
    mixed = np.where(np.isnan(expected), plain, plain + settings.weight * (expected - plain))
    known = plain[predicted], expected[predicted], weights[predicted]
    clarity = _clarity(*known, squared=classes is None)
    n_rows = int(used.sum())
    return SoftLabels(mixed, clarity, n_rows) if clarity > 0 else SoftLabels(labels, 0.0, n_rows)


@dataclass(frozen=True)
class _Data:
    """What the trees see: cells [n, N], labels, classes, weights [n]; the predictions' shape."""

    cells: NDArray[np.floating[Any]]
    labels: Floats
    classes: NDArray[np.int_] | None
    weights: Floats
    levels: Sequence[int | None]
    shape: tuple[int, ...]

    @property
    def n_trees(self) -> int:
        """How many trees grow in one iteration."""
        return self.shape[1] if len(self.shape) > 1 else 1


def _enough(classes: NDArray[np.int_] | None, counted: Masks) -> bool:
    """Tell whether there are rows enough: whatever fold is left out, two classes remain."""
    n_rows = int(counted.sum())
    if classes is None:
        return n_rows >= _FEWEST_ROWS
    return n_rows >= _FEWEST_ROWS and (np.bincount(classes[counted]) >= _FOLDS).sum() > 1


def _affordable_rows(data: _Data, settings: TeacherSettings) -> Masks | None:
    """Return the rows that trees learn from: those that count, or a sample that time allows.

    A row without weight says nothing. ``None`` where the time allows too few rows.
    """
    counted = data.weights > 0
    iteration = _GROWING * data.n_trees
    a_row = data.cells.shape[1] * (_BINNING + _USUAL_ITERATIONS * iteration) * (_FOLDS - 1)
    most = settings.time_limit / a_row
    if most >= counted.sum():
        return counted
    if most < _FEWEST_IN_TIME:
        return None
    order = np.random.RandomState(settings.seed).permutation(np.flatnonzero(counted))
    sample = np.zeros(len(counted), dtype=bool)
    sample[order[: int(most)]] = True
    return sample if _enough(data.classes, sample) else None


def _out_of_fold(data: _Data, used: Masks, settings: TeacherSettings) -> Floats:
    """Return out-of-fold predictions, [n] or [n, C]; NaN for want of time."""
    expected, deadline = np.full(data.shape, np.nan), time.monotonic() + settings.time_limit
    n_rows = len(data.labels)
    # Small trees are grown by Python more than by compiled loops: side by side they only wait.
    n_threads = 1 if n_rows < _LARGE else settings.n_threads

    def predict(fold: tuple[int, Masks]) -> None:
        number, unseen = fold
        # Each fold may take its share of what is left, so that the last ones get theirs.
        rounds = math.ceil((_FOLDS - number) / n_threads)
        left = deadline - time.monotonic()
        if left <= 0:
            return
        end = time.monotonic() + left / rounds
        # One thread for each fold: threads within a tree wait for each other, and for those of
        # other libraries, many times longer than they work.
        with threadpool_limits(1, "openmp"):
            trees = _grow(data, used & ~unseen, settings, end)
            _predict_rows(trees, data, unseen, expected, deadline)

    folds = enumerate(_folds(data.classes, n_rows, settings.seed))
    with steady_heap():
        if n_threads == 1:
            list(map(predict, folds))
        else:
            with ThreadPoolExecutor(n_threads) as pool:
                list(pool.map(predict, folds))
    return expected


def _grow(data: _Data, seen: Masks, settings: TeacherSettings, end: float) -> Any:
    """Fit trees on some rows; under a time limit in parts, each no longer than what is left."""
    trees = _make_trees(data, settings)
    # Equal weights are none: reading quantiles by weight takes ten times as long as the trees.
    weights = None if np.ptp(data.weights) == 0 else data.weights[seen]
    cells, labels = _with_values(data.cells[seen]), data.labels[seen]
    if end == math.inf:
        return trees.fit(cells, labels, weights)
    most, done = trees.max_iter, _FIRST_ITERATIONS
    trees.set_params(warm_start=True, max_iter=done)
    start = time.monotonic()
    trees.fit(cells, labels, weights)
    while trees.n_iter_ >= done and done < most:  # fewer: they stopped by themselves
        now = time.monotonic()
        more = int(0.9 * (end - now) / max((now - start) / done, 1e-9))
        if more < _FIRST_ITERATIONS:
            break
        done = min(most, done + min(more, 4 * done))
        trees.set_params(max_iter=done).fit(cells, labels, weights)
    return trees


def _with_values(cells: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    """Return cells in which a column with hardly any value is constant: trees cannot bin it."""
    empty = (~np.isnan(cells)).sum(0) < _FEWEST_VALUES
    if not empty.any() or len(cells) < _FEWEST_VALUES:
        return cells
    return np.where(empty, cells.dtype.type(0), cells)


def _predict_rows(trees: Any, data: _Data, rows: Masks, expected: Floats, deadline: float) -> None:
    """Note the trees' predictions of rows, in parts: what is not done in time stays NaN."""
    index = np.flatnonzero(rows)
    size = len(index) if deadline == math.inf else _ROWS_AT_ONCE
    for start in range(0, len(index), size):
        part = index[start : start + size]
        expected[part] = _expectation(trees, data.cells[part], data.shape)
        if time.monotonic() > deadline:
            return


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


def _make_trees(data: _Data, settings: TeacherSettings) -> Any:
    classes = data.classes
    kind: Any = HistGradientBoostingRegressor if classes is None else HistGradientBoostingClassifier
    sets = [i for i, count in enumerate(data.levels) if count is not None and count <= _MOST_LEVELS]
    patience = _SOONER if len(data.labels) < _SMALL else {}
    trees = kind(categorical_features=sets or None, random_state=settings.seed, **_TREES | patience)
    if classes is not None and np.bincount(classes[data.weights > 0]).min() < _FEWEST_OF_CLASS:
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
