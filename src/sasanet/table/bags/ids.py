"""Ids: categories of more levels than a table of vectors could hold in bounded memory.

Each id falls into one bucket of each of two hashes, so that its vector is the sum of two; the most
frequent ids have a vector of their own besides. An id never seen in training has the vectors of its
buckets, which are means over the ids of training that share them.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sasanet.table.columns import Column
from sasanet.table.reading import Level, read_levels

MOST_LEVELS = 50_000  # of a category; beyond it a column is one of ids
N_BUCKETS = 4_096  # of each hash
N_FREQUENT = 16_384  # ids with a vector of their own
_LEAST = 2  # rows that such an id has
HASHES = ("hash 1", "hash 2")


def id_column(name: str, counts: Mapping[Level, int], min_count: int) -> Column:
    """Return a column of ids: two hashes, and the ids that most rows have."""
    least = max(min_count, _LEAST)
    often = [(-count, str(level)) for level, count in counts.items() if count >= least]
    frequent = tuple(sorted(level for _, level in sorted(often)[:N_FREQUENT]))
    hashes = [Column(part, "category", tuple(range(N_BUCKETS))) for part in HASHES]
    own = [Column("id", "category", frequent)] if frequent else []
    return Column(name, "ids", parts=(*hashes, *own))


def buckets_of(level: Level) -> tuple[int, int]:
    """Return the bucket of an id in each hash.

    Examples
    --------
    >>> buckets_of("customer 4711")
    (598, 2954)
    """
    digest = blake2b(str(level).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    number = int.from_bytes(digest, "big")
    return number % N_BUCKETS, number // N_BUCKETS % N_BUCKETS


def places(series: pd.Series, column: Column) -> NDArray[np.float32]:
    """Return the places of all parts: (n, parts), NaN where an id has no vector of its own."""
    codes, levels = read_levels(series, column.name)
    own = column.parts[len(HASHES)].levels if len(column.parts) > len(HASHES) else ()
    known = {level: place for place, level in enumerate(own, start=1)}
    found = np.full((len(levels) + 1, len(column.parts)), np.nan, dtype=np.float32)
    for row, level in zip(found, levels, strict=False):  # the last row is for missing cells
        row[:2] = buckets_of(level)
        row[:2] += 1  # place 0 is for unseen levels, of which a hash has none
        if own:
            row[2] = known.get(str(level), np.nan)
    return found[codes]
