"""A regularised linear model as a teacher: splines of numbers, levels, and products of two.

A smooth table is learned from far fewer rows by a smooth model than by trees.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import TweedieRegressor

from sasanet.arrays import Floats, Masks
from sasanet.objectives import POWERS
from sasanet.teachers.data import TeacherData, stopping_rows
from sasanet.teachers.regression import Regression, Vectors
from sasanet.teachers.stacking import mean_loss

_KNOTS = 10  # of a number column, at quantiles
_RARE = 10  # rows: rarer levels have no coefficient
_MOST_LEVELS = 60  # of a column, the most frequent ones
_MOST_FACTORS = 24  # numbers and levels whose products are taken: 300 of them
_MOST_ROWS = 20_000  # a few hundred coefficients need no more
_ROWS_AT_ONCE = 10_000
_MOST_CELLS = 6_000_000  # of the design, times classes: what a fit may cost
_HELD_OUT = 0.1  # of the rows: they choose the penalty
_PENALTIES = (10.0, 100.0, 1000.0)  # per standardised coefficient
_ITERATIONS = 1_000  # at most; a few dozen are usual
_TINY = 1e-6
_FARTHEST = 1e15  # standard deviations


@dataclass(frozen=True)
class Linear:
    """Ridge, logistic or Tweedie regression on piecewise-linear splines and levels."""

    with_products: bool
    is_rough = False

    @property
    def name(self) -> str:
        """What it is called where its weight is shown."""
        return "splines and products" if self.with_products else "splines"

    def predict(
        self, data: TeacherData, seen: Masks, unseen: Masks, seed: int, end: float = math.inf
    ) -> Floats:
        """Return out-of-sample predictions, see :class:`~sasanet.teachers.data.Teacher`."""
        fitted, held_out = stopping_rows(seen, _HELD_OUT, seed)
        fitted = sample(fitted, _MOST_ROWS, seed)
        design = Design.learn(data, fitted, self.with_products)
        most = _MOST_CELLS // (design.width * max(1, data.n_classes))
        fitted, held_out = sample(fitted, most, seed), sample(held_out, most, seed)
        columns, judged = design(data.values(fitted)), design(data.values(held_out))
        best = fit_best(data, fitted, columns, held_out, judged, _PENALTIES, end)
        rows = np.flatnonzero(unseen)
        parts = [rows[i : i + _ROWS_AT_ONCE] for i in range(0, len(rows), _ROWS_AT_ONCE)]
        return np.concatenate([best.predict(design(data.values(part))) for part in parts])


def fit_best(
    data: TeacherData,
    fitted: NDArray[np.intp],
    columns: Vectors,
    held_out: NDArray[np.intp],
    judged: Vectors,
    penalties: Sequence[float],
    end: float,
) -> Any:
    """Return the model with the penalty that predicts the held-out rows best.

    Shape: fitted [n], columns [n, F], held_out [m], judged [m, F].
    """
    wanted = data.expectations[held_out]
    best, latest, smallest = None, None, math.inf
    fit = _fitter(data, fitted, columns)
    for penalty in penalties:
        if best is not None and time.monotonic() > end:
            break
        latest = fit(penalty, latest)
        loss = mean_loss(wanted, latest.predict(judged), data.weights[held_out], data.loss)
        if loss < smallest:
            best, smallest = latest, loss
    return best


@dataclass(frozen=True)
class Design:
    """Columns of a linear model: hat functions of numbers, indicators of levels, products."""

    places: tuple[Floats, ...]  # the knots of each number, the levels of each category
    is_number: tuple[bool, ...]
    multiplied: tuple[int, ...]  # columns whose products are taken: numbers, or all
    means: Floats
    scales: Floats

    @classmethod
    def learn(cls, data: TeacherData, rows: NDArray[np.intp], with_products: bool) -> Design:
        """Choose knots and levels, and standardise."""
        cells = data.values(rows)
        is_number = tuple(count is None for count in data.levels)
        places = tuple(map(_places, cells.T, is_number))
        taken = _multiplied(places, is_number) if with_products else ()
        raw = cls(places, is_number, taken, np.zeros(1), np.ones(1))._raw(cells)
        scales = raw.std(0)
        scales[scales < _TINY] = math.inf  # a constant column says nothing
        return cls(places, is_number, taken, raw.mean(0), scales)

    @property
    def width(self) -> int:
        """How many columns there are."""
        return max(1, len(self.scales))

    def __call__(self, cells: NDArray[np.floating[Any]]) -> Vectors:
        """Return the columns of some rows: [m, N] → [m, width]."""
        with np.errstate(over="ignore"):  # of rows far beyond those of training
            scaled = (self._raw(cells) - self.means) / self.scales
        return np.clip(scaled, -_FARTHEST, _FARTHEST).astype(np.float32)

    def _raw(self, cells: NDArray[np.floating[Any]]) -> Floats:
        parts = [np.isnan(cells).astype(float)]
        for cell, places, number in zip(cells.T, self.places, self.is_number, strict=True):
            parts.append(_hats(cell, places) if number else (cell[:, None] == places) * 1.0)
        if self.multiplied:
            factors = np.hstack([self._factor(cells[:, j], j) for j in self.multiplied])
            first, second = np.triu_indices(factors.shape[1])
            parts.append(factors[:, first] * factors[:, second])
        return np.hstack(parts)

    def _factor(self, cell: NDArray[np.floating[Any]], column: int) -> Floats:
        """Return what of a column is multiplied: a centred number, or levels: [m] → [m, 1 or L]."""
        places = self.places[column]
        if not self.is_number[column]:
            return np.asarray((cell[:, None] == places) * 1.0)
        centred = (cell - places[len(places) // 2]) / np.ptp(places)
        return np.asarray(np.nan_to_num(centred))[:, None]


def _multiplied(places: Sequence[Floats], is_number: Sequence[bool]) -> tuple[int, ...]:
    """Return all columns if their numbers and levels are few, else the numbers if these are."""
    numbers = tuple(j for j, flag in enumerate(is_number) if flag and len(places[j]) > 2)
    levels = tuple(j for j, flag in enumerate(is_number) if not flag and len(places[j]) > 1)
    if len(numbers) + sum(len(places[j]) for j in levels) <= _MOST_FACTORS:
        return (*numbers, *levels)
    return numbers if len(numbers) <= _MOST_FACTORS else ()


def sample(rows: NDArray[np.intp], most: int, seed: int) -> NDArray[np.intp]:
    """Return at most so many of the rows, at random."""
    if len(rows) <= most:
        return rows
    return np.sort(np.random.RandomState(seed).permutation(rows)[: max(most, 1)])


def _places(cells: Floats, number: bool) -> Floats:
    """Return the knots of a number column, or the levels of a category that are not rare."""
    present = cells[~np.isnan(cells)]
    if number:
        quantiles = np.quantile(present, np.linspace(0, 1, _KNOTS)) if len(present) else [0.0]
        return np.unique(quantiles)
    levels, counts = np.unique(present, return_counts=True)
    frequent = np.argsort(-counts, kind="stable")[:_MOST_LEVELS]
    return np.asarray(levels[np.sort(frequent[counts[frequent] >= _RARE])])


def _hats(cells: Floats, knots: Floats) -> Floats:
    """Return piecewise-linear hat functions, flat beyond the ends: [m] → [m, knots]."""
    hats = np.zeros((len(cells), len(knots)))
    present = np.flatnonzero(~np.isnan(cells))
    if len(knots) < 2:
        return hats
    values = np.clip(cells[present], knots[0], knots[-1])
    low = np.clip(np.searchsorted(knots, values, side="right") - 1, 0, len(knots) - 2)
    fraction = (values - knots[low]) / (knots[low + 1] - knots[low])
    hats[present, low] = 1 - fraction
    hats[present, low + 1] = fraction
    return hats


def _fitter(
    data: TeacherData, rows: NDArray[np.intp], columns: Vectors
) -> Callable[[float, Any], Any]:
    """Return what fits with a penalty, perhaps from another penalty's model: [n], [n, F]."""
    weights = data.weights[rows] / data.weights[rows].mean()
    labels = data.labels[rows]
    if data.loss not in POWERS:
        wanted = data.expectations[rows].reshape(len(rows), -1)
        return Regression(columns, wanted, weights, data.n_classes).fit

    def fit(penalty: float, _: Any) -> _Bounded:
        strength = penalty * data.noise / len(rows)  # of the mean deviance
        model = TweedieRegressor(
            power=POWERS[data.loss], link="log", alpha=strength, max_iter=_ITERATIONS, tol=1e-3
        )
        return _Bounded(model.fit(columns, labels, weights), columns)

    return fit


class _Bounded:
    """A model of logarithms that predicts nothing beyond what it predicts of its own rows."""

    def __init__(self, model: Any, columns: Vectors) -> None:
        self.model = model
        self.range = np.quantile(model.predict(columns), (0, 1))

    def predict(self, columns: Vectors) -> Floats:
        """Return the rates of rows."""
        return np.asarray(np.clip(self.model.predict(columns), *self.range))
