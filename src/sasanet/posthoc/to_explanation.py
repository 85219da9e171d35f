"""The common result of all explainers: attributions of given rows as an Explanation.

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
from sasanet.shapley.game import CheckedGame, ValueFunction
from sasanet.shapley.permutation import SampledShapley
from sasanet.table.reading import check_names, read_table

_ROUNDING = 1e-6  # of the numbers that are added up; they come in float64


def as_explanation(
    shapley_values: NDArray[Any] | SampledShapley,
    value: ValueFunction,
    X: Any,
    *,
    output_names: Sequence[Any] = (),
    units: str = "model output",
) -> Explanation:
    """Return Shapley values that were computed elsewhere as an :class:`~sasanet.Explanation`.

    The explainers of :mod:`sasanet.posthoc` return one already; this is for arrays from
    :mod:`sasanet.shapley` or from another package.

    Parameters
    ----------
    shapley_values : ndarray (d,), (n, d) or (n, d, K), or SampledShapley
        The Shapley values, with their standard errors if sampled by
        :func:`~sasanet.shapley.permutation_shapley`.
    value : value function
        Their game, which gives the base value v(∅). Values that do not sum to v(N) − v(∅) raise an
        error.
    X : table (n, d)
        The rows that the game explains.
    output_names : sequence
        Names of the outputs, such as ``model.classes_``; by default their positions.
    units : str
        Unit of the values, such as "log-odds".

    Returns
    -------
    Explanation
        ``base_values + values.sum(axis=1)`` is v(N).

    Examples
    --------
    >>> from sasanet.posthoc import marginal_game
    >>> from sasanet.shapley import exact_shapley
    >>> X = [[3.0, 5.0]]
    >>> game = marginal_game(lambda X: X[:, 0] * X[:, 1], X, [[0.0, 0.0], [2.0, 4.0]])
    >>> e = as_explanation(exact_shapley(game, 2), game, X)
    >>> e.base_values, e.values, e.prediction
    (array([4.]), array([[6., 5.]]), array([15.]))
    """
    sampled = shapley_values if isinstance(shapley_values, SampledShapley) else None
    values = np.asarray(sampled.values if sampled else shapley_values, dtype=np.float64)
    n, d = read_table(X).shape
    if values.shape[:2] not in {(n, d), (d,)} or (values.ndim == 1 and n != 1):
        raise InvalidInputError(
            f"shapley_values must have shape ({n}, {d}) or ({n}, {d}, K) for these rows, got "
            f"{values.shape}; give the rows the game was made from"
        )
    game = CheckedGame(value, d)
    one = values.ndim < 3
    base, full = (end[:, 0] if one else end for end in (game.empty, game.full))
    shape = (n, d) if one else values.shape
    check_adds_up(values.reshape(shape), base, full, _ROUNDING, "give the game they belong to")
    errors = None if sampled is None else sampled.error_std.reshape(shape)
    return make_explanation(values.reshape(shape), base, X, output_names, units, errors)


def make_explanation(
    values: Floats,
    base_values: Floats,
    X: Any,
    output_names: Sequence[Any],
    units: str,
    error_std: Floats | None = None,
) -> Explanation:
    """Return arrays as an explanation of the rows of X.

    Shape: values (n, d) or (n, d, K), base values (n,) or (n, K).
    """
    table = read_table(X)
    check_names(table)
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
    """Raise if base value plus attributions differs from the prediction, relative to their size.

    Shape: values (n, d) or (n, d, K), base and prediction (n,) or (n, K).
    """
    sums = base + values.sum(axis=1)
    if sums.shape != prediction.shape:
        raise InvalidInputError(
            f"The attributions must have the outputs of the prediction, {prediction.shape}, "
            f"got {sums.shape}; {remedy}"
        )
    scale = np.abs(base) + np.abs(values).sum(axis=1) + np.abs(prediction)
    gap = np.abs(sums - prediction)
    if (gap > tolerance * scale).any():
        raise InvalidInputError(
            "Base value and attributions must add up to the prediction, got a difference of up to "
            f"{gap.max():.3g}; {remedy}"
        )
