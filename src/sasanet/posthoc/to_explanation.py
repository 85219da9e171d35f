"""Shapley values of a game and the rows it is about in, an Explanation out.

Sizes: n rows (one game each), d features, K outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sasanet.arrays import Floats
from sasanet.errors import InvalidInputError
from sasanet.explanation.explanation import Explanation
from sasanet.shapley.game import Game, ValueFunction
from sasanet.shapley.permutation import SampledShapley
from sasanet.table.reading import check_unique_names, read_table

_ROUNDING = 1e-6  # of the numbers that are added up; they come in float64


def as_explanation(
    found: NDArray[Any] | SampledShapley,
    value: ValueFunction,
    X: Any,
    output_names: Sequence[Any] = (),
    units: str = "model output",
) -> Explanation:
    """Return Shapley values of a game as an :class:`~sasanet.Explanation`.

    Parameters
    ----------
    found : ndarray (d,), (n, d) or (n, d, K), or SampledShapley
        What ``exact_shapley``, ``permutation_shapley`` or ``kernel_shapley`` returned; the second
        of them brings its standard errors.
    value : value function
        The game they belong to; it is asked for v(∅), the base value, and v(N). Values that do not
        add up to v(N) − v(∅) are refused.
    X : table (n, d)
        The rows the game is about.
    output_names : sequence
        Names of the outputs, such as ``model.classes_``; by default their positions.
    units : str
        What one unit of the values means.

    Returns
    -------
    Explanation
        ``base_values + values.sum(axis=1)`` is v(N).

    Examples
    --------
    >>> from sasanet.posthoc import exact_shapley, marginal_game
    >>> X = [[3.0, 5.0]]
    >>> game = marginal_game(lambda X: X[:, 0] * X[:, 1], X, [[0.0, 0.0], [2.0, 4.0]])
    >>> e = as_explanation(exact_shapley(game, 2), game, X)
    >>> e.base_values, e.values, e.prediction
    (array([4.]), array([[6., 5.]]), array([15.]))
    """
    sampled = found if isinstance(found, SampledShapley) else None
    values = np.asarray(sampled.values if sampled else found, dtype=np.float64)
    n, d = read_table(X).shape
    if values.shape[:2] not in {(n, d), (d,)} or (values.ndim == 1 and n != 1):
        raise InvalidInputError(
            f"found must have shape ({n}, {d}) or ({n}, {d}, K) for these rows, got "
            f"{values.shape}; give the rows the game was made from"
        )
    game = Game(value, d)
    one = values.ndim < 3
    base, full = (end[:, 0] if one else end for end in (game.empty, game.full))
    shape = (n, d) if one else values.shape
    check_adds_up(values.reshape(shape), base, full, _ROUNDING, "give the game they were found in")
    errors = None if sampled is None else sampled.error_std.reshape(shape)
    return explained(values.reshape(shape), base, X, output_names, units, errors)


def explained(
    values: Floats,
    base_values: Floats,
    X: Any,
    output_names: Sequence[Any],
    units: str,
    error_std: Floats | None = None,
) -> Explanation:
    """Return arrays as an explanation of the rows of X: (n, d) or (n, d, K), (n,) or (n, K)."""
    table = read_table(X)
    check_unique_names(table)
    names = tuple(map(str, table.columns))
    outputs = tuple(map(str, output_names)) or tuple(map(str, range(sum(values.shape[2:]))))
    if values.ndim == 3 and len(outputs) != values.shape[2]:
        raise InvalidInputError(
            f"output_names must name {values.shape[2]} outputs, got {list(outputs)}; "
            "give one name per column of the predictions, or none"
        )
    return Explanation(
        values=values,
        base_values=base_values,
        data=table.set_axis([*names], axis=1),
        feature_names=names,
        output_names=outputs if values.ndim == 3 else (),
        error_std=error_std,
        units=units,
    )


def check_adds_up(
    values: Floats, base: Floats, prediction: Floats, tolerance: float, remedy: str
) -> None:
    """Raise if base value plus attributions is not the prediction, up to a share of their size.

    Shape: values (n, d) or (n, d, K), base and prediction (n,) or (n, K).
    """
    sums = base + values.sum(axis=1)
    if sums.shape != prediction.shape:
        raise InvalidInputError(
            f"The values must have the outputs of the prediction, {prediction.shape}, "
            f"got {sums.shape}; {remedy}"
        )
    scale = np.abs(base) + np.abs(values).sum(axis=1) + np.abs(prediction)
    gap = np.abs(sums - prediction)
    if (gap > tolerance * scale).any():
        raise InvalidInputError(
            "The attributions must add up to the prediction, got base value and attributions "
            f"miss it by up to {gap.max():.3g}; {remedy}"
        )
