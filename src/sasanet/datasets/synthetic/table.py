"""What the makers of synthetic tables return: rows, labels and their known Shapley values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

from sasanet.arrays import Floats, Masks
from sasanet.datasets.synthetic.games import KnownGame
from sasanet.errors import InvalidInputError
from sasanet.shapley.exact import exact_shapley
from sasanet.shapley.game import read_coalitions

RowSelection = pd.DataFrame | slice | Sequence[int] | NDArray[np.int64]
_EXACT_UP_TO = 16  # features: 65,536 coalitions per row


@dataclass(frozen=True, eq=False)
class KnownTable:
    """A synthetic table whose E[y | x_S] is known for every coalition S.

    The game is v(S) = link(E[y | x_S]): log-odds for a binary label, the mean itself for
    regression. Cells go missing completely at random, so a missing cell is a feature outside S.

    Attributes
    ----------
    X : DataFrame (n, d)
        The rows; a missing cell is NaN.
    y : ndarray (n,)
        The labels, 0 and 1 or numbers.
    task : {"binary", "regression"}
        Type of the labels.
    game : object
        How the labels were made, with its parameters, such as ``slopes`` of Gaussian tables.

    Examples
    --------
    >>> from sasanet.datasets import make_gaussian_probit
    >>> table = make_gaussian_probit(500, n_features=4, correlation=0.5, missing=0.1)
    >>> nothing, everything = np.zeros(4, dtype=bool), np.ones(4, dtype=bool)
    >>> bool((table.value(table.X, nothing) == table.base_value).all())
    True
    >>> total = table.base_value + table.shapley(table.X).sum(axis=1)
    >>> bool(np.allclose(total, table.value(table.X, everything)))
    True
    """

    X: pd.DataFrame
    y: NDArray[Any]
    task: str
    game: KnownGame

    @property
    def units(self) -> str:
        """Unit of values and Shapley values."""
        return "target" if self.task == "regression" else "log-odds"

    @property
    def base_value(self) -> float:
        """Value of no feature: the log-odds of E[y], or E[y]."""
        d = self.X.shape[1]
        return float(self.game.value(np.zeros((1, d)), np.zeros(d, dtype=bool))[0])

    def expectation(self, rows: RowSelection, coalitions: Any) -> Floats:
        """Return E[y | x_S].

        Parameters
        ----------
        rows, coalitions
            As in :meth:`value`.

        Returns
        -------
        ndarray (n,) or (n, m)
            Probabilities, or means for regression.
        """
        value = self.value(rows, coalitions)
        return value if self.task == "regression" else expit(value)

    def value(self, rows: RowSelection, coalitions: Any) -> Floats:
        """Return v(S) = link(E[y | x_S]).

        Parameters
        ----------
        rows : DataFrame (n, d), slice or positions
            Rows with the columns of ``X``, or which rows of ``X``.
        coalitions : bool array (d,), (n, d) or (n, m, d)
            The known features: for all rows, per row, or m times per row. Missing cells are absent
            from every coalition.

        Returns
        -------
        ndarray (n,) or (n, m)
            v(S) in ``units``.
        """
        cells = self._cells(rows)
        n, d = cells.shape
        masks = read_coalitions(coalitions, n, d, "mark the known features with True")
        values = _values(self.game, cells, masks)
        return values if np.ndim(coalitions) == 3 else values[:, 0]

    def shapley(self, rows: RowSelection) -> Floats:
        """Return the Shapley values of v by all 2^d coalitions.

        φ_i = Σ_{S ∌ i} s! (d - s - 1)! / d! · (v(S ∪ i) - v(S)), s the size of S; exactly 0 for a
        missing cell.

        Parameters
        ----------
        rows : DataFrame (n, d), slice or positions
            Rows with the columns of ``X``, or which rows of ``X``.

        Returns
        -------
        ndarray (n, d)
            φ in ``units``; with the base value they add up to v(N).
        """
        cells = self._cells(rows)
        n_features = cells.shape[1]
        if n_features > _EXACT_UP_TO:
            raise InvalidInputError(
                f"n_features must be at most {_EXACT_UP_TO} for exact Shapley values, got "
                f"{n_features}; make a narrower table, or sample them with "
                "sasanet.shapley.permutation_shapley"
            )
        phi = exact_shapley(lambda masks: _values(self.game, cells, masks[None]), n_features)
        # A missing cell changes no value: what differs from 0 is rounding.
        return np.where(np.isnan(cells), 0.0, phi)

    def _cells(self, rows: RowSelection) -> Floats:
        """Return the selected rows as numbers, [n, d]; NaN: missing."""
        if not isinstance(rows, pd.DataFrame):
            rows = self.X.iloc[rows if isinstance(rows, slice) else np.atleast_1d(rows)]
        if list(rows.columns) != list(self.X.columns):
            raise InvalidInputError(
                f"rows must have the columns {list(self.X.columns)}, got "
                f"{list(rows.columns)}; select them from the table's X"
            )
        return self.game.read(rows)


def _values(game: KnownGame, cells: Floats, masks: Masks) -> Floats:
    """Return v(S), evaluating each distinct set of known cells once for all rows that share it.

    Shape: cells [n, d], masks [1 or n, m, d] → [n, m].
    """
    bits = np.int64(1) << np.arange(cells.shape[1])
    present = ~np.isnan(cells) @ bits
    codes = (masks @ bits) & present[:, None]
    order = np.argsort(codes, axis=None, kind="stable")
    found, sizes = np.unique(codes, return_counts=True)
    values = np.empty(codes.size)
    for code, places in zip(found, np.split(order, np.cumsum(sizes)[:-1]), strict=False):
        values[places] = game.value(cells[places // codes.shape[1]], (code & bits) != 0)
    return values.reshape(codes.shape)
