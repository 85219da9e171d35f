"""Value functions: how a cooperative game is given, checked and evaluated in bounded memory.

Sizes: n rows (one game each), d features, m coalitions, K outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sasanet.arrays import Floats, Masks
from sasanet.errors import InvalidInputError

_COALITIONS_AT_ONCE = 8_192
_VALUES_AT_ONCE = 1 << 22  # 32 MB of float64
_CELLS_AT_ONCE = 1 << 14  # of one row: a model holds a vector for each
_MASK_BYTES = 1 << 24


class ValueFunction(Protocol):
    """A game: any function that takes boolean masks and returns the value v(S) of each coalition.

    A mask is true where a feature is known. Masks have shape (m, d); the values have shape (m,) for
    a single game, (n, m) for one game per row, or (n, m, K) for several outputs per row.

    Of a fitted SASANet it is :func:`game_of`, of any other model
    :func:`~sasanet.posthoc.marginal_game`; a plain function or a lambda will do as well.

    Examples
    --------
    >>> from sasanet.shapley import exact_shapley
    >>> def value(masks):
    ...     return 10.0 * masks.all(axis=1)  # worth 10 once both features are known
    >>> exact_shapley(value, n_features=2)
    array([5., 5.])
    """

    def __call__(self, masks: Masks, /) -> NDArray[Any]:
        """Return v(S) of every mask."""


def read_coalitions(coalitions: Any, n_rows: int, n_features: int, remedy: str) -> Masks:
    """Return coalitions as (1 or n, m, d).

    They may be given once for all rows (d,), once per row (n, d) or m times per row (n, m, d). Any
    other shape or type raises; ``remedy`` ends the error message.
    """
    mask, n, d = np.asarray(coalitions), n_rows, n_features
    fits = mask.shape in {(d,), (n, d)} or (mask.ndim == 3 and mask.shape[::2] == (n, d))
    if mask.dtype != bool or not fits:
        raise InvalidInputError(
            f"coalitions must be a boolean array of shape ({d},), ({n}, {d}) or ({n}, m, {d}), "
            f"got {mask.dtype} of {mask.shape}; {remedy}"
        )
    return mask.reshape({1: (1, 1, d), 2: (n, 1, d), 3: mask.shape}[mask.ndim])


def names_to_mask(coalitions: Any, feature_names: Sequence[str]) -> Any:
    """Turn a list of feature names into a mask (d,); return anything else unchanged."""
    if not isinstance(coalitions, list | tuple) or not all(isinstance(c, str) for c in coalitions):
        return coalitions
    if unknown := sorted(set(coalitions) - set(feature_names)):
        raise InvalidInputError(
            f"coalitions must name features, got {unknown}; choose from {list(feature_names)}"
        )
    return np.array([name in coalitions for name in feature_names])


class CheckedGame:
    """A value function that is evaluated in chunks and whose results are checked.

    v(∅) and v(N) are computed first: they fix the shape of all later results, and every estimator
    needs them.

    Parameters
    ----------
    value : value function
        Masks (m, d) → (m,), (n, m) or (n, m, K).
    n_features : int
        d, the length of a mask.

    Attributes
    ----------
    empty, full : ndarray (n, K)
        v(∅) and v(N).
    n_evaluations : int
        Coalitions evaluated so far.
    """

    def __init__(self, value: ValueFunction, n_features: int) -> None:
        if not callable(value):
            raise InvalidInputError(
                f"value must be a function of masks (m, d), got {type(value).__name__}; "
                "for a fitted model give game_of(model, X)"
            )
        self.n_features, self.n_evaluations = n_features, 0
        self._value = value
        self._shape: tuple[int, ...] = (-1,)  # not known yet
        ends = self._evaluate(np.repeat([[False], [True]], n_features, axis=1))
        self.empty, self.full = ends[:, 0], ends[:, 1]

    @property
    def n_games(self) -> int:
        """Number of values per coalition, n · K."""
        return self.empty.size

    def chunk(self, per_item: int = 1) -> int:
        """Return how many items, of ``per_item`` coalitions each, to evaluate at once."""
        limit = min(_COALITIONS_AT_ONCE, _VALUES_AT_ONCE // max(1, self.n_games))
        return max(1, limit // max(1, per_item))

    def __call__(self, masks: Masks) -> Floats:
        """Return v(S) − v(∅): (m, d) bool → (n, m, K).

        Subtracting v(∅) keeps a large constant from costing digits in sums; it cancels from every
        index computed here.
        """
        size, found = self.chunk(), [np.empty((len(self.empty), 0, self.empty.shape[1]))]
        found += [self._evaluate(masks[k : k + size]) for k in range(0, len(masks), size)]
        return np.concatenate(found, axis=1) - self.empty[:, None]

    def shaped(self, values: Floats) -> Floats:
        """Drop the axes that the value function does not have: (n, p, K) → (p,), (n, p) or all."""
        axes = len(self._shape)
        values = values if axes == 3 else values[:, :, 0]
        return values if axes > 1 else values[0]

    def _evaluate(self, masks: Masks) -> Floats:
        found: Floats = np.asarray(self._value(masks), dtype=np.float64)
        m = len(masks)
        if self._shape == (-1,) and 1 <= found.ndim <= 3:  # the first result fixes n and K
            self._shape = found.shape
        wanted = (m,) if len(self._shape) == 1 else (self._shape[0], m, *self._shape[2:])
        if found.shape != wanted:
            raise InvalidInputError(
                f"value must return shape (m,), (n, m) or (n, m, K), the same n and K each time, "
                f"got {found.shape} for m = {m}; put coalitions on the second axis"
            )
        if not np.isfinite(found).all():
            n_bad = int((~np.isfinite(found)).sum())
            raise InvalidInputError(
                f"value must return finite numbers, got {n_bad} NaN or infinite of {found.size}; "
                "clip or fill them"
            )
        self.n_evaluations += m
        n_rows = found.shape[0] if found.ndim > 1 else 1
        n_outputs = found.shape[2] if found.ndim == 3 else 1
        return found.reshape(n_rows, m, n_outputs)


class _Model(Protocol):
    def value(self, X: Any, coalitions: Any) -> Floats: ...


def game_of(model: _Model, X: Any) -> ValueFunction:
    """Return the model's own game on given rows, v(S) = f(x_S), as a value function.

    Parameters
    ----------
    model : SASANetClassifier or SASANetRegressor
        A fitted model.
    X : table (n, d)
        Rows to explain; each is a game of its own.

    Returns
    -------
    value function
        Masks (m, d) → v(S) on the raw scale, (n, m), or (n, m, C) for multiclass.

    Examples
    --------
    >>> from sasanet import SASANetClassifier
    >>> from sasanet.datasets import load_penguins
    >>> X, y = load_penguins()
    >>> model = SASANetClassifier(random_state=0, max_epochs=1, teacher_weight=0).fit(X, y)
    >>> game_of(model, X[:4])(np.ones((5, X.shape[1]), dtype=bool)).shape
    (4, 5, 3)
    """
    if not hasattr(model, "value"):
        raise InvalidInputError(
            f"model must be a fitted SASANet model, got {type(model).__name__}; "
            "any function of masks is a game already and needs no game_of"
        )
    n_rows = len(model.value(X, []))  # X may be any kind of table: the model knows how to read it

    def value(masks: Masks) -> Floats:
        m, d = masks.shape
        size = max(1, min(_CELLS_AT_ONCE // d, _MASK_BYTES // max(1, n_rows * d)))
        parts = (masks[k : k + size] for k in range(0, m, size))
        found = [model.value(X, np.broadcast_to(p, (n_rows, *p.shape))) for p in parts]
        return np.concatenate(found, axis=1)

    return value
