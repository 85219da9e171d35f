"""Synthetic tables of normal columns with a probit, linear or quadratic label."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from sasanet.arrays import Floats
from sasanet.datasets.synthetic.column_roles import (
    COPY_CORRELATION,
    Roles,
    check_between,
    check_rows,
    remove_cells,
)
from sasanet.datasets.synthetic.games import ProbitGame, QuadraticGame
from sasanet.datasets.synthetic.table import KnownTable

_LEAST_EIGENVALUE = 1e-3  # of Σ, so that conditioning loses few digits to rounding


def make_gaussian_probit(  # noqa: PLR0913 - one argument per property of the table
    n_rows: int = 1_000,
    *,
    n_features: int = 8,
    correlation: float = 0.0,
    redundant: int = 0,
    null: int = 0,
    symmetric: int = 0,
    missing: float = 0.0,
    noise: float = 1.0,
    random_state: int = 0,
) -> KnownTable:
    """Make normal columns and y = 1{c + b·x + ε > 0}, with E[y | x_S] in closed form.

    x ~ N(0, Σ) with unit variances, ε ~ N(0, noise²), b random and scaled so that b·x has
    standard deviation 1, c ~ N(0, 1/4). With R the features outside S,

    E[y | x_S] = Φ((c + b_S·x_S + b_R·E[x_R | x_S]) / √(noise² + b_R' Cov[x_R | x_S] b_R)).

    Parameters
    ----------
    n_rows : int
        Rows, at least 1.
    n_features : int
        Columns, 1 to 62.
    correlation : float
        ρ of any two core columns (plain ones and twins): Σ = (1 - ρ)I + ρ11' there. At most
        0.999, and not so negative that Σ is singular.
    redundant : int
        Near copies ``copy_of_x0``, ...: 0.99 x_source + √(1 - 0.99²) · own noise, coefficient 0.
    null : int
        Columns ``null0``, ... independent of everything, coefficient 0; Shapley value 0.
    symmetric : int
        Exchangeable pairs ``twin0a``, ``twin0b``, ...: equal coefficients and correlations, so
        equal Shapley values where equal.
    missing : float
        Share of cells removed completely at random, after y was drawn; 0 to 0.99.
    noise : float
        Standard deviation of ε, at least 1e-6.
    random_state : int
        Seed; the game depends on neither ``n_rows`` nor ``missing``.

    Returns
    -------
    KnownTable
        A binary task.

    Examples
    --------
    >>> table = make_gaussian_probit(300, n_features=6, redundant=1, null=1, symmetric=1)
    >>> table.X.columns.tolist()
    ['x0', 'x1', 'twin0a', 'twin0b', 'copy_of_x0', 'null0']
    >>> table.shapley(table.X[:10]).shape, table.units
    ((10, 6), 'log-odds')
    """
    roles = Roles(n_features, redundant, null, symmetric)
    check_rows(n_rows, missing)
    check_between("noise", noise, 1e-6, math.inf, "without noise the log-odds are infinite")
    random = np.random.default_rng(random_state)
    covariance = _covariance(roles, correlation)
    game = ProbitGame(covariance, _slopes(roles, covariance, random), random.normal(0, 0.5), noise)
    X = _normal_rows(roles, covariance, n_rows, random)
    latent = game.intercept + X.to_numpy() @ game.slopes + random.normal(0, noise, n_rows)
    y = (latent > 0).astype(np.int64)
    return KnownTable(remove_cells(X, missing, random), y, "binary", game)


def make_gaussian_linear(  # noqa: PLR0913 - one argument per property of the table
    n_rows: int = 1_000,
    *,
    n_features: int = 8,
    correlation: float = 0.0,
    redundant: int = 0,
    null: int = 0,
    symmetric: int = 0,
    missing: float = 0.0,
    noise: float = 1.0,
    random_state: int = 0,
) -> KnownTable:
    """Make normal columns and y = c + b·x + ε, with E[y | x_S] in closed form.

    E[y | x_S] = c + b_S·x_S + b_R·E[x_R | x_S]; with independent columns φ_i = b_i x_i. Columns,
    b and c are those of :func:`make_gaussian_probit`.

    Parameters
    ----------
    n_rows, n_features, correlation, redundant, null, symmetric, missing, random_state
        As in :func:`make_gaussian_probit`.
    noise : float
        Standard deviation of ε, at least 0.

    Returns
    -------
    KnownTable
        A regression task.

    Examples
    --------
    >>> table = make_gaussian_linear(300, n_features=5)
    >>> bool(np.allclose(table.shapley(slice(10)), table.X[:10] * table.game.slopes))
    True
    """
    roles = Roles(n_features, redundant, null, symmetric)
    check_rows(n_rows, missing)
    random = np.random.default_rng(random_state)
    covariance = _covariance(roles, correlation)
    slopes = _slopes(roles, covariance, random)
    game = QuadraticGame(covariance, slopes, random.normal(0, 0.5), np.zeros_like(covariance))
    return _regression(roles, game, n_rows, noise, missing, random)


def make_gaussian_quadratic(  # noqa: PLR0913 - one argument per property of the table
    n_rows: int = 1_000,
    *,
    n_features: int = 8,
    correlation: float = 0.0,
    redundant: int = 0,
    null: int = 0,
    symmetric: int = 0,
    missing: float = 0.0,
    noise: float = 1.0,
    random_state: int = 0,
) -> KnownTable:
    """Make normal columns and y = c + b·x + x'Ax + ε, with E[y | x_S] in closed form.

    A is symmetric and sparse: squares of a quarter of the core columns and interactions of half
    as many pairs as there are core columns, scaled so that x'Ax has standard deviation 1. With μ
    the vector of x_S and E[x_R | x_S], E[y | x_S] = c + b·μ + μ'Aμ + tr(A_RR Cov[x_R | x_S]).
    Columns, b and c are those of :func:`make_gaussian_probit`; twins have equal rows in A.

    Parameters
    ----------
    n_rows, n_features, correlation, redundant, null, symmetric, missing, random_state
        As in :func:`make_gaussian_probit`.
    noise : float
        Standard deviation of ε, at least 0.

    Returns
    -------
    KnownTable
        A regression task.

    Examples
    --------
    >>> table = make_gaussian_quadratic(300, n_features=5, correlation=0.5)
    >>> known = np.array([True, True, False, False, False])
    >>> table.expectation(slice(10), known).shape
    (10,)
    """
    roles = Roles(n_features, redundant, null, symmetric)
    check_rows(n_rows, missing)
    random = np.random.default_rng(random_state)
    covariance = _covariance(roles, correlation)
    slopes = _slopes(roles, covariance, random)
    curvature = _curvature(roles, covariance, random)
    game = QuadraticGame(covariance, slopes, random.normal(0, 0.5), curvature)
    return _regression(roles, game, n_rows, noise, missing, random)


# --- parts -----------------------------------------------------------------------------------


def _regression(
    roles: Roles,
    game: QuadraticGame,
    n_rows: int,
    noise: float,
    missing: float,
    random: np.random.Generator,
) -> KnownTable:
    """Draw rows and y = c + b·x + x'Ax + ε."""
    check_between("noise", noise, 0, math.inf, "give a standard deviation")
    X = _normal_rows(roles, game.covariance, n_rows, random)
    x = X.to_numpy()
    y = game.intercept + x @ game.slopes + (x @ game.curvature * x).sum(1)
    y += random.normal(0, noise, n_rows)
    return KnownTable(remove_cells(X, missing, random), y, "regression", game)


def _covariance(roles: Roles, correlation: float) -> Floats:
    """Return Σ of all columns: L((1 - ρ)I + ρ11')L' off the diagonal, 1 on it.

    Row j of L is how column j loads on the core: itself, 0.99 of its source, or nothing. The
    eigenvalues of the core are 1 - ρ and 1 + (core - 1)ρ.

    Shape: → [d, d].
    """
    core = roles.n_core
    lowest = (_LEAST_EIGENVALUE - 1) / max(core - 1, 1)
    remedy = "beyond that Σ = (1 - ρ)I + ρ11' is not safely positive definite"
    check_between("correlation", correlation, lowest, 1 - _LEAST_EIGENVALUE, remedy)
    within = (1 - correlation) * np.eye(core) + correlation
    loads = np.zeros((roles.n_features, core))
    loads[:core] = np.eye(core)
    for copy in range(roles.redundant):
        loads[core + copy, copy] = COPY_CORRELATION
    covariance = loads @ within @ loads.T
    np.fill_diagonal(covariance, 1.0)
    return covariance


def _slopes(roles: Roles, covariance: Floats, random: np.random.Generator) -> Floats:
    """Draw b: away from 0 on the core, equal for twins, with b'Σb = 1: [d, d] → [d]."""
    slopes = np.zeros(roles.n_features)
    slopes[: roles.n_core] = _away_from_zero(roles.n_core, random)
    for a, b in roles.twins:
        slopes[b] = slopes[a]
    return slopes / np.sqrt(slopes @ covariance @ slopes)


def _curvature(roles: Roles, covariance: Floats, random: np.random.Generator) -> Floats:
    """Draw a sparse A, invariant to swapping twins, with Var x'Ax = 2 tr(AΣAΣ) = 1: [d, d]."""
    core = roles.n_core
    curvature = np.zeros_like(covariance)
    bent = random.choice(core, size=max(1, core // 4), replace=False)
    curvature[bent, bent] = _away_from_zero(len(bent), random)
    rows, columns = np.triu_indices(core, 1)
    chosen = random.permutation(len(rows))[: core // 2]
    curvature[rows[chosen], columns[chosen]] = _away_from_zero(len(chosen), random) / 2
    curvature[columns[chosen], rows[chosen]] = curvature[rows[chosen], columns[chosen]]
    for a, b in roles.twins:
        swap = np.arange(len(curvature))
        swap[[a, b]] = b, a
        curvature = (curvature + curvature[np.ix_(swap, swap)]) / 2
    turned = curvature @ covariance
    return curvature / np.sqrt(2 * np.trace(turned @ turned))


def _away_from_zero(size: int, random: np.random.Generator) -> Floats:
    """Draw coefficients of absolute value 0.5 to 1.5 and random sign."""
    return random.choice([-1.0, 1.0], size) * random.uniform(0.5, 1.5, size)


def _normal_rows(
    roles: Roles, covariance: Floats, n_rows: int, random: np.random.Generator
) -> pd.DataFrame:
    """Draw rows of N(0, Σ), with the column names of the roles."""
    draws = random.standard_normal((n_rows, roles.n_features))
    return pd.DataFrame(draws @ np.linalg.cholesky(covariance).T, columns=roles.names)
