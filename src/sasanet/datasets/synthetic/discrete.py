"""Synthetic tables of categories, with every E[y | x_S] from the joint distribution."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import expit

from sasanet.arrays import Floats
from sasanet.datasets.synthetic.column_roles import (
    COPY_CORRELATION,
    Roles,
    check_between,
    check_rows,
    remove_cells,
)
from sasanet.datasets.synthetic.games import DiscreteGame
from sasanet.datasets.synthetic.table import KnownTable
from sasanet.errors import InvalidInputError

_ALPHABET = "abcdefghijklmnopqrstuvwxyz"
_MOST_CELLS = 2_000_000  # conditional probabilities: 16 MB


def make_discrete(  # noqa: PLR0913 - one argument per property of the table
    n_rows: int = 1_000,
    *,
    n_features: int = 8,
    levels: int = 3,
    correlation: float = 0.0,
    redundant: int = 0,
    null: int = 0,
    symmetric: int = 0,
    missing: float = 0.0,
    random_state: int = 0,
) -> KnownTable:
    """Make a table of categories whose label's log-odds are known for every coalition.

    All columns have the same random distribution π of levels. A row has a hidden level, drawn from
    π; each of its core cells takes it with probability √correlation, else an independent draw from
    π. P(y = 1 | x) = 1 / (1 + exp(-s(x))), where s is a sum of random tables over single
    core columns and over pairs of them. E[y | x_S] comes from sums over the joint distribution.

    Parameters
    ----------
    n_rows : int
        Rows, at least 1.
    n_features : int
        Columns; (levels + 1)^n_features may be at most 2,000,000.
    levels : int
        Levels of each column, "a", "b", ...; 2 to 26.
    correlation : float
        Correlation of 1{x_i = level} and 1{x_j = level} for any two core columns and any level;
        0 (independent) to 0.999.
    redundant : int
        Near copies ``copy_of_x0``, ...: the level of the source with probability 0.99, else an
        independent draw; s does not depend on them.
    null : int
        Columns ``null0``, ... independent of everything; their Shapley value is 0.
    symmetric : int
        Exchangeable pairs ``twin0a``, ``twin0b``, ...: equal Shapley values where equal.
    missing : float
        Share of cells removed completely at random, after y was drawn; 0 to 0.99.
    random_state : int
        Seed; the game depends on neither ``n_rows`` nor ``missing``.

    Returns
    -------
    KnownTable
        A binary task.

    Examples
    --------
    >>> table = make_discrete(200, n_features=4, correlation=0.3, null=1)
    >>> table.X.columns.tolist(), sorted(table.X["x0"].unique())
    (['x0', 'x1', 'x2', 'null0'], ['a', 'b', 'c'])
    >>> bool(np.abs(table.shapley(table.X)[:, 3]).max() < 1e-12)
    True
    """
    roles = Roles(n_features, redundant, null, symmetric)
    check_rows(n_rows, missing)
    _check_size(n_features, levels)
    check_between("correlation", correlation, 0, 0.999, "0 makes independent columns")
    random = np.random.default_rng(random_state)
    shares = random.dirichlet(np.full(levels, 5.0))
    joint = _joint(roles, shares, correlation)
    score = _score(roles, levels, random)
    ones, zeros = joint * expit(score), joint * expit(-score)
    drawn = random.choice(joint.size, size=n_rows, p=joint.ravel())
    y = random.random(n_rows) < (ones / joint).ravel()[drawn]
    names = tuple(_ALPHABET[:levels])
    cells = np.array(names)[np.stack(np.unravel_index(drawn, joint.shape), axis=1)]
    X = remove_cells(pd.DataFrame(cells, columns=roles.names), missing, random)
    game = DiscreteGame.from_joint(names, zeros, ones)
    return KnownTable(X, y.astype(np.int64), "binary", game)


def _check_size(n_features: int, levels: int) -> None:
    check_between("levels", levels, 2, len(_ALPHABET), "each level is one letter")
    if (size := (levels + 1) ** n_features) > _MOST_CELLS:
        raise InvalidInputError(
            f"(levels + 1) ** n_features must be at most {_MOST_CELLS:,}, got {size:,}; "
            "lower levels or n_features"
        )


def _joint(roles: Roles, shares: Floats, correlation: float) -> Floats:
    """Return p(x) = Σ_h π_h Π_core k(x_j | h) · Π_copies t(x_j | x_source) · Π_nulls π(x_j).

    k and t take the given level with probability √correlation or 0.99, else a draw from π.

    Shape: shares [L] → d axes of length L.
    """
    levels = len(shares)
    joint = shares
    for _ in range(roles.n_core):
        joint = np.einsum("h...,hl->h...l", joint, _copied_with(shares, np.sqrt(correlation)))
    joint = joint.sum(0)
    copied = _copied_with(shares, COPY_CORRELATION)
    for source in range(roles.redundant):
        along = [1] * (joint.ndim + 1)
        along[source], along[-1] = levels, levels
        joint = joint[..., None] * copied.reshape(along)
    for _ in range(roles.null):
        joint = joint[..., None] * shares
    return joint / joint.sum()


def _copied_with(shares: Floats, probability: float) -> Floats:
    """Return p(level of a cell | level it copies): [L] → [L, L]."""
    return probability * np.eye(len(shares)) + (1 - probability) * shares


def _score(roles: Roles, levels: int, random: np.random.Generator) -> Floats:
    """Draw s(x) = Σ_j u_j(x_j) + Σ_{i<j} w_ij(x_i, x_j), invariant to swapping twins.

    The sum of all u has a standard deviation of about 1 over the cells, and so has that of all w.

    Shape: d axes, of length L for the core columns and 1 for the others.
    """
    d, core = roles.n_features, range(roles.n_core)
    pairs = [(i, j) for j in core for i in range(j)]
    score = np.zeros([levels] * roles.n_core + [1] * (d - roles.n_core))
    for tables in ([(j,) for j in core], pairs):
        for axes in tables:
            along = [levels if axis in axes else 1 for axis in range(d)]
            score = score + random.standard_normal(along) / np.sqrt(len(tables))
    for a, b in roles.twins:
        score = (score + score.swapaxes(a, b)) / 2
    return score
