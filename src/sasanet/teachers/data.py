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


@dataclass(frozen=True)
class TeacherData:
    """Encoded rows with their labels.

    cells [n, N] (NaN absent), labels [n] (class index or number), weights [n]; ``levels`` counts
    those of every category column, ``None`` for a number; ``n_classes`` is 0 for a regression.
    """

    cells: NDArray[np.floating[Any]]
    labels: Floats
    weights: Floats
    levels: Sequence[int | None]
    n_classes: int

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
