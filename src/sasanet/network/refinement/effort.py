"""How much effort was asked for, and how many coalitions that makes.

An effort is a number of orders of the features, each worth as many evaluations of v as it has
prefixes, or (a float) the standard error to reach. Sizes: B rows, m present players, K outputs.
"""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import torch
from torch import Tensor

from sasanet.errors import InvalidInputError, RefinementWarning, warn_user
from sasanet.validation import check_integer

FOLDS = 4  # parts of a block of pairs: each is corrected by what was fitted to the others
MOST_PAIRS = 2_048  # of a block
FEWEST_PAIRS = 64  # for a standard error of its own
_PILOT_PAIRS = 256  # enough to plan with: a small pilot may look too good by chance
_FEWEST_ORDERS = 4
_MOST_ORDERS = 10_000
_MARGIN = 1.1  # a standard error is itself an estimate: aim a little lower than asked


def read_effort(n_orders: Any, max_error: Any) -> int | float | None:
    """Return how to refine: a number of orders, a standard error to reach, or not at all."""
    if max_error is None:
        remedy = "omit it for the plain explanation"
        number = check_integer("n_orders", n_orders, 0, None, remedy)
        if 0 < number < _FEWEST_ORDERS:
            check_integer("n_orders", n_orders, _FEWEST_ORDERS, None, remedy)
        return number or None
    real = isinstance(max_error, Real) and not isinstance(max_error, bool)
    if n_orders != 0 or not real or not 0 < float(max_error) < math.inf:
        raise InvalidInputError(
            "max_error must be a number above 0, without n_orders beside it, "
            f"got max_error={max_error!r} and n_orders={n_orders!r}; give one of the two"
        )
    return float(max_error)


def first_pairs(effort: int | float, n_players: int) -> int:
    """Return the number of pairs of coalitions to draw first: all of them, or a pilot."""
    if isinstance(effort, float):
        return _PILOT_PAIRS
    return max(FEWEST_PAIRS, effort * (n_players - 1) // 2)


def more_pairs(
    count: Tensor, drawn: Tensor, combined: Tensor, target: float, n_players: int
) -> Tensor:
    """Return how many more pairs each row needs to reach a standard error.

    The variances of draws and formula combine as 1/e² = 1/σ² + 1/τ², and only σ² shrinks with the
    number of draws. That number is fixed before the next draws: stopping as soon as the error
    happens to look small would bias the standard error.

    Shape: count [B], drawn (σ of the draws so far), combined (e) [B, m, K] → [B] long.
    """
    by_formula = (combined.square().reciprocal() - drawn.square().reciprocal()).clamp_min(0)
    wanted = ((_MARGIN / target) ** 2 - by_formula).clamp_min(0)
    needed = count * (wanted * drawn.square()).nan_to_num().flatten(1).amax(1)
    short = combined.flatten(1).amax(1) > target
    most = _MOST_ORDERS * (n_players - 1) // 2
    more = torch.where(short, needed.clamp_max(most) - count, 0.0).clamp_min(0)
    return (more / _PILOT_PAIRS).ceil().long() * _PILOT_PAIRS  # few numbers: rows draw together


def blocks(pairs: int) -> list[int]:
    """Return the sizes of the equal blocks, of whole folds, that so many pairs make."""
    number = math.ceil(pairs / MOST_PAIRS)
    return [math.ceil(pairs / number / FOLDS) * FOLDS] * number


def warn_of_larger_errors(errors: Tensor, target: float) -> None:
    """Warn if rows did not reach the standard error that was asked for."""
    largest = errors.flatten(1).amax(1)
    if (missed := int((largest > target).sum())) > 0:
        warn_user(
            f"{missed} of {len(errors)} rows did not reach max_error within {_MOST_ORDERS:,} "
            f"orders: their standard errors are up to {float(largest.max() / target):.3g} times as "
            "large; see error_std, or ask for a larger max_error.",
            RefinementWarning,
        )
