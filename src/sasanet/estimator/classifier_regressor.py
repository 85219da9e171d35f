"""What labels mean and what predictions are called: classes, or quantities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin

from sasanet.arrays import Floats
from sasanet.estimator.tabular import TabularModel
from sasanet.table.target import Target, class_shares, read_classes, read_quantities


class TabularClassifier(ClassifierMixin, TabularModel):
    """A network estimator of classes, on the log-odds scale."""

    def _read_target(self, y: Any, weights: Floats) -> Target:
        return read_classes(y, weights)

    @property
    def classes_(self) -> NDArray[Any]:
        """The class labels in order."""
        return np.array(self.target_.labels)

    def decision_function(self, X: Any) -> Floats:
        """Return raw predictions: the log-odds (n,), or one number per class (n, C)."""
        raw = self._raw(X)
        return raw[:, 0] if raw.shape[1] == 1 else raw

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of every class, (n, C); cells of X may be missing."""
        return class_shares(self._raw(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of every row."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]


class TabularRegressor(RegressorMixin, TabularModel):
    """A network estimator of quantities, in the target's own units."""

    def _read_target(self, y: Any, weights: Floats) -> Target:
        return read_quantities(y, weights)

    def predict(self, X: Any) -> Floats:
        """Return the predicted number of every row, (n,); cells of X may be missing."""
        return self._raw(X)[:, 0]
