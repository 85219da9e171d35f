"""Layers that several networks share: feed-forward networks, and dropout with its own generator."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

# To be held while torch's global generator is seeded or lent out.
GLOBAL_GENERATOR = threading.RLock()
_HAS_ONEDNN = (
    hasattr(torch.ops.mkldnn, "_linear_pointwise")
    and torch.backends.mkldnn.is_available()
    and torch.backends.cpu.get_cpu_capability() == "AVX512"
)
_WIDE, _MANY = 16, 64  # outputs and rows of a product from where oneDNN pays
_START = 0.899  # where the rectifier of a ladder is 0.9996
_LEAST_GAP = 1e-3  # of a gap: so much of it always remains, more than rounding takes


class RandomLayer(nn.Module):
    """A layer that draws from ``generator``, or from torch's global one where that is ``None``.

    The layers of torch always draw from the global one: two fits in two threads would each get a
    part of its stream, and neither would be reproducible.
    """

    generator: torch.Generator | None = None


class GeneratorDropout(RandomLayer):
    """Dropout that draws from a generator of its own.

    Shape: any → the same.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        """Drop units in training; pass them on otherwise."""
        if not self.training or self.rate == 0:
            return x
        kept = torch.empty_like(x).bernoulli_(1 - self.rate, generator=self.generator)
        return x * kept.div_(1 - self.rate)


class ByteDropout(GeneratorDropout):
    """Dropout that takes eight decisions from one random 64-bit word.

    On a CPU the dropout of torch draws one word per unit, which took a third of a training step.
    The rate is rounded to a multiple of 1/256, and kept units are scaled to preserve the mean.

    Shape: any → the same.
    """

    def __init__(self, rate: float) -> None:
        super().__init__(rate)
        self.threshold = round(256 * rate)

    def forward(self, x: Tensor) -> Tensor:
        """Drop units in training; pass them on otherwise."""
        if not self.training or self.threshold == 0:
            return x
        words = torch.empty(-(-x.numel() // 8), dtype=torch.int64, device=x.device)
        words.random_(-(2**63), None, generator=self.generator)
        bytes_ = words.view(torch.uint8)[: x.numel()].view(x.shape)
        # All in floats: comparing, and multiplying by booleans, takes five times as long.
        kept = bytes_.to(x.dtype).sub_(self.threshold - 1).clamp_(0, 1)
        return x * kept.mul_(256 / (256 - self.threshold))


class GeneratorAttention(RandomLayer, nn.MultiheadAttention):
    """torch's attention, whose dropout draws from a generator of its own.

    torch's function takes no generator, so the state of the global one is lent to the call.
    """

    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> Any:  # type: ignore[override]
        """Return the attended values, and nothing in place of the weights."""
        attend = partial(super().forward, query, key, value, need_weights=False)
        if not self.training or self.generator is None or self.generator.device.type != "cpu":
            return attend()
        with GLOBAL_GENERATOR, torch.random.fork_rng([]):
            torch.set_rng_state(self.generator.get_state())
            found = attend()
            self.generator.set_state(torch.get_rng_state())
        return found


@contextlib.contextmanager
def dropout_from(network: nn.Module, generator: torch.Generator | None) -> Iterator[None]:
    """Let all dropout layers of a network draw from one generator while the block runs."""
    layers = [m for m in network.modules() if isinstance(m, RandomLayer)]
    for layer in layers:
        layer.generator = generator
    try:
        yield
    finally:
        for layer in layers:  # a generator cannot be pickled
            layer.generator = None


def feed_forward(
    sizes: Sequence[int], activation: nn.Module, dropout: float, *, activate_first: bool = False
) -> nn.Sequential:
    """Return linear layers of the given sizes with activations (and dropout) in between."""
    layers: list[nn.Module] = []
    for depth, (fan_in, fan_out) in enumerate(pairwise(sizes)):
        if depth or activate_first:
            layers += [activation, ByteDropout(dropout)]
        layers.append(Product(fan_in, fan_out))
    return nn.Sequential(*layers)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return x Wᵀ + b: [..., D] → [..., E].

    Without gradients many rows are multiplied by oneDNN where the processor has AVX-512: MKL, which
    torch asks otherwise, leaves it unused on some of these and takes twice the time.
    """
    if not torch.is_grad_enabled() and _suits_onednn(x, weight):
        return _by_onednn(x, weight, bias)
    return F.linear(x, weight, bias)


def _suits_onednn(x: Tensor, weight: Tensor) -> bool:
    """Tell whether a product is large enough, and of plain 32-bit numbers."""
    plain = x.device.type == "cpu" and x.dtype == weight.dtype == torch.float32
    large = weight.shape[0] >= _WIDE and x.numel() >= _MANY * x.shape[-1]
    return _HAS_ONEDNN and plain and large


def _by_onednn(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    found: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
    return found


class _LearnedProduct(torch.autograd.Function):
    """x Wᵀ + b by oneDNN, and its gradients too."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """Shapes: x [..., D], weight [E, D], bias [E] → [..., E]."""
        ctx.save_for_backward(x, weight)
        return _by_onednn(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of x, weight and bias.

        Losses about gradients, such as SENN's, differentiate them again: torch's products can.
        """
        x, weight = ctx.saved_tensors
        multiply = F.linear if torch.is_grad_enabled() else _by_onednn
        flat = gradient.flatten(0, -2)
        by_x = multiply(gradient, weight.mT) if ctx.needs_input_grad[0] else None
        return by_x, multiply(flat.mT, x.flatten(0, -2).mT), flat.sum(0)


class Product(nn.Linear):
    """torch's linear layer; in training its products and their gradients are oneDNN's, too."""

    def forward(self, x: Tensor) -> Tensor:
        """Return x Wᵀ + b: [..., D] → [..., E]."""
        if self.training and torch.is_grad_enabled() and _suits_onednn(x, self.weight):
            found: Tensor = _LearnedProduct.apply(x, self.weight, self.bias)
            return found
        return super().forward(x)


def used_up(layers: nn.Sequential, x: Tensor) -> Tensor:
    """Return what the layers make of x, which nobody needs any more.

    Without gradients activations are computed in place: a new tensor for each costs more than they
    do. Shape: [..., D] → [..., K].
    """
    if torch.is_grad_enabled() or layers.training:
        found: Tensor = layers(x)
        return found
    for layer in layers:
        if isinstance(layer, nn.ReLU):
            x = x.relu_()
        elif isinstance(layer, nn.Linear):
            x = linear(x, layer.weight, layer.bias)
        elif not isinstance(layer, GeneratorDropout):
            x = layer(x)
    return x


class Ladder(nn.Module):
    """The last layer of several quantiles, which keeps them in order: nothing is learned in it.

    The middle quantile is an output of its own. Every other one is further out than its neighbour
    by a gap that is positive whatever the output is,

        gap = g · (ε + (1 − ε) h(a + u)),   h(x) = x N(x) + n(x),   h(a) ≈ 1,

    with u the network's output, g the gap when nothing is known, N and n of the normal
    distribution. So no two quantiles cross, in any row and for any coalition, and u = 0 gives g. h
    is a rectifier smoothed by a normal: its mean over a normal u has the same form, which the
    attributions need: with τ² = 1 + Var u it is τ h((a + E u) / τ).

    Parameters
    ----------
    gaps : sequence of float
        g: distances of successive quantiles when nothing is known, one less than outputs K.
    """

    sizes: Tensor  # what each output adds to those beyond it, signed: [K], 0 for the middle one
    mixing: Tensor  # whether output j is a part of quantile k: [K, K]

    def __init__(self, gaps: Sequence[float]) -> None:
        super().__init__()
        middle, places = (len(gaps) + 1) // 2, range(len(gaps) + 1)
        signed = [-g for g in gaps[:middle]] + [0.0] + list(gaps[middle:])
        between = [[min(middle, k) <= j <= max(middle, k) for k in places] for j in places]
        self.register_buffer("sizes", torch.tensor(signed) * (1 - _LEAST_GAP), persistent=False)
        self.register_buffer("mixing", torch.tensor(between).float(), persistent=False)

    def forward(self, raw: Tensor) -> Tensor:
        """Return quantiles relative to those of no feature: [..., K] → [..., K]."""
        start = raw.new_tensor(_START)
        wider = _smooth_rectifier(start + raw) - _smooth_rectifier(start)
        return torch.where(self.sizes == 0, raw, self.sizes.to(raw) * wider) @ self.mixing.to(raw)

    def expected(self, raw: Tensor, variance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the means of the parts for normal outputs, and their gradients.

        The parts times :attr:`mixing` are the quantiles. Shape: mean and variance of the outputs
        [..., K] → parts, their gradients by mean and by variance [..., K].
        """
        start, width = raw.new_tensor(_START), (1 + variance).sqrt()
        place = (start + raw) / width
        wider = width * _smooth_rectifier(place) - _smooth_rectifier(start)
        density = torch.exp(-place.square() / 2) / math.sqrt(2 * math.pi)
        is_middle = self.sizes == 0
        return (
            torch.where(is_middle, raw, self.sizes * wider),
            torch.where(is_middle, 1.0, self.sizes * torch.special.ndtr(place)),
            torch.where(is_middle, 0.0, self.sizes * density / (2 * width)),
        )


def _smooth_rectifier(x: Tensor) -> Tensor:
    """Return h(x) = x N(x) + n(x), between max(x, 0) and that + 0.4."""
    density = torch.exp(-x.square() / 2) / math.sqrt(2 * math.pi)
    return (x * torch.special.ndtr(x) + density).clamp_min(0)
