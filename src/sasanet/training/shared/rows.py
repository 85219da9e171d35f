"""The rows of one worker, in as many batches as those of the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any, Protocol

import torch

from sasanet.errors import InvalidInputError
from sasanet.training.rows import Batchable, Rows


class SomeRows(Batchable, Protocol):
    """Rows that can also be read by their places."""

    def __getitem__(self, index: Any) -> Rows: ...


@dataclass(frozen=True)
class SharedRows:
    """What one worker trains on; its length is that of the whole table.

    A batch of all workers together has the size that is asked for, and each gives its part of it.
    A worker without rows left gives one that does not count until the others are through as well.
    """

    own: SomeRows
    counts: Sequence[int]  # rows of every worker
    rank: int

    def __len__(self) -> int:
        return sum(self.counts)

    def batches(self, size: int, generator: torch.Generator, skip: int = 0) -> Iterator[Rows]:
        """Yield this worker's part of every batch of an epoch."""
        if size < len(self.counts):
            raise InvalidInputError(
                f"batch_size must be at least {len(self.counts)}, one row for each worker, got "
                f"{size}; raise it, or take fewer workers"
            )
        sizes = part_sizes(size, len(self.counts))
        n_batches = max(map(ceil, (c / s for c, s in zip(self.counts, sizes, strict=True))))
        mine = self.own.batches(sizes[self.rank], generator, skip)
        return self._filled(mine, n_batches - skip)

    def _filled(self, batches: Iterator[Rows], n_batches: int) -> Iterator[Rows]:
        given = 0
        for batch in batches:
            yield batch
            given += 1
        for _ in range(given, n_batches):
            row = self.own[slice(0, 1)]
            yield replace(row, weights=torch.zeros_like(row.weights))


def part_sizes(size: int, n_workers: int) -> list[int]:
    """Return how many rows of a batch each worker gives.

    Examples
    --------
    >>> part_sizes(512, 3)
    [171, 171, 170]
    """
    return [size // n_workers + (rank < size % n_workers) for rank in range(n_workers)]
