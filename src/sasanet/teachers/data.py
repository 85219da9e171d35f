"""What teachers learn from, and what a teacher is.

Sizes: n rows, N features, C classes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sasanet.arrays import Floats, Masks
from sasanet.objectives import POWERS

_LARGE = 1e100  # numbers beyond it are learned from in units of the largest one


@dataclass(frozen=True)
class TeacherData:
    """Encoded rows with their labels.

    cells [n, N] (NaN absent), labels [n] (class index or number), weights [n]; ``levels`` counts
    those of every category column, ``None`` for a number; ``n_classes`` is 0 for a regression.
    ``knots`` holds the values between whose places a number's cells lie; without them cells are
    values. ``directions`` says in which columns the labels' expectation only rises or falls, which
    trees keep; a linear model need not, but soft labels constrain nothing.
    Where the ``task`` has a log link, labels are rates relative to their mean.
    """

    cells: NDArray[np.floating[Any]]
    labels: Floats
    weights: Floats
    levels: Sequence[int | None]
    n_classes: int
    knots: Sequence[Sequence[float]] = ()
    directions: Sequence[int] = ()
    task: str = ""  # or the objective of a regression

    @property
    def loss(self) -> str:
        """What predictions are judged by: see :func:`sasanet.teachers.stacking.losses`."""
        if self.n_classes:
            return "binary" if self.n_classes == 2 else "multiclass"
        return self.task if self.task in POWERS else "regression"

    @property
    def noise(self) -> float:
        """How much relative rates vary where their mean predicts: their variance, else 1.

        Weights divided by it count what a row knows: of rare events less than a row.
        """
        if self.loss not in POWERS:
            return 1.0
        return float(np.average((self.labels - 1) ** 2, weights=self.weights)) or 1.0

    def values(self, rows: NDArray[np.intp]) -> Floats:
        """Return some rows with numbers in their own units and levels as codes: [m, N].

        Trees do not care, but a sum or a product of places is not one of values: places are spaced
        by quantiles, which bends every tail.
        """
        values = self.cells[rows].astype(np.float64)
        for column, knots in zip(values.T, self.knots, strict=False):
            if len(knots) > 1:
                column[:] = np.interp(column, np.arange(len(knots)), _subtractable(knots))
        return values  # NaN stays NaN

    @property
    def cell_directions(self) -> list[int]:
        """The direction of every cell: further cells of a column come last and have none."""
        return [*self.directions, *[0] * (self.cells.shape[1] - len(self.directions))]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of predictions: [n], or for more than two classes [n, C]."""
        n_rows = len(self.labels)
        return (n_rows, self.n_classes) if self.n_classes > 2 else (n_rows,)

    @property
    def classes(self) -> NDArray[np.int_] | None:
        """The labels of classes as integers."""
        return self.labels.astype(int) if self.n_classes else None

    @property
    def expectations(self) -> Floats:
        """The labels as what is to be predicted: numbers, or the probability of each class."""
        classes = self.classes
        if classes is None or self.n_classes == 2:
            return self.labels
        return np.eye(self.n_classes)[classes]


def _subtractable(knots: Sequence[float]) -> Floats:
    """Return knots whose differences are finite: the largest ones in a unit of their own."""
    known = np.asarray(knots, dtype=np.float64)
    size = np.abs(known).max()
    return np.asarray(known / size if size > _LARGE else known)


class Teacher(Protocol):
    """A model that predicts rows it has not learned from."""

    @property
    def is_rough(self) -> bool:
        """Whether its predictions jump, as those of trees do."""
        ...

    @property
    def name(self) -> str:
        """What it is called where its weight is shown."""
        ...

    def predict(
        self, data: TeacherData, seen: Masks, unseen: Masks, seed: int, end: float = math.inf
    ) -> Floats:
        """Learn from the rows seen and return E[y | x] of the others, by ``end`` (monotonic time).

        Returns
        -------
        ndarray [m] or [m, C]
            Numbers, or probabilities: of the second class, or of each. NaN for want of time.
        """
        ...


def class_shares(model: Any, columns: Any, n_classes: int) -> Floats:
    """Return a classifier's probability of the second class, or of each of several."""
    shares = np.zeros((len(columns), n_classes))  # a class may be in no row that it learned from
    shares[:, model.classes_.astype(int)] = model.predict_proba(columns)
    return shares[:, 1] if n_classes == 2 else shares


def stopping_rows(
    seen: Masks, share: float, seed: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Divide the rows seen into those to fit and those that say when to stop."""
    order = np.random.RandomState(seed).permutation(np.flatnonzero(seen))
    n_held = max(1, int(len(order) * share))
    return np.sort(order[n_held:]), np.sort(order[:n_held])
