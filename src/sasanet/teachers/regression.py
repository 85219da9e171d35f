"""Penalised regression of numbers and classes, with as many penalties as one likes.

The linear teacher and the kernel machine both fit a few hundred columns with several penalties,
many times. What all penalties share, the columns' products, is computed once. It solves the squared
loss, and turns the logistic one into a problem of nearly equal curvature in every direction, which
a dozen steps of L-BFGS finish:

    minimise  Σ_i s_i ℓ(y_i, x_i W + b)  +  λ/2 |W|²

Sizes: n rows, F columns, K outputs (1, or one per class if there are more than two).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize
from scipy.special import expit, logsumexp, softmax

from sasanet.arrays import Floats

Vectors = NDArray[np.float32]

_FREE = 1e-6  # times the rows: the penalty of the intercept, which should have none
_ROUNDING = (
    1e-6  # of the largest sum of squares: what 32-bit products of columns cannot tell from 0
)
_MOST_STEPS = 100
_CONVERGED = 1e-6  # of the loss, gained by a step


@dataclass(frozen=True)
class LinearModel:
    """Weights [F, K] and intercepts [K] of columns, for a number or for ``n_classes``."""

    weights: Floats
    intercept: Floats
    n_classes: int

    def of_mixed(self, mixing: NDArray[np.floating[Any]]) -> LinearModel:
        """Return the model of columns Z where its own are Z·mixing."""
        return replace(self, weights=mixing @ self.weights)

    def outputs(self, columns: NDArray[np.floating[Any]]) -> Floats:
        """Return x W + b: [n, F] → [n, K]."""
        return np.asarray(columns @ self.weights.astype(columns.dtype) + self.intercept)

    def predict(self, columns: NDArray[np.floating[Any]]) -> Floats:
        """Return E[y | x]: numbers, the probability of the second class, or of each."""
        raw = self.outputs(columns)
        if not self.n_classes:
            return np.asarray(raw[:, 0], dtype=float)
        if self.n_classes == 2:
            return np.asarray(expit(raw[:, 0]), dtype=float)
        return np.asarray(softmax(raw, axis=1), dtype=float)


@dataclass(frozen=True)
class Regression:
    """Rows to be regressed on: columns [n, F], wanted [n, K] (numbers or shares), weights [n]."""

    columns: Vectors
    wanted: NDArray[np.floating[Any]]
    weights: Floats
    n_classes: int = 0

    def fit(self, penalty: float, start: LinearModel | None = None) -> LinearModel:
        """Return the model with the least penalised loss; ``start`` is one that may be close."""
        if self.n_classes:
            return self._fit_classes(penalty, start)
        moment = self._times_columns(self.weights[:, None] * self.wanted)
        root = self._root(1.0, penalty)
        found = solve_triangular(root, solve_triangular(root, moment, lower=True), 1, lower=True)
        return self._model(found)

    def _fit_classes(self, penalty: float, start: LinearModel | None) -> LinearModel:
        """Minimise the cross-entropy in coordinates u = Rᵀ w, R Rᵀ about its second derivative."""
        root = self._root(self._curvature, penalty)
        penalties = self._penalties(penalty)[:, None]
        first = np.zeros((self.columns.shape[1] + 1, self.wanted.shape[1]))
        if start is not None:
            first = np.vstack([start.weights, start.intercept])

        def weights_at(u: Floats) -> Floats:
            return np.asarray(solve_triangular(root, u.reshape(first.shape), 1, lower=True))

        def loss(u: Floats) -> tuple[float, Floats]:
            w = weights_at(u)
            value, slopes = self._cross_entropy(self.columns @ w[:-1].astype(np.float32) + w[-1])
            gradient = self._times_columns(slopes) + penalties * w
            value += float((penalties * w * w).sum()) / 2
            return value, solve_triangular(root, gradient, lower=True).ravel()

        options = {"maxiter": _MOST_STEPS, "ftol": _CONVERGED, "gtol": 0.0}
        found = minimize(
            loss, (root.T @ first).ravel(), jac=True, method="L-BFGS-B", options=options
        )
        return self._model(weights_at(found.x))

    def _cross_entropy(self, raw: Floats) -> tuple[float, Floats]:
        """Return Σ s ℓ and its derivative by the raw outputs: [n, K] → [n, K]."""
        if self.wanted.shape[1] == 1:
            lost = np.logaddexp(0, raw) - self.wanted * raw
            errors = expit(raw) - self.wanted
        else:
            lost = logsumexp(raw, axis=1, keepdims=True) - (self.wanted * raw).sum(1, keepdims=True)
            errors = softmax(raw, axis=1) - self.wanted
        return float(self.weights @ lost[:, 0]), self.weights[:, None] * errors

    @property
    def _curvature(self) -> float:
        """The mean variance of a class's indicator: what a label knows of a log-odds."""
        shares = np.average(self.wanted, axis=0, weights=self.weights)
        return max(float((shares * (1 - shares)).mean()), _FREE)

    @cached_property
    def _products(self) -> Floats:
        """Weighted sums of products of two columns, the last of which is 1: [F + 1, F + 1]."""
        scaled = self.columns
        if np.ptp(self.weights) > 0:
            scaled = scaled * np.sqrt(self.weights, dtype=np.float32)[:, None]
        sums = self._times_columns(self.weights[:, None])
        products = np.empty((len(sums), len(sums)))
        products[:-1, :-1] = scaled.T @ scaled
        products[-1:], products[:, -1:] = sums.T, sums
        return products

    def _times_columns(self, values: Floats) -> Floats:
        """Return the columns' sums of values, and the values' own sum: [n, K] → [F + 1, K]."""
        return np.vstack([self.columns.T @ values.astype(np.float32), values.sum(0)])

    def _penalties(self, penalty: float) -> Floats:
        """Return the penalty of every column and of the intercept: [F + 1]."""
        penalties = np.full(self.columns.shape[1] + 1, float(penalty))
        penalties[-1] = _FREE * self.weights.sum()
        return penalties

    def _root(self, curvature: float, penalty: float) -> Floats:
        """Return the lower Cholesky factor of curvature · products + penalties."""
        matrix = curvature * self._products
        rounding = _ROUNDING * float(np.diag(matrix)[:-1].max(initial=0.0))
        matrix[np.diag_indices_from(matrix)] += np.maximum(self._penalties(penalty), rounding)
        return np.asarray(cholesky(matrix, lower=True))

    def _model(self, found: Floats) -> LinearModel:
        return LinearModel(found[:-1], found[-1], self.n_classes)
