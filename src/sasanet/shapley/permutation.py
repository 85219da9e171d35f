"""Unbiased Shapley values with standard errors, from random orders of the features.

Sizes: n rows (one game each), d features, m coalitions, K outputs, P orders.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tqdm.auto import tqdm

from sasanet.arrays import Floats
from sasanet.errors import InvalidInputError
from sasanet.intervals import RunningMean
from sasanet.shapley.game import CheckedGame, ValueFunction
from sasanet.validation import check_integer, make_generator


@dataclass(frozen=True, eq=False)
class SampledShapley:
    """Shapley values estimated from random orders, with their standard errors.

    Parameters
    ----------
    values : ndarray (d,), (n, d) or (n, d, K)
        Unbiased estimates; they sum to v(N) − v(∅) over features.
    error_std : ndarray shaped like ``values``
        Their standard errors; NaN if only one order, or one pair, was drawn.
    n_orders : int
        Orders drawn; an order and its reverse count as two.
    n_evaluations : int
        Coalitions evaluated, the same ones for every row.

    Examples
    --------
    >>> found = permutation_shapley(lambda masks: masks @ [1.0, 2.0], n_features=2, n_orders=4)
    >>> found.values, found.error_std
    (array([1., 2.]), array([0., 0.]))
    """

    values: Floats
    error_std: Floats
    n_orders: int
    n_evaluations: int


def permutation_shapley(
    value: ValueFunction,
    n_features: int,
    n_orders: int = 200,
    antithetic: bool = True,
    random_state: int = 0,
    verbose: bool = False,
) -> SampledShapley:
    """Estimate Shapley values as the mean gain over random orders O (Eq. 2).

    φ_i ≈ 1/P Σ_O [v(O_{1:k−1} ∪ i) − v(O_{1:k−1})] with O_k = i

    An order and its reverse have every pair of features in both sequences, so pairwise interactions
    cancel: a game without higher ones is solved exactly by a single pair of orders.

    Parameters
    ----------
    value : value function
        Masks (m, d) → v(S) as (m,), (n, m) or (n, m, K).
    n_features : int
        d.
    n_orders : int
        P, shared by all rows; even if antithetic. Each order needs d − 1 new coalitions.
    antithetic : bool
        Whether to pair each order with its reverse; standard errors are then over pairs.
    random_state : int
        Seed of the orders.
    verbose : bool
        Whether to show a progress bar.

    Returns
    -------
    SampledShapley
        ``values``, ``error_std``, ``n_orders``, ``n_evaluations``.

    Examples
    --------
    >>> found = permutation_shapley(lambda masks: 6.0 * masks[:, :2].all(axis=1), 3, n_orders=2)
    >>> found.values
    array([3., 3., 0.])
    >>> found.n_evaluations
    6
    """
    d = check_integer("n_features", n_features, 1, None, "a game has at least one feature")
    least = 2 if antithetic else 1
    n_orders = check_integer("n_orders", n_orders, least, None, "200 orders are a good start")
    if antithetic and n_orders % 2:
        raise InvalidInputError(
            f"n_orders must be even when antithetic, got {n_orders}; "
            "give an even number or antithetic=False"
        )
    game, generator, running = CheckedGame(value, d), make_generator(random_state), RunningMean()
    n_draws, size = n_orders // least, game.chunk(least * (d + 1))
    with tqdm(total=n_orders, desc="orders", disable=not verbose) as bar:
        for start in range(0, n_draws, size):
            # The positions of the features in a random order are a random order themselves.
            places = generator.random((min(size, n_draws - start), d)).argsort(axis=1)
            gains = _gains(game, places)
            running.add((gains + _gains(game, d - 1 - places)) / 2 if antithetic else gains)
            bar.update(least * len(places))
    return SampledShapley(
        game.shaped(running.mean),
        game.shaped(running.error_std()),
        n_orders,
        game.n_evaluations,
    )


def _gains(game: CheckedGame, places: NDArray[np.intp]) -> Floats:
    """Return what each feature adds at its position: positions (P, d) → gains (n, P, d, K)."""
    n_orders, d = places.shape
    known = places[:, None, :] < np.arange(1, d)[:, None]  # (P, d − 1, d): prefixes but the ends
    inner = game(known.reshape(-1, d))
    n, k = len(inner), inner.shape[2]
    along = np.zeros((n, n_orders, d + 1, k))
    along[:, :, 1:d] = inner.reshape(n, n_orders, d - 1, k)
    along[:, :, d] = (game.full - game.empty)[:, None]
    return np.take_along_axis(np.diff(along, axis=2), places[None, :, :, None], axis=2)
