"""Games with closed forms: v(S) = link(E[y | x_S]) of synthetic tables.

One class per way of making y. Each reads a table into cells and evaluates one coalition for all
rows that share it: cells [n, d], known [d] → [n]. Only known cells are read; the others may hold
anything, NaN included. Log-odds come from the logarithms of both probabilities, so that nothing is
clipped even where the label is almost certain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pandas as pd
from scipy.special import log_ndtr

from sasanet.arrays import Floats, Masks
from sasanet.errors import InvalidInputError


class KnownGame(Protocol):
    """What a :class:`~sasanet.datasets.KnownTable` needs to know about how y was made."""

    def read(self, rows: pd.DataFrame) -> Floats:
        """Return a table as numbers, [n, d]; NaN: missing."""

    def value(self, cells: Floats, known: Masks) -> Floats:
        """Return v(S) = link(E[y | x_S]) of rows that share S: [n, d], [d] → [n]."""


def condition(covariance: Floats, known: Masks) -> tuple[Floats, Floats]:
    """Condition x ~ N(0, Σ) on x_S: return P with E[x | x_S] = P' x_S, and Cov[x | x_S].

    With R the unknown features, P = [I, Σ_SS⁻¹ Σ_SR] in the rows of S and
    Cov_RR = Σ_RR - Σ_RS Σ_SS⁻¹ Σ_SR; both are 0 elsewhere.

    Shape: covariance [d, d], known [d] → [d, d], [d, d].
    """
    projection, left = np.zeros_like(covariance), covariance.copy()
    inside, across = np.ix_(known, known), np.ix_(known, ~known)
    rest = np.ix_(~known, ~known)
    projection[inside] = np.eye(known.sum())
    projection[across] = np.linalg.solve(covariance[inside], covariance[across])
    left[rest] -= covariance[across].T @ projection[across]
    left[known], left[:, known] = 0.0, 0.0
    return projection, left


@dataclass(frozen=True, eq=False)
class GaussianGame:
    """Common part of the games over x ~ N(0, Σ) with a term c + b·x.

    Attributes
    ----------
    covariance : ndarray (d, d)
        Σ.
    slopes : ndarray (d,)
        b.
    intercept : float
        c.
    """

    covariance: Floats
    slopes: Floats
    intercept: float

    def read(self, rows: pd.DataFrame) -> Floats:
        """Return a table as numbers, [n, d]; NaN: missing."""
        return rows.to_numpy(np.float64)


@dataclass(frozen=True, eq=False)
class ProbitGame(GaussianGame):
    """Log-odds of y = 1{c + b·x + ε > 0} with ε ~ N(0, noise²).

    Attributes
    ----------
    noise : float
        Standard deviation of ε, above 0.
    """

    noise: float

    def value(self, cells: Floats, known: Masks) -> Floats:
        """Return the log-odds of Φ((c + b·μ) / √(noise² + b'Cb)): [n, d], [d] → [n].

        μ = E[x | x_S], C = Cov[x | x_S]; where x is known, μ is x and C is 0.
        """
        projection, left = condition(self.covariance, known)
        centre = self.intercept + np.where(known, cells, 0.0) @ (projection @ self.slopes)
        spread = np.sqrt(self.noise**2 + self.slopes @ left @ self.slopes)
        z = centre / spread
        return log_ndtr(z) - log_ndtr(-z)


@dataclass(frozen=True, eq=False)
class QuadraticGame(GaussianGame):
    """Mean of y = c + b·x + x'Ax + ε with E[ε | x] = 0; linear with A = 0.

    Attributes
    ----------
    curvature : ndarray (d, d)
        A, symmetric.
    """

    curvature: Floats

    def value(self, cells: Floats, known: Masks) -> Floats:
        """Return c + b·μ + μ'Aμ + tr(AC): [n, d], [d] → [n].

        μ = E[x | x_S], C = Cov[x | x_S]; where x is known, μ is x and C is 0.
        """
        projection, left = condition(self.covariance, known)
        mean = np.where(known, cells, 0.0) @ projection
        bend = (mean @ self.curvature * mean).sum(1) + (self.curvature * left).sum()
        return self.intercept + mean @ self.slopes + bend


@dataclass(frozen=True, eq=False)
class DiscreteGame:
    """Log-odds of a label over categories, from a table of all conditional probabilities.

    Attributes
    ----------
    levels : tuple of str
        The levels of every column, L of them.
    log_odds : ndarray, d axes of length L + 1
        v(S) for every x_S; index L on an axis means that the feature is unknown.
    """

    levels: tuple[str, ...]
    log_odds: Floats

    @classmethod
    def from_joint(cls, levels: tuple[str, ...], zeros: Floats, ones: Floats) -> DiscreteGame:
        """Marginalise the joint probabilities p(x, y = 0) and p(x, y = 1) over every feature set.

        logit E[y | x_S] = log Σ_R p(x_S, x_R, 1) - log Σ_R p(x_S, x_R, 0).

        Shape: zeros, ones: d axes of length L → a game with d axes of length L + 1.
        """
        for axis in range(ones.ndim):
            zeros, ones = (
                np.concatenate([p, p.sum(axis, keepdims=True)], axis) for p in (zeros, ones)
            )
        return cls(levels, np.log(ones) - np.log(zeros))

    def read(self, rows: pd.DataFrame) -> Floats:
        """Return the number of each level, [n, d]; NaN: missing."""
        index = pd.Index(self.levels)
        codes = np.column_stack([index.get_indexer(pd.Index(rows[name])) for name in rows])
        unseen = (codes < 0) & rows.notna().to_numpy()
        if unseen.any():
            found = sorted({str(cell) for cell in rows.to_numpy()[unseen]})
            raise InvalidInputError(
                f"rows must hold the levels {list(self.levels)}, got {found}; "
                "take rows of this table, or of one made with the same levels"
            )
        return np.where(codes < 0, np.nan, codes)

    def value(self, cells: Floats, known: Masks) -> Floats:
        """Return logit E[y | x_S] by looking it up: [n, d], [d] → [n]."""
        index = np.where(known, cells, len(self.levels)).astype(np.int64)
        return self.log_odds[tuple(index.T)]
