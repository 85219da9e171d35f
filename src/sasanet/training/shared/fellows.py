"""What the workers of one training ask each other.

:class:`Alone` is the answer of a training without others, so that no caller has to ask which it is.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn

T = TypeVar("T")


class Alone:
    """A worker without fellows."""

    rank, size = 0, 1

    def clock(self) -> float:
        """Return a time in seconds, the same for all workers between two steps."""
        return time.monotonic()

    def begin(self) -> None:
        """Set the clocks of all workers to the same time."""

    def average(self, parameters: Sequence[nn.Parameter], batch: Any) -> None:
        """Replace gradients by their means over the rows of all workers, by weight."""
        del parameters, batch

    def threads(self) -> int:
        """Return how many threads the first worker may use while the others wait for it."""
        return torch.get_num_threads()

    def once(self, make: Callable[[], T]) -> T:
        """Return what the first worker makes; where it fails, all fail."""
        return make()

    def each(self, make: Callable[[], T]) -> list[T]:
        """Return what every worker makes, in their order; where one fails, all fail."""
        return [make()]

    def fold(self, make: Callable[[], T], merge: Callable[[T, T], None]) -> T:
        """Return what every worker makes, merged into what the first one made."""
        del merge
        return make()


class Workers(Alone):
    """The workers of torch's process group, which exists.

    Objects travel as pickles: all workers belong to one fit.
    """

    def __init__(self, device: torch.device) -> None:
        self.rank, self.size, self.device = dist.get_rank(), dist.get_world_size(), device
        self.time, self.start = 0.0, time.monotonic()

    def clock(self) -> float:
        """Return the first worker's time as of the last step: all go by the same."""
        return self.time

    def begin(self) -> None:
        """Set the clocks of all workers to the same time."""
        dist.barrier()
        self.time, self.start = 0.0, time.monotonic()

    @torch.no_grad()
    def average(self, parameters: Sequence[nn.Parameter], batch: Any) -> None:
        """Replace gradients by their means over the rows of all workers, by weight.

        Each worker's loss is a mean weighted by its rows' weights w, so that of all rows together
        has the gradient Σ_k W_k g_k / Σ_k W_k with W_k = Σ w of worker k. The first worker's time
        travels along: one message a step.
        """
        gradients = [p.grad for p in parameters if p.grad is not None]
        weight = float(batch.weights.sum())
        now = time.monotonic() - self.start if self.rank == 0 else 0.0
        tail = torch.tensor([weight, now], dtype=torch.float32, device=self.device)
        flat = torch.cat([*(weight * g.flatten() for g in gradients), tail])
        dist.all_reduce(flat)
        self.time = max(self.time, float(flat[-1]))
        flat /= flat[-2].clamp_min(1e-12)
        for gradient, mean in zip(gradients, _cut(flat, gradients), strict=True):
            gradient.copy_(mean)

    def threads(self) -> int:
        """Return how many threads the first worker may use while the others wait for it."""
        return min(self.size * torch.get_num_threads(), os.cpu_count() or 1)

    def once(self, make: Callable[[], T]) -> T:
        """Return what the first worker makes; where it fails, all fail."""
        found: list[Any] = [_attempt(make) if self.rank == 0 else None]
        dist.broadcast_object_list(found)
        made: T = _outcome(found)[0]
        return made

    def each(self, make: Callable[[], T]) -> list[T]:
        """Return what every worker makes, in their order; where one fails, all fail."""
        found: list[Any] = [None] * self.size
        dist.all_gather_object(found, _attempt(make))
        return _outcome(found)

    def fold(self, make: Callable[[], T], merge: Callable[[T, T], None]) -> T:
        """Return what every worker makes, merged into what the first one made.

        The first worker holds two of them at a time, however many workers there are.
        """
        mine: list[T] = []
        self.each(lambda: mine.append(make()))
        if self.rank:
            dist.send_object_list(mine, 0)
        return self.once(lambda: self._merged(mine[0], merge))

    def _merged(self, first: T, merge: Callable[[T, T], None]) -> T:
        failed: Exception | None = None
        for rank in range(1, self.size):
            received: list[Any] = [None]
            dist.recv_object_list(received, rank)  # also after a failure: they wait for it
            try:
                if failed is None:
                    merge(first, received[0])
            except Exception as error:
                failed = error
        if failed is not None:
            raise failed
        return first


def _cut(flat: Tensor, like: Sequence[Tensor]) -> list[Tensor]:
    """Return stretches of a vector in the shapes of these tensors."""
    pieces = flat.split([*(one.numel() for one in like), 2])
    return [piece.view_as(one) for piece, one in zip(pieces, like, strict=False)]


def _attempt(make: Callable[[], Any]) -> tuple[Any, Exception | None]:
    try:
        return make(), None
    except Exception as error:  # every worker raises it, and none waits for the others
        return None, error


def _outcome(found: Sequence[tuple[Any, Exception | None]]) -> list[Any]:
    """Return what was made, or raise the first error."""
    for _, error in found:
        if error is not None:
            raise error
    return [made for made, _ in found]
