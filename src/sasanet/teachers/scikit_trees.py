"""scikit-learn's boosted trees, for machines on which LightGBM cannot be loaded."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from sasanet.arrays import Floats, Masks
from sasanet.teachers.data import TeacherData, class_shares

_FEWEST_VALUES = 20  # of a column: these trees hold rows out and cannot bin an empty column
_FEWEST_OF_CLASS = 20  # rows: with fewer, they cannot hold some out to see when to stop
_MOST_LEVELS = 255  # of a column split by sets of levels; more: as numbers
_BLIND_TREES = 50  # without rows that say when to stop, or under a time limit
_SETTINGS = {
    "max_iter": 1000,
    "max_features": 0.5,
    "l2_regularization": 10,
    "early_stopping": True,
    "validation_fraction": 0.1,
    "n_iter_no_change": 20,
    "tol": 3e-4,
}


@dataclass(frozen=True)
class ScikitTrees:
    """Boosted trees with so many leaves each."""

    n_leaves: int
    learning_rate: float
    is_rough = True

    @property
    def name(self) -> str:
        """What it is called where its weight is shown."""
        return f"scikit-learn's trees of {self.n_leaves} leaves"

    def predict(
        self, data: TeacherData, seen: Masks, unseen: Masks, seed: int, end: float = math.inf
    ) -> Floats:
        """Return out-of-sample predictions, see :class:`~sasanet.teachers.data.Teacher`."""
        if time.monotonic() > end:
            return np.full((int(unseen.sum()), *data.shape[1:]), np.nan)
        cells, labels = _with_values(data.cells[seen]), data.labels[seen]
        # Equal weights are none: reading quantiles by weight takes ten times as long as the trees.
        weights = None if np.ptp(data.weights) == 0 else data.weights[seen]
        trees = self._make(data, labels, seed)
        if end < math.inf:
            trees.set_params(max_iter=_BLIND_TREES)
        trees.fit(cells, labels, weights)
        if not data.n_classes:
            return np.asarray(trees.predict(data.cells[unseen]))
        return class_shares(trees, data.cells[unseen], data.n_classes)

    def _make(self, data: TeacherData, labels: Floats, seed: int) -> Any:
        kind: Any = (
            HistGradientBoostingClassifier if data.n_classes else HistGradientBoostingRegressor
        )
        sets = [j for j, n in enumerate(data.levels) if n is not None and n <= _MOST_LEVELS]
        trees = kind(
            categorical_features=sets or None,
            learning_rate=self.learning_rate,
            max_leaf_nodes=self.n_leaves,
            monotonic_cst=data.cell_directions if data.directions else None,
            random_state=seed,
            **_SETTINGS,
        )
        if data.n_classes and np.unique(labels, return_counts=True)[1].min() < _FEWEST_OF_CLASS:
            trees.set_params(early_stopping=False, max_iter=_BLIND_TREES)
        return trees


def _with_values(cells: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    """Return cells in which a column with hardly any value is constant: trees cannot bin it."""
    empty = (~np.isnan(cells)).sum(0) < _FEWEST_VALUES
    if not empty.any() or len(cells) < _FEWEST_VALUES:
        return cells
    return np.where(empty, cells.dtype.type(0), cells)
