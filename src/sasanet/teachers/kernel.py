"""A kernel machine as a teacher, whose distances learn which columns matter.

Trees foresee by rectangles and splines by sums. Where a label depends on several numbers at once
and smoothly, or repeats itself by a few columns, rows that lie close together say more than either.
What is close depends on the columns: each has a scale, at first 1, and then the root mean square of
the fitted function's derivative by it, as the average gradient outer product (its diagonal) has it
(Radhakrishnan, Beaglehole, Pandit and Belkin, 2024). A few rounds of fitting and scaling suffice.

Sizes: n rows, m landmarks, F features (numbers scaled, levels as indicators), K expectations.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from sasanet.arrays import Floats, Masks
from sasanet.teachers.data import TeacherData, stopping_rows
from sasanet.teachers.linear import Design, fit_best, sample
from sasanet.teachers.regression import LinearModel, Regression, Vectors, cholesky_factor

Points = TypeVar("Points", Vectors, Floats)

_HELD_OUT = 0.1  # of the rows: they choose rounds and penalties
_ROUNDS = 5
_SCALING_ROWS, _SCALING_LANDMARKS = 2_000, 400  # a few tell which columns matter
_MOST_ROWS, _MOST_LANDMARKS = 6_000, 1_000
_PENALTIES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
_FINAL = (0.01, 0.1, 1.0, 10.0)  # each of these is a fit of its own
_FINAL_OF_CLASSES = _FINAL[1:]  # logits have no end where classes can be told apart
_SPAN = 1.7  # of a scaled number: about a standard deviation of 1
_LONGEST = 3.0  # to here its outliers reach
_LEAST_SCALE = 1e-3  # of the largest
_MOST_CELLS = 6_000_000  # rows × features: what a fit may cost
_ROUNDING = 1e-6  # times the landmarks: smaller differences of kernels are none
_ROWS_AT_ONCE = 10_000
_TINY = 1e-6
_NOTHING = 1e-100  # of the largest number: slopes between smaller ones would have no end


@dataclass(frozen=True)
class Kernel:
    """Kernel ridge or logistic regression by landmarks, with learned scales of the columns."""

    is_rough = False
    name = "kernel"

    def predict(
        self, data: TeacherData, seen: Masks, unseen: Masks, seed: int, end: float = math.inf
    ) -> Floats:
        """Return out-of-sample predictions, see :class:`~sasanet.teachers.data.Teacher`."""
        fitted, held_out = stopping_rows(seen, _HELD_OUT, seed)
        features = Features.learn(data, sample(fitted, _MOST_ROWS, seed))
        rows = np.flatnonzero(unseen)
        nothing = np.full((len(rows), *data.shape[1:]), np.nan)
        if len(features.scales) == 0:  # no number, and no level that comes often enough
            return nothing
        most = min(_MOST_ROWS, _MOST_CELLS // len(features.scales))
        fitted, held_out = sample(fitted, most, seed), sample(held_out, most, seed)
        scaled = _scaled(features, data, fitted, held_out, seed, end)
        if scaled is None:
            return nothing
        space = Space.of(scaled(data, sample(fitted, _MOST_LANDMARKS, seed)))
        columns, judged = space(scaled(data, fitted)), space(scaled(data, held_out))
        penalties = _FINAL_OF_CLASSES if data.n_classes else _FINAL
        model = fit_best(data, fitted, columns, held_out, judged, penalties, end)
        parts = [rows[i : i + _ROWS_AT_ONCE] for i in range(0, len(rows), _ROWS_AT_ONCE)]
        expectations = space.expectations(model)
        return np.concatenate([expectations(scaled(data, part)) for part in parts])


@dataclass(frozen=True)
class Features:
    """Numbers on one scale, levels and missing cells as indicators, times a scale for each."""

    design: Design
    has_missing: tuple[bool, ...]
    scales: Vectors

    @classmethod
    def learn(cls, data: TeacherData, rows: NDArray[np.intp]) -> Features:
        """Choose knots and levels; features that do not vary get a scale of 0."""
        design = Design.learn(data, rows, with_products=False)
        has_missing = tuple(bool(np.isnan(column).any()) for column in data.values(rows).T)
        plain = cls(design, has_missing, np.ones(1, dtype=np.float32))
        varies = plain(data, rows).std(0) > _TINY
        return replace(plain, scales=varies.astype(np.float32))

    def __call__(self, data: TeacherData, rows: NDArray[np.intp]) -> Vectors:
        """Return the features of some rows: [n] → [n, F]."""
        parts = []
        cells, design = data.values(rows), self.design
        columns = zip(cells.T, design.places, design.is_number, self.has_missing, strict=True)
        for cell, places, number, has_missing in columns:
            parts.append(_number(cell, places) if number else (cell[:, None] == places) * 1.0)
            if has_missing:
                parts.append(np.isnan(cell)[:, None] * 1.0)
        return np.asarray(np.hstack(parts) * self.scales, dtype=np.float32)


def _number(cell: Floats, knots: Floats) -> Floats:
    """Return numbers halfway between their rank and their value, both about as wide: [n, 1].

    Ranks tell values apart where there are many, values keep distances; missing ones lie in the
    middle.
    """
    if len(knots) < 2:
        return np.zeros((len(cell), 1))
    size = np.abs(knots).max() or 1.0  # differences of numbers like 1e308 would have no end
    knots = knots / size
    knots = np.unique(np.where(np.abs(knots) < _NOTHING, 0.0, knots))
    if len(knots) < 2:
        return np.zeros((len(cell), 1))
    middle = np.median(knots)
    values = np.where(np.isnan(cell), middle, np.clip(cell / size, knots[0], knots[-1]))
    rank = np.interp(values, knots, np.linspace(-_SPAN, _SPAN, len(knots)))
    spread = np.subtract(*np.quantile(knots, (0.8, 0.2))) or np.ptp(knots)
    value = np.clip((values - middle) / spread, -_LONGEST, _LONGEST)
    return np.asarray((rank + value) / 2)[:, None]


@dataclass(frozen=True)
class Space:
    """Coordinates whose inner products are the kernel exp(−|x − z| / h), by landmarks (Nyström)."""

    landmarks: Vectors  # [m, F]
    width: float  # h
    whitening: Vectors  # [m, m]

    @classmethod
    def of(cls, landmarks: Vectors) -> Space:
        """Choose the width by the mean distance of landmarks."""
        exact = landmarks.astype(float)  # the root makes much of small errors of a distance
        apart = distances(exact, exact)
        width = float(apart.mean()) or 1.0
        root = cholesky_factor(np.exp(-apart / width), _ROUNDING * len(landmarks))
        whitening = solve_triangular(root, np.eye(len(root)), lower=True).T
        return cls(landmarks, width, np.asarray(whitening, dtype=np.float32))

    def __call__(self, features: Vectors) -> Vectors:
        """Return the coordinates of rows: [n, F] → [n, m]."""
        return self.kernel(distances(features, self.landmarks)) @ self.whitening

    def kernel(self, apart: Vectors) -> Vectors:
        """Return the kernel of distances, which it overwrites."""
        apart *= np.float32(-1 / self.width)
        return np.exp(apart, out=apart)

    def expectations(self, model: Any) -> Callable[[Vectors], Floats]:
        """Return what a model of coordinates says of features.

        A linear model needs no coordinates: its weights of them are weights of kernels.
        """
        if not isinstance(model, LinearModel):
            return lambda features: np.asarray(model.predict(self(features)))
        of_kernels = model.of_mixed(self.whitening)
        return lambda features: of_kernels.predict(self.kernel(distances(features, self.landmarks)))


def distances(first: Points, second: Points) -> Points:
    """Return Euclidean distances: [n, F], [m, F] → [n, m]."""
    squares = (first @ second.T) * first.dtype.type(-2)
    squares += (first**2).sum(1)[:, None]
    squares += (second**2).sum(1)[None]
    return np.sqrt(np.maximum(squares, 0, out=squares), out=squares)


# --- which columns matter -----------------------------------------------------------------------


def _scaled(
    features: Features,
    data: TeacherData,
    fitted: NDArray[np.intp],
    held_out: NDArray[np.intp],
    seed: int,
    end: float,
) -> Features | None:
    """Return the features with the scales of the best round; ``None``: too late for one."""
    few = sample(fitted, _SCALING_ROWS, seed)
    known, hidden = features(data, few), features(data, held_out)
    chosen = np.random.RandomState(seed).permutation(len(few))[:_SCALING_LANDMARKS]
    wanted = data.expectations.reshape(len(data.labels), -1).astype(np.float32)
    scales, best, smallest = features.scales, None, math.inf
    for _ in range(_ROUNDS):
        if time.monotonic() > end:
            break
        rows = known * scales
        ridge = Ridge.fit(rows, wanted[few], chosen, hidden * scales, wanted[held_out])
        if ridge.error >= smallest:
            break
        best, smallest = scales, ridge.error
        scales = _next_scales(ridge.slopes(rows) * scales)
    return None if best is None else replace(features, scales=best)


def _next_scales(slopes: Vectors) -> Vectors:
    """Return root mean squares of slopes, relative to the largest; none is 0 that was not."""
    sizes = np.sqrt((slopes**2).mean(0))
    return np.where(sizes > 0, np.maximum(sizes / max(sizes.max(), _TINY), _LEAST_SCALE), sizes)


@dataclass(frozen=True)
class Ridge:
    """Kernel ridge regression of K expectations, with the penalty that held-out rows chose."""

    space: Space
    weights: Vectors  # of each landmark's kernel, [m, K]
    error: float  # mean square, of held-out rows

    @classmethod
    def fit(
        cls,
        rows: Vectors,
        labels: Vectors,
        chosen: NDArray[np.intp],
        judged: Vectors,
        hidden: Vectors,
    ) -> Ridge:
        """Fit with every penalty.

        Shape: rows [n, F], labels [n, K], chosen (landmarks) [m], judged [h, F], hidden [h, K].
        """
        space = Space.of(rows[chosen])
        regression = Regression(space(rows), labels, np.ones(len(labels)))
        coordinates = space(judged)
        models = [regression.fit(penalty) for penalty in _PENALTIES]
        errors = [float(((m.outputs(coordinates) - hidden) ** 2).mean()) for m in models]
        best = int(np.argmin(errors))
        weights = models[best].of_mixed(space.whitening).weights.astype(np.float32)
        return cls(space, weights, errors[best])

    def slopes(self, rows: Vectors) -> Vectors:
        """Return the length of the derivative by each feature, over the K outputs.

        f(x) = Σ_j w_j k_j with k_j = exp(−|x − z_j| / h) has the gradient
        −Σ_j w_j k_j (x − z_j) / (h |x − z_j|).

        Shape: [n, F] → [n, F].
        """
        landmarks, width = self.space.landmarks, np.float32(self.space.width)
        apart = distances(rows, landmarks)
        falling = 1 / (np.maximum(apart, _TINY) * width)
        falling *= self.space.kernel(apart)
        squares = np.zeros_like(rows)
        for weight in self.weights.T:
            slope = rows * (falling @ weight)[:, None] - falling @ (weight[:, None] * landmarks)
            squares += slope**2
        return np.sqrt(squares)
