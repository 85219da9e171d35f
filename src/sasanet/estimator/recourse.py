"""Recourse: the smallest changes of a row that carry its score across a threshold, by search.

All single changes are tried; for more features a beam of the best states is extended, so that the
result is a change that works, verified by the model, and not always the smallest of all.

Sizes: N features, m candidate values, s states.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sasanet.arrays import Floats
from sasanet.errors import InvalidInputError
from sasanet.table.columns import Column
from sasanet.table.encoder import TableEncoder

_BEAM = 64  # states that are extended by another feature
_MOST_VALUES = 32  # of a number: knots, evenly spaced

Changes = Mapping[str, Any]
Cells = NDArray[np.float32]
Score = Callable[[Cells], Floats]  # cells [s, N] → score [s], the lower the better


@dataclass(frozen=True)
class Candidates:
    """The values one feature may take: as the table has them, as cells (m,), and their size."""

    position: int
    values: list[Any]
    cells: Cells
    is_number: bool

    def sizes(self, cell: float) -> Floats:
        """Return how large each change is: a share of the allowed range, or 1 for a category."""
        if not self.is_number:
            return (self.cells != cell).astype(np.float64)
        reach = max(float(np.abs(self.cells - cell).max()), 1e-9)
        return np.asarray(np.abs(self.cells - cell) / reach, dtype=np.float64)


@dataclass(frozen=True)
class State:
    """A changed row: its cells, which value each changed feature takes, and how much changed."""

    cells: Cells
    chosen: tuple[tuple[int, int], ...]  # positions in the list of candidates, and of the value
    size: float


def read_candidates(change: Any, encoder: TableEncoder, table: pd.DataFrame) -> list[Candidates]:
    """Return the values that changeable features may take, or say what is wrong with them.

    ``None`` allows all known levels or knots, a pair of numbers a range, a list its values.
    """
    if not isinstance(change, Mapping) or not change:
        raise InvalidInputError(
            "change must be a dict of the features that may change, got "
            f'{change!r}; for example {{"months": (6, 24), "savings": None}}'
        )
    if unknown := [name for name in change if name not in encoder.names]:
        raise InvalidInputError(
            f"change must name features, got {unknown}; choose from {list(encoder.names)}"
        )
    found = []
    for name, allowed in change.items():
        position = encoder.names.index(name)
        column = encoder.columns[position]
        if column.parts:
            raise InvalidInputError(
                f"change must name numbers or categories, got {name!r}, a column of {column.kind}"
            )
        values = _allowed_values(column, allowed, table.iloc[:, position])
        cells = encoder.place(position, values)
        found.append(Candidates(position, values, cells, column.kind == "number"))
    return found


def _allowed_values(column: Column, allowed: Any, given: pd.Series) -> list[Any]:
    """Return the values to try: levels, or knots inside a range and its ends."""
    if isinstance(allowed, list) and allowed:
        return list(allowed)
    if column.kind == "category" and allowed is None:
        return list(column.levels)
    pair = isinstance(allowed, tuple) and len(allowed) == 2
    pair = pair and all(isinstance(end, Real) and math.isfinite(end) for end in allowed)
    if column.kind != "number" or not (pair or allowed is None):
        raise InvalidInputError(
            f"change must allow {column.name!r} None, a list of values or, for a number, a pair "
            f"(lowest, highest), got {allowed!r}"
        )
    low, high = (column.knots[0], column.knots[-1]) if allowed is None else map(float, allowed)
    if not low <= high:
        raise InvalidInputError(
            f"change must allow {column.name!r} a range from low to high, got {allowed!r}"
        )
    knots = np.array([low, *(knot for knot in column.knots if low < knot < high), high])
    spaced = np.unique(np.linspace(0, len(knots) - 1, _MOST_VALUES).round().astype(int))
    if not pd.api.types.is_integer_dtype(given.dtype):
        return [float(knot) for knot in knots[spaced]]
    whole = np.unique(knots[spaced].round())  # a column of whole numbers keeps them
    return [int(knot) for knot in whole if low <= knot <= high]


def find_changes(
    cells: Cells, candidates: Sequence[Candidates], score: Score, bound: float, max_changes: int
) -> State | None:
    """Return a changed row whose score is below a bound, with as few changes as were found.

    Shape: cells [N].
    """
    states = [State(cells, (), 0.0)]
    for _ in range(max_changes):
        extended = _extended(states, candidates)
        if not extended:
            return None
        scores = score(np.stack([state.cells for state in extended]))
        crossed = [state for state, found in zip(extended, scores, strict=True) if found < bound]
        if crossed:
            best = min(crossed, key=lambda state: state.size)
            return _reduced(best, cells, candidates, score, bound)
        states = [extended[i] for i in np.argsort(scores, kind="stable")[:_BEAM]]
    return None


def _extended(states: Sequence[State], candidates: Sequence[Candidates]) -> list[State]:
    """Return all states with one feature more changed, each once."""
    found: dict[tuple[tuple[int, int], ...], State] = {}
    for state in states:
        taken = {feature for feature, _ in state.chosen}
        for feature, options in enumerate(candidates):
            if feature in taken or np.isnan(state.cells[options.position]):
                continue  # what is missing stays so: there is nothing to change
            for value in range(len(options.values)):
                made = _changed(state, feature, value, options)
                if made is not None:
                    found.setdefault(made.chosen, made)
    return list(found.values())


def _changed(state: State, feature: int, value: int, options: Candidates) -> State | None:
    """Return a state with one feature changed; None if that is no change."""
    before = state.cells[options.position]
    if options.cells[value] == before:
        return None
    cells = state.cells.copy()
    cells[options.position] = options.cells[value]
    size = state.size + float(options.sizes(float(before))[value])
    return State(cells, tuple(sorted([*state.chosen, (feature, value)])), size)


def _reduced(
    state: State, cells: Cells, candidates: Sequence[Candidates], score: Score, bound: float
) -> State:
    """Return the state with every change as small as still crosses the bound, one by one."""
    for feature, _ in state.chosen:
        others = [pair for pair in state.chosen if pair[0] != feature]
        rest = State(cells, (), 0.0)
        for other, value in others:
            rest = _changed(rest, other, value, candidates[other]) or rest
        tried = [
            made
            for value in range(len(candidates[feature].values))
            if (made := _changed(rest, feature, value, candidates[feature])) is not None
        ]
        scores = score(np.stack([made.cells for made in tried]))
        crossed = [made for made, found in zip(tried, scores, strict=True) if found < bound]
        state = min(crossed, key=lambda made: made.size)
    return state
