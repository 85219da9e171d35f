"""Rows mixed from two, for teachers to label: a small table has too few to learn a function from.

Teachers generalise in ways a network does not (trees by rectangles, splines by sums), and what they
know between the rows is lost on a network that only learns what they say of the rows themselves. So
every row gets some mixed ones, of which each cell is its own or that of another row, and whose
labels are the stacked predictions of teachers fitted on all rows.

The cells of a mixed row do not go together, so it says nothing of E[y | x_S] for any S but all
features: only its complete row is learned from (:mod:`sasanet.training.sasanet_losses`).

Sizes: n rows, N features, k mixed rows for each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sasanet.teachers.data import TeacherData

Kind = TypeVar("Kind", bound=np.generic)
_SWAPPED = 0.5  # of the cells
_FOR_EACH = 8  # mixed rows for each row; half as many are nearly as good
_MANY = 10_000  # rows, from which nothing was gained on any table
_FEW = 2_500  # rows, up to which mixed rows count as much as the table's own
_MOST_CELLS = 2**24  # of all mixed rows: 64 MiB


def how_many(cells: NDArray[np.float32]) -> int:
    """Return how many mixed rows each row gets: none of a table that is large or very wide."""
    return 0 if len(cells) >= _MANY else min(_FOR_EACH, _MOST_CELLS // max(1, cells.size))


def mixed_share(n_rows: int) -> float:
    """Return what mixed rows are of the loss of complete rows: the less, the more rows there are.

    The error of teachers stays in these rows however often they are drawn; a table's own labels
    average it away.
    """
    return 0.5 * min(1.0, math.sqrt(_FEW / n_rows))


def mix_rows(
    cells: NDArray[np.float32], count: int, seed: int, owners: Sequence[int] = ()
) -> NDArray[np.float32]:
    """Return rows with about half of their columns from one other row each: [n, N] → [k n, N].

    The last cells are further ones of the columns ``owners``, and go where these go.
    """
    random = np.random.RandomState(seed)
    mixed = np.tile(cells, (count, 1))
    others = cells[random.randint(len(cells), size=len(mixed))]
    columns = random.rand(len(mixed), cells.shape[1] - len(owners)) < _SWAPPED
    swapped = np.concatenate([columns, columns[:, list(owners)]], axis=1)
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


def by_row(values: NDArray[Kind], n_rows: int) -> NDArray[Kind]:
    """Return what belongs to each row together: [k n, …] → [n, k, …]."""
    return np.ascontiguousarray(values.reshape(-1, n_rows, *values.shape[1:]).swapaxes(0, 1))
