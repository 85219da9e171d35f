"""Gradients in, moved parameters out: clipping, the learning rate over time, AdamW."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.optim.adamw import adamw

_BETAS, _EPSILON = (0.9, 0.99), 1e-8


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


class Clock:
    """The learning rate: a short warm-up, then half a cosine to zero, in steps or in time."""

    def __init__(self, peak: float, steps: int, warm_up: int, limit: float) -> None:
        self.peak, self.total = peak, steps
        self.warm_up = min(warm_up, max(1, self.total // 10))
        self.start, self.limit = time.monotonic(), limit
        self.step = 0

    def next_rate(self) -> float:
        """Return the rate of the next step."""
        done = self.step / self.total
        done = max(done, (time.monotonic() - self.start) / self.limit)
        self.step += 1
        cosine = 0.5 * (1 + math.cos(math.pi * min(done, 1.0)))
        return self.peak * min(1.0, self.step / self.warm_up) * cosine

    def over(self) -> bool:
        """Tell whether all steps are done, or all the time is gone."""
        # However short the limit, there is one step: an untrained model would pass for a trained.
        out_of_time = self.step > 0 and time.monotonic() > self.start + self.limit
        return self.step >= self.total or out_of_time

    def seconds(self) -> float:
        """Return the seconds since the start."""
        return round(time.monotonic() - self.start, 3)


@dataclass
class _Course:
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

    def forget_gradients(self) -> None:
        """Make room for the gradients of the next batch."""
        for courses, _ in self.groups:
            for course in courses:
                course.parameter.grad = None

    @torch.no_grad()
    def step(self, rate: float) -> None:
        """Move every parameter that has a gradient."""
        for courses, decay in self.groups:
            moved = [course for course in courses if course.parameter.grad is not None]
            if not moved:
                continue
            adamw(
                [course.parameter for course in moved],
                [course.gradient for course in moved],
                [course.mean for course in moved],
                [course.square for course in moved],
                [],
                [course.count for course in moved],
                fused=_has_fused(moved[0].parameter),
                amsgrad=False,
                beta1=_BETAS[0],
                beta2=_BETAS[1],
                lr=rate,
                weight_decay=decay,
                eps=_EPSILON,
                maximize=False,
            )


def _start(parameter: nn.Parameter) -> _Course:
    mean, square = (torch.zeros_like(parameter, requires_grad=False) for _ in range(2))
    # The fused kernel reads the count on the device, the others on the host.
    count = torch.zeros((), device=parameter.device if _has_fused(parameter) else "cpu")
    return _Course(parameter, mean, square, count)


def _has_fused(parameter: nn.Parameter) -> bool:
    return parameter.device.type in ("cpu", "cuda")
