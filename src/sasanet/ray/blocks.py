"""The blocks of a Ray Dataset, shared out to workers: the same rows to the same worker every time.

Ray's own shards may differ from one reading to the next; a fit reads its rows twice, and once more
after a worker was replaced.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from sasanet.errors import InvalidInputError, need_package
from sasanet.table.reading import arrow_to_pandas
from sasanet.table.sources import Source, check_has_columns

_FEWEST_ROWS = 100  # of a worker


@dataclass(frozen=True)
class Block:
    """Some rows of one block, which lies in Ray's object store."""

    ref: Any
    start: int  # rows of the block before it
    n_rows: int
    first_row: int

    def frames(self, columns: Sequence[str] | None, n_rows: int) -> Iterator[pd.DataFrame]:
        """Yield its rows in order, at most so many at once."""
        table = need_package("ray", "ray").get(self.ref)
        table = table.select(list(columns)) if columns is not None else table
        for start in range(self.start, self.start + self.n_rows, n_rows):
            size = min(n_rows, self.start + self.n_rows - start)
            yield arrow_to_pandas(table.slice(start, size).replace_schema_metadata(None))


def shares(dataset: Any, n_workers: int) -> list[tuple[Block, ...]]:
    """Return the rows of every worker, as many for each, in the dataset's order."""
    ray = need_package("ray", "ray")
    options = dataset.context.execution_options
    before, options.preserve_order = options.preserve_order, True
    try:
        refs = dataset.to_arrow_refs()
    finally:
        options.preserve_order = before
    sizes = ray.get([ray.remote(_n_rows).remote(ref) for ref in refs])
    total = sum(sizes)
    if total < _FEWEST_ROWS * n_workers:
        raise InvalidInputError(
            f"A dataset must have {_FEWEST_ROWS} rows for each of {n_workers} workers, got "
            f"{total}; take fewer workers, or model.fit in one process."
        )
    ends = [total * (rank + 1) // n_workers for rank in range(n_workers)]
    return [
        tuple(_between(refs, sizes, start, end))
        for start, end in zip([0, *ends], ends, strict=False)
    ]


def _n_rows(table: Any) -> int:
    return int(table.num_rows)


def _between(refs: Sequence[Any], sizes: Sequence[int], start: int, end: int) -> Iterator[Block]:
    """Yield the blocks, or parts of them, that hold the rows from start to end."""
    first = 0
    for ref, size in zip(refs, sizes, strict=True):
        low, high = max(start, first), min(end, first + size)
        if low < high:
            yield Block(ref, low - first, high - low, low)
        first += size


def as_source(blocks: Sequence[Block], names: Sequence[str]) -> Source:
    """Return a worker's rows as a source."""
    n_rows = sum(block.n_rows for block in blocks)
    return Source(lambda: iter(blocks), tuple(names), n_rows, len(blocks))


def check_columns(dataset: Any, wanted: Sequence[str]) -> list[str]:
    """Return the names of a dataset's columns, which must be among them."""
    found = getattr(dataset, "columns", None)
    if not callable(found) or not hasattr(dataset, "map_batches"):
        raise InvalidInputError(
            f"A dataset must be a Ray Dataset, got {type(dataset).__name__}; make one with "
            "ray.data."
        )
    names = list(found() or ())
    check_has_columns(wanted, names, "The dataset")
    return names
