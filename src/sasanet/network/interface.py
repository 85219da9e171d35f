"""What a network is told of a table, and what it must offer to be trained and asked.

Sizes: B rows, N features, M coalitions, K outputs.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

WHOLE = ("",)  # the part that is everything: torch's name of a module inside itself


class TabularNetwork(nn.Module):
    """A network the training loop can train: encoded cells in, outputs relative to φ0 out."""

    def values(self, cells: Tensor, coalitions: Tensor) -> Tensor:
        """Return the output when only some features are known.

        Shape: cells [B, N], coalitions [B, M, N] bool (absent cells already out) → [B, M, K].
        """
        raise NotImplementedError

    def parts(self, names: Sequence[str]) -> list[nn.Parameter]:
        """Return the parameters of the named modules, each once."""
        named = (self.get_submodule(name) for name in names)
        return list(dict.fromkeys(p for module in named for p in module.parameters()))

    def matrices(self) -> list[Tensor]:
        """Return what weight decay applies to: matrices, never tables or biases."""
        return [module.weight for module in self.modules() if isinstance(module, nn.Linear)]
