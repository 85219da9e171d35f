"""The meaning of a target that is not predicted by its mean: rates, quantiles, robust locations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length

from sasanet.arrays import Floats
from sasanet.errors import InvalidInputError
from sasanet.objectives import HUBER, POWERS, check_rates
from sasanet.table.target import (
    Target,
    above,
    check_size,
    read_numbers,
    read_quantities,
    unit_of,
    within,
)
from sasanet.validation import our_refusals

_LEAST_GAP = 1e-3  # spreads: between quantiles that ties make equal
_NORMAL_QUARTILES = 1.349  # their distance in standard deviations
_ROUNDS, _CLOSE = 100, 1e-9  # of Huber's location: it moves by less than this in spreads


def read_quantity(y: Any, weights: Floats, objective: str, quantiles: Sequence[float]) -> Target:
    """Learn what a target means to an objective.

    Examples
    --------
    >>> read_quantity([0, 2, 1], np.ones(3), "poisson", ()).units
    'log rate'
    """
    if objective == "squared":
        return read_quantities(y, weights)
    if objective in POWERS:
        return _read_rates(y, weights, objective)
    y = read_numbers(y)
    check_size(y)
    unit = unit_of(y)  # a power of two: no digit is lost
    if objective == "huber":
        return _read_robust(y / unit, weights, unit)
    return _read_quantiles(y / unit, weights, unit, quantiles)


def _read_rates(y: Any, weights: Floats, objective: str) -> Target:
    """Learn the logarithm of the mean; the network reads rates relative to it."""
    y = read_numbers(y)
    check_size(y)
    check_rates(y, objective)
    unit = unit_of(y)
    mean = float(np.average(y / unit, weights=weights))
    if mean <= 0:
        raise InvalidInputError(
            f"y must be above 0 in some row that counts for objective={objective!r}, got only 0"
        )
    base = math.log(mean) + math.log(unit)
    numbers = above(within(y / unit / mean), objective)
    return Target("regression", (base,), 1.0, (), numbers, objective)


def _read_robust(y: Floats, weights: Floats, unit: float) -> Target:
    """Learn Huber's location and the spread that his loss bends at."""
    scale = _spread(y, weights)
    location = float(weighted_quantiles(y, weights, (0.5,))[0])
    for _ in range(_ROUNDS):  # as the mean of rows that count the less the further they lie
        distance = np.maximum(np.abs(y - location) / (HUBER * scale), 1.0)
        moved = float(np.average(y, weights=weights / distance))
        done, location = abs(moved - location) < _CLOSE * scale, moved
        if done:
            break
    numbers = within((y - location) / scale)
    return Target("regression", (location * unit,), scale * unit, (), numbers, "huber")


def _read_quantiles(y: Floats, weights: Floats, unit: float, quantiles: Sequence[float]) -> Target:
    """Learn the quantiles of all rows; those that ties make equal are moved apart a little."""
    scale = _spread(y, weights)
    found = weighted_quantiles(y, weights, quantiles).tolist()
    middle = len(found) // 2
    for k in range(middle + 1, len(found)):
        found[k] = max(found[k], found[k - 1] + _LEAST_GAP * scale)
    for k in reversed(range(middle)):
        found[k] = min(found[k], found[k + 1] - _LEAST_GAP * scale)
    numbers = within((y - found[middle]) / scale)
    base = tuple(one * unit for one in found)
    return Target(
        "regression", base, scale * unit, (), numbers, "quantile", tuple(map(float, quantiles))
    )


def _spread(y: Floats, weights: Floats) -> float:
    """Return the distance of the quartiles in standard deviations of a normal target.

    Outliers hardly move it. Where half of the rows are equal, the standard deviation stands in.
    """
    low, high = weighted_quantiles(y, weights, (0.25, 0.75))
    mean = float(np.average(y, weights=weights))
    deviation = math.sqrt(float(np.average((y - mean) ** 2, weights=weights)))
    for scale in (float(high - low) / _NORMAL_QUARTILES, deviation):
        if scale > 1e-12 * abs(mean):
            return scale
    return 1.0


def weighted_quantiles(y: Floats, weights: Floats, levels: Sequence[float]) -> Floats:
    """Return the smallest values below or at which such shares of the weights lie.

    Examples
    --------
    >>> weighted_quantiles(np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 2.0]), (0.25, 0.5))
    array([1., 2.])
    """
    order = np.argsort(y, kind="stable")
    order = order[weights[order] > 0]
    share = np.cumsum(weights[order])
    places = np.searchsorted(share, np.asarray(levels) * share[-1] * (1 - 1e-12))
    return np.asarray(y[order[places.clip(max=len(order) - 1)]])


# --- exposure: labels per unit of what was observed -----------------------------------------------


def read_exposure(exposure: Any, rows: Any) -> Floats:
    """Return the exposure of every row, (n,), or refuse what no rate can be divided by."""
    with our_refusals():
        check_consistent_length(rows, exposure)
        found = np.asarray(exposure)
    try:
        numbers = np.asarray(found, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.array([np.nan])
    if numbers.ndim != 1 or not np.isfinite(numbers).all() or (numbers <= 0).any():
        worst = numbers.min() if numbers.ndim == 1 and numbers.size else found.shape
        raise InvalidInputError(
            f"exposure must hold one finite number above 0 for each row, got a smallest of {worst}"
            "; leave rows that were not observed out"
        )
    return numbers


def per_exposure(y: Any, weights: Any, exposure: Any) -> tuple[Floats, Floats]:
    """Return rates and their weights: two (n,).

    Counts of e years are learned as y / e with weight e, and so are amounts: of a sum of e
    independent parts with mean μ and variance φ μ^p the mean has variance φ μ^p / e.

    Examples
    --------
    >>> per_exposure([1, 3], None, [0.5, 2])
    (array([2. , 1.5]), array([0.5, 2. ]))
    """
    amounts = read_exposure(exposure, y)
    own = np.ones(len(amounts)) if weights is None else np.asarray(weights, dtype=np.float64)
    with our_refusals():
        check_consistent_length(own, amounts)
    return read_numbers(y) / amounts, own * amounts
