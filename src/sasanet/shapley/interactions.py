"""The Shapley interaction index of pairs of features, exact or sampled.

Sizes: n rows (one game each), d features, p pairs, m coalitions, K outputs. The index (Grabisch and
Roubens, 1999) is what two features add together beyond what each adds on its own:

    I_ij = Σ_{S ⊆ N∖{i,j}} s! (d − s − 2)! / (d − 1)! · Δ_ij(S),
    Δ_ij(S) = v(S ∪ {i,j}) − v(S ∪ i) − v(S ∪ j) + v(S).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from sasanet.arrays import Floats, Masks
from sasanet.errors import InvalidInputError
from sasanet.intervals import RunningMean
from sasanet.shapley.exact import shapley_weights, sum_over_coalitions
from sasanet.shapley.game import CheckedGame, ValueFunction
from sasanet.validation import check_integer, make_generator

_EXACT_UP_TO = 16  # features: 65,536 coalitions for each of up to 120 pairs


@dataclass(frozen=True, eq=False)
class Interactions:
    """Shapley interactions of pairs of features.

    Parameters
    ----------
    pairs : ndarray (p, 2) of int
        Positions of the two features.
    values : ndarray (p,), (n, p) or (n, p, K)
        Positive where two features add more together than on their own.
    error_std : ndarray shaped like ``values``, or None
        Standard errors; None if exact.

    Examples
    --------
    >>> found = exact_interactions(lambda masks: 6.0 * masks[:, :2].all(axis=1), 3)
    >>> found.to_frame(["age", "job", "sex"])
       row feature other  interaction
    0    0     age   job          6.0
    1    0     age   sex          0.0
    2    0     job   sex          0.0
    """

    pairs: NDArray[np.intp]
    values: Floats
    error_std: Floats | None = None

    def to_frame(self, feature_names: Sequence[str]) -> pd.DataFrame:
        """Return a long table: one line per row, pair and output.

        Parameters
        ----------
        feature_names : sequence of str
            One name per feature of the game.

        Returns
        -------
        DataFrame
            ``row`` (position), ``feature``, ``other``, ``interaction``, then ``output`` (position)
            if there are several outputs and ``error_std`` if sampled.
        """
        names = [str(name) for name in feature_names]
        if len(names) <= self.pairs.max(initial=-1):
            raise InvalidInputError(
                f"feature_names must name every feature of the pairs, up to position "
                f"{self.pairs.max()}, got {len(names)} names; give one per column"
            )
        several = self.values.ndim == 3
        k = self.values.shape[2] if several else 1
        n = 1 if self.values.ndim == 1 else len(self.values)
        columns: dict[str, Any] = {"row": np.repeat(np.arange(n), len(self.pairs) * k)}
        for side, column in enumerate(("feature", "other")):
            columns[column] = [names[i] for i in self.pairs[:, side] for _ in range(k)] * n
        columns["interaction"] = self.values.ravel()
        if several:
            columns["output"] = np.tile(np.arange(k), n * len(self.pairs))
        if self.error_std is not None:
            columns["error_std"] = self.error_std.ravel()
        return pd.DataFrame(columns)


def exact_interactions(
    value: ValueFunction, n_features: int, pairs: ArrayLike | None = None
) -> Interactions:
    """Return exact Shapley interactions I_ij, by enumerating all 2^d coalitions.

    Parameters
    ----------
    value : value function
        Masks (m, d) → v(S) as (m,), (n, m) or (n, m, K).
    n_features : int
        d, from 2 to 16; each coalition is evaluated once, whatever the number of pairs.
    pairs : array-like (p, 2) of int, optional
        Positions of features; by default all pairs i < j.

    Returns
    -------
    Interactions
        ``error_std`` is None.

    Examples
    --------
    >>> exact_interactions(lambda masks: 6.0 * masks.all(axis=1), 3, [[0, 2]]).values
    array([3.])
    """
    remedy = "use sampled_interactions for more features"
    d = check_integer("n_features", n_features, 2, _EXACT_UP_TO, remedy)
    chosen = _read_pairs(pairs, d)
    weights = shapley_weights(d - 1)  # s! (d − s − 2)! / (d − 1)!: as if i and j were one

    def coefficients(masks: Masks) -> Floats:
        left, right = masks[:, chosen[:, 0]], masks[:, chosen[:, 1]]
        others = masks.sum(axis=1)[:, None] - left - right
        return np.where(left == right, 1.0, -1.0) * weights[others]

    game = CheckedGame(value, d)
    return Interactions(chosen, game.shaped(sum_over_coalitions(game, coefficients)))


def sampled_interactions(
    value: ValueFunction,
    n_features: int,
    pairs: ArrayLike | None = None,
    n_samples: int = 200,
    random_state: int = 0,
) -> Interactions:
    """Estimate Shapley interactions without bias, as the mean of Δ_ij(S) over random S.

    The weights in I_ij make all sizes s = 0 … d − 2 equally likely, and all S of one size.

    Parameters
    ----------
    value : value function
        Masks (m, d) → v(S) as (m,), (n, m) or (n, m, K).
    n_features : int
        d, at least 2.
    pairs : array-like (p, 2) of int, optional
        Positions of features; by default all pairs i < j.
    n_samples : int
        Random S per pair, at least 2; each needs four coalitions.
    random_state : int
        Seed of the coalitions.

    Returns
    -------
    Interactions
        With standard errors.

    Examples
    --------
    >>> found = sampled_interactions(lambda masks: 6.0 * masks[:, :2].all(axis=1), 30, [[1, 0]])
    >>> found.values, found.error_std
    (array([6.]), array([0.]))
    """
    d = check_integer("n_features", n_features, 2, None, "a pair needs two features")
    chosen = _read_pairs(pairs, d)
    n_samples = check_integer("n_samples", n_samples, 2, None, "a standard error needs two samples")
    game, generator = CheckedGame(value, d), make_generator(random_state)
    results = [_sample_pair(game, pair, n_samples, generator) for pair in chosen]
    means, errors = (np.stack(parts, axis=1) for parts in zip(*results, strict=True))
    return Interactions(chosen, game.shaped(means), game.shaped(errors))


def _sample_pair(
    game: CheckedGame, pair: NDArray[np.intp], n_samples: int, generator: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return the mean of Δ_ij(S) over random S and its standard error: (n, K) each."""
    running, d, size = RunningMean(), game.n_features, game.chunk(4)
    for start in range(0, n_samples, size):
        keys = generator.random((min(size, n_samples - start), d + 1))
        sizes = (keys[:, -1:] * (d - 1)).astype(np.intp)  # 0 … d − 2, equally likely
        keys[:, pair] = 2.0  # last in every order, so in no S
        without = keys[:, :d].argsort(axis=1).argsort(axis=1) < sizes
        masks = np.repeat(without[:, None], 4, axis=1)  # S, S ∪ i, S ∪ j, S ∪ {i, j}
        masks[:, 1::2, pair[0]] = True
        masks[:, 2:, pair[1]] = True
        values = game(masks.reshape(-1, d))
        values = values.reshape(len(values), len(without), 4, values.shape[2])
        running.add(values[:, :, 3] - values[:, :, 2] - values[:, :, 1] + values[:, :, 0])
    return running.mean, running.error_std()


def _read_pairs(pairs: ArrayLike | None, d: int) -> NDArray[np.intp]:
    """Return pairs as (p, 2) positions; all i < j if None."""
    if pairs is None:
        return np.stack(np.triu_indices(d, 1), axis=1)
    given = np.asarray(pairs)
    fits = given.ndim == 2 and given.shape[1:] == (2,) and given.size and given.dtype.kind in "iu"
    if not fits or given.min() < 0 or given.max() >= d or (given[:, 0] == given[:, 1]).any():
        raise InvalidInputError(
            f"pairs must be two different positions from 0 to {d - 1} each, shape (p, 2), got "
            f"{given.tolist()}; omit pairs for all of them"
        )
    return given.astype(np.intp)
