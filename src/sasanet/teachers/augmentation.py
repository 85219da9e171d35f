"""Rows mixed from two, for teachers to label: a small table has too few to learn a function from.

Teachers generalise in ways a network does not (trees by rectangles, splines by sums), and what they
know between the rows is lost on a network that only learns what they say of these rows. So every
row gets some mixed ones, of which each cell is its own or that of another row, and whose labels are
the stacked predictions of teachers fitted on all rows.

Sizes: n rows, N features, k mixed rows for each.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sasanet.arrays import Floats
from sasanet.teachers.data import TeacherData

_SWAPPED = 0.5  # of the cells
_MOST_FOR_EACH = 8  # mixed rows for each row
_ENOUGH = 40_000  # mixed rows, which teachers predict in seconds
_MOST_CELLS = 2**24  # of all of them: 64 MiB


def how_many(cells: NDArray[np.float32]) -> int:
    """Return how many mixed rows each row gets: none where even one would take much memory."""
    count = min(_MOST_FOR_EACH, max(1, _ENOUGH // len(cells)))
    return min(count, _MOST_CELLS // cells.size)


def mix_rows(cells: NDArray[np.float32], count: int, seed: int) -> NDArray[np.float32]:
    """Return rows with about half of their cells from one other row each: [n, N] → [k n, N]."""
    random = np.random.RandomState(seed)
    mixed = np.tile(cells, (count, 1))
    others = cells[random.randint(len(cells), size=len(mixed))]
    swapped = random.rand(*mixed.shape) < _SWAPPED
    mixed[swapped] = others[swapped]
    return mixed


def with_rows(data: TeacherData, cells: NDArray[np.float32]) -> TeacherData:
    """Return the data with further rows, which have neither label nor weight."""
    none = np.zeros(len(cells))
    return replace(
        data,
        cells=np.concatenate([data.cells, cells]),
        labels=np.concatenate([data.labels, none]),
        weights=np.concatenate([data.weights, none]),
    )


def by_row(values: Floats, n_rows: int) -> Floats:
    """Return what belongs to each row together: [k n, …] → [n, k, …]."""
    return np.ascontiguousarray(values.reshape(-1, n_rows, *values.shape[1:]).swapaxes(0, 1))
