"""Rows that can be trained on: shuffled, cut into batches, and found again after an interruption.

The order of an epoch depends on the generator's state at its beginning alone, so that a fit that
goes on from a checkpoint meets the same batches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import torch
from torch import Tensor


class Batchable(Protocol):
    """Rows the loop can go through; the loss knows what is in a batch."""

    def __len__(self) -> int: ...

    def batches(self, size: int, generator: torch.Generator, skip: int = 0) -> Iterator[Any]:
        """Yield the rows once, shuffled, so many at a time, but for the first ``skip`` batches.

        Whatever the order needs is drawn before the first batch.
        """
        ...


class Indexable(Protocol):
    """Rows in memory."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: Tensor | slice) -> Self: ...

    @property
    def device(self) -> torch.device:
        """Where the rows are."""
        ...


def shuffled_batches(
    rows: Indexable, size: int, generator: torch.Generator, skip: int
) -> Iterator[Indexable]:
    """Yield rows in memory once, in random order."""
    order = torch.randperm(len(rows), generator=generator)
    return _cut(rows, order, size, skip)


def _cut(rows: Indexable, order: Tensor, size: int, skip: int) -> Iterator[Indexable]:
    for start in range(skip * size, len(rows), size):
        yield rows[order[start : start + size].to(rows.device)]


@dataclass(frozen=True)
class Augmented:
    """Rows mixed from two, k for each row: cells [n, k, N], targets [n, k] (or [n, k, C]).

    ``share`` is theirs of the loss of complete rows.
    """

    cells: Tensor
    targets: Tensor
    share: float

    def __getitem__(self, index: Tensor | slice) -> Augmented:
        return Augmented(self.cells[index], self.targets[index], self.share)

    def draw(self, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Return one of the k for each row: cells [n, N], targets [n] (or [n, C])."""
        n_rows, count = self.cells.shape[:2]
        one = torch.randint(count, (n_rows,), generator=generator).to(self.cells.device)
        every = torch.arange(n_rows, device=self.cells.device)
        return self.cells[every, one], self.targets[every, one]


@dataclass(frozen=True)
class CellRows:
    """Encoded rows on one device: cells [n, N] (NaN absent), and in further fields more of each."""

    cells: Tensor

    def __len__(self) -> int:
        return len(self.cells)

    def __getitem__(self, index: Tensor | slice) -> Self:
        return replace(self, **{k: v[index] for k, v in vars(self).items() if v is not None})

    def batches(self, size: int, generator: torch.Generator, skip: int = 0) -> Iterator[Any]:
        """Yield the rows once, shuffled."""
        return shuffled_batches(self, size, generator, skip)

    @property
    def device(self) -> torch.device:
        """Where the rows are."""
        return self.cells.device

    @property
    def present(self) -> Tensor:
        """Which cells are present: [n, N] bool."""
        return ~self.cells.isnan()


@dataclass(frozen=True)
class Rows(CellRows):
    """Encoded rows with their labels: targets [n], weights [n].

    ``augmented`` may hold further rows for each, whose targets are predictions of teachers.
    """

    targets: Tensor
    weights: Tensor
    augmented: Augmented | None = None
