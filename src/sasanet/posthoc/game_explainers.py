"""SHAP values of the rows of any game: exact, by random orders, or by regression.

Each function runs an estimator of :mod:`sasanet.shapley` (which has more settings) and adds the
names and units of a table. The time goes into the value function: ``marginal_game(...,
verbose=True)`` shows a progress bar.

Sizes: n rows (one game each), d features, m coalitions, K outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sasanet.explanation.explanation import Explanation
from sasanet.posthoc.to_explanation import as_explanation
from sasanet.shapley.exact import exact_shapley
from sasanet.shapley.game import ValueFunction
from sasanet.shapley.permutation import permutation_shapley
from sasanet.shapley.regression import Sampling, kernel_shapley
from sasanet.table.reading import read_table


def exact_shap(
    value: ValueFunction,
    X: Any,
    *,
    output_names: Sequence[Any] = (),
    units: str = "model output",
) -> Explanation:
    """Explain rows by exact Shapley values, from all 2^d coalitions.

    Parameters
    ----------
    value : value function
        The game of these rows: ``marginal_game(predict, X, background)``, ``game_of(model, X)`` or
        any function of masks.
    X : table (n, d)
        The rows that the game explains, up to 20 features.
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
    >>> X, background = [[3.0, 5.0]], [[0.0, 0.0], [2.0, 4.0]]
    >>> game = marginal_game(lambda X: X[:, 0] * X[:, 1], X, background)
    >>> e = exact_shap(game, X)
    >>> e.base_values, e.values, e.prediction
    (array([4.]), array([[6., 5.]]), array([15.]))
    """
    found = exact_shapley(value, read_table(X).shape[1])
    return as_explanation(found, value, X, output_names=output_names, units=units)


def permutation_shap(
    value: ValueFunction,
    X: Any,
    n_orders: int = 200,
    *,
    output_names: Sequence[Any] = (),
    units: str = "model output",
    random_state: int = 0,
    verbose: bool = False,
) -> Explanation:
    """Explain rows by unbiased Shapley values with standard errors, from random orders.

    Parameters
    ----------
    value : value function
        The game of these rows: ``marginal_game(predict, X, background)``, ``game_of(model, X)`` or
        any function of masks.
    X : table (n, d)
        The rows that the game explains.
    n_orders : int
        Random orders of the features, the same ones for all rows; an even number, since each order
        is paired with its reverse, which cancels pairwise interactions. Each needs d − 1
        coalitions.
    output_names : sequence
        Names of the outputs, such as ``model.classes_``; by default their positions.
    units : str
        Unit of the values, such as "log-odds".
    random_state : int
        Seed of the orders.
    verbose : bool
        Whether to show a progress bar.

    Returns
    -------
    Explanation
        With ``error_std``; ``base_values + values.sum(axis=1)`` is v(N).

    Examples
    --------
    >>> from sasanet.posthoc import marginal_game
    >>> X, background = [[3.0, 5.0]], [[0.0, 0.0], [2.0, 4.0]]
    >>> game = marginal_game(lambda X: X[:, 0] * X[:, 1], X, background)
    >>> e = permutation_shap(game, X, n_orders=10)
    >>> e.values, e.error_std
    (array([[6., 5.]]), array([[0., 0.]]))
    """
    d = read_table(X).shape[1]
    found = permutation_shapley(value, d, n_orders, random_state=random_state, verbose=verbose)
    return as_explanation(found, value, X, output_names=output_names, units=units)


def kernel_shap(
    value: ValueFunction,
    X: Any,
    n_coalitions: int | None = None,
    *,
    sampling: Sampling = "kernel",
    output_names: Sequence[Any] = (),
    units: str = "model output",
    random_state: int = 0,
) -> Explanation:
    """Explain rows by KernelSHAP: weighted least squares over random coalitions.

    Coalitions are drawn without replacement, each with its complement, and no feature is dropped.
    The values have a small bias and no standard errors. For the implementation of the package
    ``shap`` see :func:`~sasanet.posthoc.shap_kernel_explainer`.

    Parameters
    ----------
    value : value function
        The game of these rows: ``marginal_game(predict, X, background)``, ``game_of(model, X)`` or
        any function of masks.
    X : table (n, d)
        The rows that the game explains.
    n_coalitions : int, optional
        Coalitions to evaluate, the same ones for all rows; an even number. By default 2d + 2048,
        the "auto" of ``shap``; 2^d − 2 or more means all of them, and the result is exact.
    sampling : {"kernel", "leverage"}
        How the sizes of coalitions are drawn: by their weight in the regression (KernelSHAP), or
        all equally likely (LeverageSHAP).
    output_names : sequence
        Names of the outputs, such as ``model.classes_``; by default their positions.
    units : str
        Unit of the values, such as "log-odds".
    random_state : int
        Seed of the coalitions.

    Returns
    -------
    Explanation
        ``base_values + values.sum(axis=1)`` is v(N).

    Examples
    --------
    >>> from sasanet.posthoc import marginal_game
    >>> X, background = [[3.0, 5.0, 1.0]], [[0.0, 0.0, 0.0], [2.0, 4.0, 6.0]]
    >>> game = marginal_game(lambda X: X[:, 0] * X[:, 1] + X[:, 2], X, background)
    >>> kernel_shap(game, X).values.round(9)
    array([[ 6.,  5., -2.]])
    """
    d = read_table(X).shape[1]
    n_coalitions = 2 * d + 2**11 if n_coalitions is None else n_coalitions
    found = kernel_shapley(value, d, n_coalitions, sampling=sampling, random_state=random_state)
    return as_explanation(found, value, X, output_names=output_names, units=units)
