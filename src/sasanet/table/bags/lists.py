"""Lists in cells: of text, which are tags, or of as many numbers in every row, which are vectors.

Tags are counted in buckets: each distinct tag of a cell adds one to the bucket that its checksum
names, the same on every computer. A vector is its numbers.
"""

from __future__ import annotations

from reprlib import repr as short
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sasanet.errors import InvalidInputError

N_BUCKETS = 256
_LISTS = (list, tuple, set, frozenset, np.ndarray)
_NUMBERS = (int, float, np.integer, np.floating)


def kind_of_lists(series: pd.Series) -> str:
    """Return "tags", "vectors", or nothing for a column of other cells; refuse other lists.

    Examples
    --------
    >>> kind_of_lists(pd.Series([["new", "sale"], []])), kind_of_lists(pd.Series([[0.5, 1.0]]))
    ('tags', 'vectors')
    """
    if series.dtype != object:
        return ""
    cells = series[series.notna().to_numpy()]
    if not len(cells) or not isinstance(cells.iloc[0], _LISTS):
        return ""
    if not all(isinstance(cell, _LISTS) for cell in cells):
        return ""
    if all(isinstance(tag, str) for cell in cells for tag in cell):
        return "tags"
    length = len(cells.iloc[0])
    if length and all(_is_vector(cell, length) for cell in cells):
        return "vectors"
    other = next(cell for cell in cells if not (length and _is_vector(cell, length)))
    raise InvalidInputError(
        f"Column {series.name!r} must hold lists of text, which are tags, or lists of equally many "
        f"numbers, which are vectors, got {short(cells.iloc[0])} and {short(other)}; make them one "
        "of both, or drop the column."
    )


def _is_vector(cell: Any, length: int) -> bool:
    if isinstance(cell, np.ndarray):
        return cell.shape == (length,) and cell.dtype.kind in "iuf"
    ordered = isinstance(cell, list | tuple) and len(cell) == length
    return ordered and all(isinstance(x, _NUMBERS) and not isinstance(x, bool) for x in cell)


def length_of(series: pd.Series) -> int:
    """Return how many numbers each vector of a training column has."""
    return len(series[series.notna().to_numpy()].iloc[0])


def expand_tags(series: pd.Series, name: str) -> dict[str, pd.Series]:
    """Return how many tags every cell has, and how many in each bucket."""
    found = np.full((len(series), 1 + N_BUCKETS), np.nan, dtype=np.float32)
    for i in np.flatnonzero(series.notna().to_numpy()):
        cell = series.iloc[i]
        if not isinstance(cell, _LISTS) or not all(isinstance(tag, str) for tag in cell):
            raise InvalidInputError(
                f"Column {name!r} must hold lists of text, as in training, got {short(cell)}; "
                "[] is a cell without tags, None a missing one."
            )
        buckets = [crc32(tag.encode("utf-8", "surrogatepass")) % N_BUCKETS for tag in {*cell}]
        found[i, 0] = len(buckets)
        found[i, 1:] = np.bincount(buckets, minlength=N_BUCKETS) if buckets else 0
    return _named(found, ["number of tags", *(f"bucket {b}" for b in range(N_BUCKETS))])


def expand_vectors(series: pd.Series, name: str, length: int) -> dict[str, pd.Series]:
    """Return the numbers of every vector, one part for each."""
    found = np.full((len(series), length), np.nan)
    for i in np.flatnonzero(series.notna().to_numpy()):
        cell = series.iloc[i]
        if not _is_vector(cell, length) or not np.isfinite(np.asarray(cell, dtype=float)).all():
            raise InvalidInputError(
                f"Column {name!r} must hold lists of {length} finite numbers, as in training, got "
                f"{short(cell)}; None is a missing one."
            )
        found[i] = cell
    return _named(found, [str(j) for j in range(length)])


def _named(values: NDArray[Any], names: list[str]) -> dict[str, pd.Series]:
    return {name: pd.Series(column) for name, column in zip(names, values.T, strict=True)}
