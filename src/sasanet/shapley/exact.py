"""Exact Shapley values, by enumerating all 2^d coalitions.

Sizes: n rows (one game each), d features, m coalitions, K outputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sasanet.arrays import Floats, Masks
from sasanet.shapley.game import CheckedGame, ValueFunction
from sasanet.validation import check_integer

_EXACT_UP_TO = 20  # features: a million coalitions


def all_coalitions(n_features: int) -> Masks:
    """Return all 2^d coalitions as masks; bit i of a row's position is feature i.

    Parameters
    ----------
    n_features : int
        d, from 1 to 20.

    Returns
    -------
    ndarray (2^d, d) of bool
        The empty coalition first, all features last.

    Examples
    --------
    >>> all_coalitions(2).astype(int)
    array([[0, 0],
           [1, 0],
           [0, 1],
           [1, 1]])
    """
    d = check_integer("n_features", n_features, 1, _EXACT_UP_TO, "sample coalitions instead")
    return _coalitions_between(0, 2**d, d)


def shapley_weights(n_features: int) -> Floats:
    """Return the weight s! (d − s − 1)! / d! of the gain v(S ∪ i) − v(S), by the size s of S.

    It is the share of the d! orders of Eq. 2 in which exactly S precedes feature i.

    Parameters
    ----------
    n_features : int
        d.

    Returns
    -------
    ndarray (d,)
        Weights for s = 0 … d − 1; over all S without i they sum to 1.

    Examples
    --------
    >>> shapley_weights(3).round(4)
    array([0.3333, 0.1667, 0.3333])
    """
    d = check_integer("n_features", n_features, 1, None, "a game has at least one feature")
    return np.array([1 / (d * math.comb(d - 1, s)) for s in range(d)])


def exact_shapley(value: ValueFunction, n_features: int) -> Floats:
    """Return exact Shapley values (Eq. 2, with equal terms of the sum over orders merged).

    φ_i = Σ_{S ∌ i} s! (d − s − 1)! / d! · [v(S ∪ i) − v(S)]

    Parameters
    ----------
    value : value function
        Masks (m, d) → v(S) as (m,), (n, m) or (n, m, K).
    n_features : int
        d, from 1 to 20: each of the 2^d coalitions is evaluated once.

    Returns
    -------
    ndarray (d,), (n, d) or (n, d, K)
        Sums to v(N) − v(∅) over features.

    Examples
    --------
    >>> exact_shapley(lambda masks: masks @ [1.0, 2.0, 0.0] + 6.0 * masks.all(axis=1), 3)
    array([3., 4., 2.])
    """
    remedy = "use permutation_shapley for more features"
    d = check_integer("n_features", n_features, 1, _EXACT_UP_TO, remedy)
    before, after = np.append(shapley_weights(d), 0.0), np.append(0.0, shapley_weights(d))

    def coefficients(masks: Masks) -> Floats:
        sizes = masks.sum(axis=1)[:, None]
        return np.where(masks, after[sizes], -before[sizes])

    game = CheckedGame(value, d)
    return game.shaped(sum_over_coalitions(game, coefficients))


def sum_over_coalitions(game: CheckedGame, coefficients: Callable[[Masks], Floats]) -> Floats:
    """Return Σ_S c_p(S) v(S) over all coalitions, for any index that is linear in v.

    Written as a sum of values, not of differences, it needs each chunk only once: memory does not
    grow with 2^d. The coefficients of an index must sum to 0 over S.

    Shape: coefficients (m, d) → (m, p); result (n, p, K).
    """
    d, size = game.n_features, game.chunk()
    last = 2**d - 1
    full = coefficients(np.ones((1, d), dtype=bool))[0]
    total = (game.full - game.empty)[:, None] * full[:, None]
    for start in range(1, last, size):
        masks = _coalitions_between(start, min(start + size, last), d)
        total += np.einsum("nmk,mp->npk", game(masks), coefficients(masks), optimize=True)
    return total


def _coalitions_between(start: int, stop: int, n_features: int) -> Masks:
    """Return the coalitions at positions start … stop − 1 of all: (stop − start, d) bool."""
    numbers = np.arange(start, stop, dtype="<u4")[:, None]  # little-endian: byte 0 has features 0–7
    bits = np.unpackbits(numbers.view(np.uint8), axis=1, bitorder="little")
    return bits[:, :n_features].astype(bool)
