"""Encoded rows and labels in, softer labels out: boosted trees mark the rows they have not seen.

A label is one noisy draw; a network that learns from labels alone spends its rows on averaging the
noise away. So every row's label becomes a mixture,

    (1 − w) · label  +  w · what boosted trees, fitted without this row, expect of it

The trees (scikit-learn's) are fitted once per fold on the other folds. What they expect is an
estimate of E[y | x], so for any coalition S the mixture has the conditional expectation E[y | x_S]
that the labels have, as far as the trees are right; where they are wrong, the labels' own share
corrects the network. Predictions and explanations are the network's alone: no tree is kept.

Sizes: n rows, N features, C classes.
"""

# NOTE[DIFF]: the paper trains on labels alone (``teacher=0``); the sequence module still does.

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

from sasanet.heap import steady_heap

Floats = NDArray[np.float64]

_FOLDS = 5
_LARGE = 30_000  # rows from which several folds are taught at once
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
class Lesson:
    """How the trees teach: their share w of every label, their seconds and their threads."""

    task: str
    share: float
    time_limit: float
    n_threads: int
    seed: int


@dataclass(frozen=True)
class Taught:
    """Mixed labels, [n] or for more than two classes [n, C]; and how clear the labels are.

    The clarity is the share of the labels' spread that the trees foresee on rows they have not
    seen: R², or for classes the share of the entropy. It is 0 where nobody taught.
    """

    labels: Floats
    clarity: float = 0.0


def teach(
    cells: NDArray[np.floating[Any]],
    labels: Floats,
    weights: Floats,
    levels: Sequence[int | None],
    lesson: Lesson,
) -> Taught:
    """Return labels mixed with what the trees expect.

    ``levels`` holds the number of levels of every category column, ``None`` for a number. Rows that
    no tree could mark in time keep their label; all do where the trees foresee nothing.

    Shape: cells [n, N] (NaN absent), labels (class index or number), weights [n].
    """
    classes = None if lesson.task == "regression" else labels.astype(int)
    if lesson.share == 0 or not _enough(classes, len(labels)):
        return Taught(labels)
    plain = labels
    if classes is not None and lesson.task == "multiclass":
        plain = np.eye(classes.max() + 1)[classes]
    expected = _out_of_fold(cells, labels, classes, weights, levels, lesson, plain.shape)
    marked = ~np.isnan(expected.reshape(len(labels), -1)[:, 0])
    if not weights[marked].any():
        return Taught(labels)
    mixed = np.where(np.isnan(expected), plain, plain + lesson.share * (expected - plain))
    known = plain[marked], expected[marked], weights[marked]
    clarity = _clarity(*known, squared=classes is None)
    return Taught(mixed, clarity) if clarity > 0 else Taught(labels)


def _enough(classes: NDArray[np.int_] | None, n_rows: int) -> bool:
    """Tell whether there are rows to teach from: whatever fold is left out, two classes remain."""
    if classes is None:
        return n_rows >= _FEWEST_ROWS
    return n_rows >= _FEWEST_ROWS and (np.bincount(classes) >= _FOLDS).sum() > 1


def _out_of_fold(
    cells: NDArray[np.floating[Any]],
    labels: Floats,
    classes: NDArray[np.int_] | None,
    weights: Floats,
    levels: Sequence[int | None],
    lesson: Lesson,
    shape: tuple[int, ...],
) -> Floats:
    """Return what trees fitted without a row expect of it, [n] or [n, C]; NaN for want of time."""
    expected, deadline = np.full(shape, np.nan), time.monotonic() + lesson.time_limit
    # Equal weights are none: reading quantiles by weight takes ten times as long as the trees.
    given = None if np.ptp(weights) == 0 else weights

    def mark(unseen: NDArray[np.bool_]) -> None:
        if time.monotonic() >= deadline:
            return
        trees, seen = _make_trees(classes, levels, lesson, len(labels)), ~unseen
        # One thread for each fold: threads within a tree wait for each other, and for those of
        # other libraries, many times longer than they work.
        with threadpool_limits(1, "openmp"):
            trees.fit(cells[seen], labels[seen], None if given is None else given[seen])
            expected[unseen] = _expectation(trees, cells[unseen], shape)

    folds = _folds(classes, len(labels), lesson.seed)
    with steady_heap():
        # Small trees are grown by Python more than by compiled loops: side by side they only wait.
        if len(labels) < _LARGE:
            list(map(mark, folds))
        else:
            with ThreadPoolExecutor(lesson.n_threads) as pool:
                list(pool.map(mark, folds))
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
    classes: NDArray[np.int_] | None, levels: Sequence[int | None], lesson: Lesson, n_rows: int
) -> Any:
    kind: Any = HistGradientBoostingRegressor if classes is None else HistGradientBoostingClassifier
    sets = [i for i, count in enumerate(levels) if count is not None and count <= _MOST_LEVELS]
    patience = _SOONER if n_rows < _SMALL else {}
    trees = kind(categorical_features=sets or None, random_state=lesson.seed, **_TREES | patience)
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
