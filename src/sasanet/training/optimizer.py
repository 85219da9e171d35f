"""Gradient clipping and AdamW, without the overhead of torch's classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.optim.adamw import adamw

_BETAS, _EPSILON = (0.9, 0.99), 1e-8
_STATE = ("mean", "square", "count")  # of each parameter


def clip_gradients(learned: Sequence[nn.Parameter], longest: float) -> None:
    """Shorten the gradient of all parameters together to a length of at most ``longest``.

    torch's own does the same, and touches every gradient even where there is nothing to shorten.
    """
    gradients = [p.grad for p in learned if p.grad is not None]
    lengths = torch.stack([torch.linalg.vector_norm(gradient) for gradient in gradients])
    length = torch.linalg.vector_norm(lengths).item()  # one wait for the device, not one for each
    if length > longest:
        for gradient in gradients:
            gradient.mul_(longest / length)


@dataclass
class _Moments:
    """One parameter, the running means of its gradient and of its square, its count of steps."""

    parameter: nn.Parameter
    mean: Tensor
    square: Tensor
    count: Tensor

    @property
    def gradient(self) -> Tensor:
        """The gradient of a parameter that has one."""
        assert self.parameter.grad is not None
        return self.parameter.grad


class AdamW:
    """Adam with decoupled weight decay: torch's function, without torch's class around it.

    The class imports torch's compiler at its first step, for which a first fit waits a second or
    two, and in small networks spends longer on its hooks than on the arithmetic.

    Parameters
    ----------
    groups : sequence of (parameters, weight decay)
    """

    def __init__(self, groups: Sequence[tuple[Sequence[nn.Parameter], float]]) -> None:
        self.groups = [([_start(p) for p in learned], decay) for learned, decay in groups]

    def zero_grad(self) -> None:
        """Drop the gradients of the last batch."""
        for group, _ in self.groups:
            for moments in group:
                moments.parameter.grad = None

    def state(self) -> dict[str, Tensor]:
        """Return all that the next step depends on, beside parameters and gradients."""
        every = [moments for group, _ in self.groups for moments in group]
        return {
            f"{number}.{name}": getattr(moments, name)
            for number, moments in enumerate(every)
            for name in _STATE
        }

    def load(self, state: Mapping[str, Tensor]) -> None:
        """Go on from what :meth:`state` returned."""
        for name, tensor in self.state().items():
            tensor.copy_(state[name])

    @torch.no_grad()
    def step(self, rate: float) -> None:
        """Move every parameter that has a gradient."""
        for group, decay in self.groups:
            moved = [moments for moments in group if moments.parameter.grad is not None]
            if not moved:
                continue
            adamw(
                [moments.parameter for moments in moved],
                [moments.gradient for moments in moved],
                [moments.mean for moments in moved],
                [moments.square for moments in moved],
                [],
                [moments.count for moments in moved],
                fused=_has_fused(moved[0].parameter),
                amsgrad=False,
                beta1=_BETAS[0],
                beta2=_BETAS[1],
                lr=rate,
                weight_decay=decay,
                eps=_EPSILON,
                maximize=False,
            )


def _start(parameter: nn.Parameter) -> _Moments:
    mean, square = (torch.zeros_like(parameter, requires_grad=False) for _ in range(2))
    # The fused kernel reads the count on the device, the others on the host.
    count = torch.zeros((), device=parameter.device if _has_fused(parameter) else "cpu")
    return _Moments(parameter, mean, square, count)


def _has_fused(parameter: nn.Parameter) -> bool:
    return parameter.device.type in ("cpu", "cuda")
