"""What every network offers to the training loop and to inference.

Sizes: B rows, N features, M coalitions, K outputs.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

WHOLE = ("",)  # the name torch gives to a module within itself: all of it


class TabularNetwork(nn.Module):
    """A network that the training loop can train: encoded cells → outputs relative to φ0."""

    def values(self, cells: Tensor, coalitions: Tensor) -> Tensor:
        """Return the output when only some features are known.

        Shape: cells [B, N], coalitions [B, M, N] bool (without absent cells) → [B, M, K].
        """
        raise NotImplementedError

    def constrain(self) -> None:
        """Move the weights within their bounds, if they have any; called after every step."""

    def present(self, cells: Tensor) -> Tensor:
        """Return which features every row has: here one cell each, [B, N] → [B, N] bool."""
        return ~cells.isnan()

    def parts(self, names: Sequence[str]) -> list[nn.Parameter]:
        """Return the parameters of the named modules, each once."""
        named = (self.get_submodule(name) for name in names)
        return list(dict.fromkeys(p for module in named for p in module.parameters()))

    def matrices(self) -> list[Tensor]:
        """Return the parameters that weight decay applies to: matrices, not tables or biases."""
        return [module.weight for module in self.modules() if isinstance(module, nn.Linear)]
