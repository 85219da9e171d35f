"""In which columns the output may only rise or only fall: ``monotonic_cst``, read and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from reprlib import repr as short
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sasanet.errors import InvalidInputError
from sasanet.network.architecture import Architecture, can_be_monotone
from sasanet.table.columns import name_of_kind
from sasanet.table.encoder import TableEncoder

MonotonicCst = Mapping[str, int] | Sequence[int] | NDArray[Any] | None
_DIRECTIONS = "-1 (falling), 0 (free) and 1 (rising)"


def read_constraints(given: Any) -> dict[Any, int]:
    """Return the direction of every column that is named, or of every position.

    Examples
    --------
    >>> read_constraints({"age": 1})
    {'age': 1}
    >>> read_constraints([0, -1])
    {0: 0, 1: -1}
    """
    if given is None:
        return {}
    listed = isinstance(given, np.ndarray) and given.ndim == 1
    if not isinstance(given, Mapping | list | tuple) and not listed:
        raise InvalidInputError(
            "monotonic_cst must be None, a dict from column names to directions, or one direction "
            f"per column, got {short(given)}"
        )
    pairs = given.items() if isinstance(given, Mapping) else enumerate(given)
    found = {}
    for key, direction in pairs:
        whole = isinstance(direction, Integral) and not isinstance(direction, bool)
        if not whole or int(direction) not in (-1, 0, 1):
            raise InvalidInputError(
                f"monotonic_cst must hold {_DIRECTIONS}, got {short(direction)} for {short(key)}"
            )
        found[key] = int(direction)
    return found


def check_network(given: Any, architecture: Architecture) -> None:
    """Refuse constraints on a network whose weights cannot keep them."""
    if not any(read_constraints(given).values()):
        return
    arch = architecture
    if not can_be_monotone(arch):
        raise InvalidInputError(
            "monotonic_cst needs a network with marginal='set', numbers='knots' and activation "
            f"'relu' or 'leaky_relu', got {arch.marginal!r}, {arch.numbers!r} and "
            f"{arch.activation!r}; use network='set'"
        )


def find_directions(given: Any, encoder: TableEncoder, task: str) -> tuple[int, ...]:
    """Return the direction of every column, empty if all are free; refuse what cannot be kept."""
    constraints = read_constraints(given)
    n_columns = len(encoder.columns)
    if not isinstance(given, Mapping | None) and len(constraints) != n_columns:
        raise InvalidInputError(
            f"monotonic_cst must hold one direction for each of the {n_columns} columns, got "
            f"{len(constraints)}; give a dict from names to directions to name a few"
        )
    positions: dict[Any, int] = {name: place for place, name in enumerate(encoder.names)}
    if not encoder.named:  # the columns of an array are known by their positions
        positions |= {place: place for place in range(n_columns)}
    directions = [0] * n_columns
    for key, direction in constraints.items():
        place = key if not isinstance(given, Mapping) else positions.get(key)
        if place is None:
            raise InvalidInputError(
                f"monotonic_cst must name columns of X, got {key!r}; choose from "
                f"{short(list(encoder.names))}"
            )
        directions[place] = direction
    if not any(directions):
        return ()
    _check_kinds(directions, encoder, task)
    return tuple(directions)


def _check_kinds(directions: list[int], encoder: TableEncoder, task: str) -> None:
    """Refuse directions of what has no order, columns or classes."""
    for direction, column in zip(directions, encoder.columns, strict=True):
        if direction and column.kind != "number":
            raise InvalidInputError(
                f"monotonic_cst must be 0 for columns that are no numbers, got {direction} for "
                f"{column.name!r}, a {name_of_kind(column.kind)}; give its order as "
                "numbers, or leave it out"
            )
    if task == "multiclass":
        raise InvalidInputError(
            "monotonic_cst needs a regression or two classes, got more classes; make one class "
            "against the others of them, or leave it out"
        )
