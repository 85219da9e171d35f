"""What a regressor predicts of a quantity, by the loss that it is fitted to.

========== ======================================= ============================================
objective  prediction                              loss
========== ======================================= ============================================
squared    the mean                                squared error
poisson    the mean, through its logarithm         Poisson deviance: counts per exposure
gamma      the same                                gamma deviance: amounts above 0
tweedie    the same                                Tweedie deviance of power 1.5: amounts, many 0
quantile   quantiles                               pinball loss
huber      a mean that outliers hardly move        squared up to 1.345 spreads, linear beyond
========== ======================================= ============================================
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np
from scipy.special import xlogy

from sasanet.arrays import Floats
from sasanet.errors import InvalidInputError
from sasanet.validation import read_choice

OBJECTIVES = ("squared", "poisson", "gamma", "tweedie", "quantile", "huber")
POWERS = {"poisson": 1.0, "tweedie": 1.5, "gamma": 2.0}  # of the mean, which the variance follows
UNSOFTENED = ("quantile", "huber")  # mixtures with predictions have another spread
HUBER = 1.345  # spreads: 95 % as efficient as the mean where errors are normal (Huber, 1964)
_MOST_QUANTILES = 99


def read_objective(objective: Any, quantile: Any) -> tuple[float, ...]:
    """Check both parameters, and return the quantiles that are predicted: none for a mean.

    Examples
    --------
    >>> read_objective("quantile", [0.1, 0.5, 0.9])
    (0.1, 0.5, 0.9)
    >>> read_objective("poisson", 0.5)
    ()
    """
    read_choice("objective", objective, OBJECTIVES)
    listed = list(quantile) if isinstance(quantile, Sequence | np.ndarray) else [quantile]
    numbers = [float(q) for q in listed if isinstance(q, Real) and not isinstance(q, bool)]
    rising = all(a < b for a, b in pairwise(numbers))
    between = all(0 < q < 1 for q in numbers)
    good = rising and between and len(numbers) == len(listed)
    if not good or not 0 < len(listed) <= _MOST_QUANTILES:
        raise InvalidInputError(
            f"quantile must be a number between 0 and 1, or at most {_MOST_QUANTILES} of them in "
            f"rising order, got {quantile!r:.200}"
        )
    if objective == "quantile":
        return tuple(numbers)
    if listed != [0.5]:
        raise InvalidInputError(
            f"quantile must be left out unless objective='quantile', got {quantile!r:.200} with "
            f"objective={objective!r}"
        )
    return ()


def check_rates(y: Floats, objective: str) -> None:
    """Refuse labels that have no deviance under a log link."""
    if objective == "gamma" and (y <= 0).any():
        raise InvalidInputError(
            f"y must be above 0 for objective='gamma', got a smallest of {y.min():g}; amounts that "
            "may be 0 are for objective='tweedie'"
        )
    if (y < 0).any():
        raise InvalidInputError(
            f"y must be at least 0 for objective={objective!r}, got a smallest of {y.min():g}; "
            "use objective='squared' for numbers of both signs"
        )


def deviance(y: Floats, mean: Floats, power: float) -> Floats:
    """Return the unit deviance of each label under its mean: at least 0, and 0 where they agree.

    Its expectation over y is smallest where ``mean`` is that of y (a Bregman divergence), so labels
    may be softened by means. Powers: 1 Poisson, 1.5 Tweedie, 2 gamma.

    Examples
    --------
    >>> deviance(np.array([0.0, 2.0]), np.array([1.0, 2.0]), 1.0)
    array([2., 0.])
    """
    if power == POWERS["poisson"]:
        return np.asarray(2 * (xlogy(y, y / mean) - y + mean))
    if power == POWERS["gamma"]:
        return np.asarray(2 * (np.log(mean / y) + y / mean - 1))
    root, wanted = np.sqrt(mean), np.sqrt(y)
    return np.asarray(4 * (root - wanted) ** 2 / root)  # of power 1.5


def pinball(y: Floats, found: Floats, quantiles: Sequence[float]) -> Floats:
    """Return the pinball loss of each row, its mean over quantiles: [n], [n, Q] → [n]."""
    missed, levels = y[:, None] - found, np.asarray(quantiles)
    return np.asarray(np.maximum(levels * missed, (levels - 1) * missed).mean(1))


def huber(y: Floats, found: Floats, scale: float) -> Floats:
    """Return the squared error, beyond :data:`HUBER` scales its tangent: [n], [n] → [n]."""
    missed, bend = np.abs(y - found), HUBER * scale
    return np.where(missed <= bend, missed**2, 2 * bend * missed - bend**2)
