"""What depends on a network's weights alone, computed once and kept until these change.

The table of all cell vectors, for one, is the same for every row: a call that explains one row
would spend most of its time making it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

Made = TypeVar("Made")
_MOST_NUMBERS = 2**24  # 64 MB: beyond it a second copy of a table costs more memory than time


class Memo:
    """Keep one result while the tensors it was made from stay the same.

    A tensor is the same when its memory, type and version are; in-place operations of torch raise
    the version. The one exception is the fused step of an optimizer, so a module also calls
    :meth:`clear` whenever its mode changes (:class:`RemembersTables`). Copies and pickles of a memo
    are empty.
    """

    def __init__(self) -> None:
        self._kept: tuple[Any, Any] | None = None

    def get(self, sources: Iterable[Tensor], make: Callable[[], Made]) -> Made:
        """Return what was made from these tensors, or make it now."""
        marks = tuple(_mark(tensor) for tensor in sources)
        kept = self._kept  # read once: another thread may replace it
        if kept is not None and kept[0] == marks:
            found: Made = kept[1]
            return found
        made = make()
        if None not in marks:
            self._kept = marks, made
        return made

    def clear(self) -> None:
        """Forget the result."""
        self._kept = None

    def __reduce__(self) -> tuple[type[Memo], tuple[()]]:
        return Memo, ()


def _mark(tensor: Tensor) -> tuple[Any, ...] | None:
    """Return what changes when a tensor does; ``None`` of one that does not count its versions."""
    if tensor.is_inference() or tensor.numel() > _MOST_NUMBERS:
        return None
    return tensor.data_ptr(), tensor._version, tensor.dtype, tensor.device, tensor.shape


class RemembersTables(nn.Module):
    """A module with memos: used in evaluation without gradients, emptied when the mode changes."""

    def __init__(self) -> None:
        super().__init__()
        self.memos: dict[str, Memo] = {}

    def remembered(self, name: str, sources: Iterable[Tensor], make: Callable[[], Made]) -> Made:
        """Return what ``make`` returns; while nothing is learned, computed once."""
        if self.training or torch.is_grad_enabled():
            return make()
        return self.memos.setdefault(name, Memo()).get(sources, make)

    def train(self, mode: bool = True) -> RemembersTables:
        """Switch the mode as torch does, and forget what was computed from the weights."""
        self.memos.clear()
        super().train(mode)
        return self
