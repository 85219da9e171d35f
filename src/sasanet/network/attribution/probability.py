"""The game of what is predicted: what each player adds to a probability, or to a rate, itself.

The game is w(S) = g(φ0 + v(S)) − g(φ0), where g is σ, the softmax for several classes, or exp where
log rates are learned. It is no longer a sum over the members of the network, but still a function
of sums, so the same formula applies: its expectation F(p) = E[w(S)] is needed at two points
(:mod:`~.closed_form`), and there

- mean and variance of the sum go through the layers to v (:mod:`~.moment_propagation`);
- E[σ(z)] of a normal z is computed by Gauss–Hermite quadrature. For several classes it is that of
  each pair, E[σ(z_k − z_l)], put together as in 1 / softmax_k = 1 + Σ_{l≠k} (1 / σ(z_k − z_l) − 1);
- E[exp(z)] of a normal z is exp(mean + variance / 2);
- ∂F/∂p_i comes from autograd.

Sizes: B rows, P players, M members of the network, D the length of a cell vector, T points of the
integral, C cases of pinned players, J followed players, K outputs, L = max(K, 2) classes.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sasanet.network.attribution.closed_form import CellBudget
from sasanet.network.attribution.moment_propagation import activation_moments, capped
from sasanet.network.set_value import SetFunction

_NODES, _NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(9)  # exact to degree 17
_TINY = 1e-12  # keeps the gradient of a standard deviation finite where nothing varies


@dataclass(frozen=True)
class Link:
    """From raw outputs to what is predicted: g.

    One output is the log-odds of the second of two classes, or the logarithm of a rate.
    """

    base: Tensor  # φ0, [K]
    is_rate: bool = False

    def gained(self, outputs: Tensor) -> Tensor:
        """Return g(φ0 + outputs) − g(φ0): [..., K]. No output, no change: exactly 0."""
        base = self.base
        if self.is_rate:
            return base.exp() * outputs.expm1()
        if len(base) == 1:
            return torch.sigmoid(base + outputs) - torch.sigmoid(base)
        return torch.softmax(base + outputs, -1) - torch.softmax(base, -1)

    def mean(self, outputs: _Moments) -> Tensor:
        """Return E[g(φ0 + v)] for a normal v: → [C, T, B, K]."""
        if self.is_rate:
            return (outputs.mean + self.base + outputs.spread.square().sum(-2) / 2).exp()
        return _mean_probability(outputs, self.base)

    def to(self, device: torch.device, dtype: torch.dtype) -> Link:
        """Return the same with φ0 on a device, in a precision."""
        return replace(self, base=self.base.to(device, dtype))


@dataclass(frozen=True)
class LinkedFunction:
    """The game in other units as a function of the sum of a coalition's vectors, of all members."""

    function: SetFunction  # whose bias is [M, D]
    link: Link | None  # none: the outputs themselves

    def value_of_sums(self, sums: Tensor, /) -> Tensor:
        """Return w(S): the sums of all members, end to end, [..., M·D] → [..., K]."""
        members = sums.unflatten(-1, self.function.bias.shape)
        outputs = self.function.value_of_sums(members).mean(-2)
        return outputs if self.link is None else self.link.gained(outputs)


def expected_growth(
    function: LinkedFunction, vectors: Tensor, shares: Sequence[float], budget: CellBudget
) -> Tensor:
    """Return ∂F/∂p_i where every player is present with the same probability t.

    Shape: vectors [B, P, M·D], shares [T] → [B, P, T, K].
    """
    with torch.enable_grad():
        ones = vectors.new_ones(len(shares), *vectors.shape[:2])
        chances = (ones * vectors.new_tensor(shares)[:, None, None]).requires_grad_()
        expected = expected_response(function, vectors, chances, budget)
        found = [
            torch.autograd.grad(part.sum(), chances, retain_graph=True)[0]
            for part in expected.unbind(-1)
        ]
    return torch.stack(found, -1).permute(1, 2, 0, 3)


def expected_response(
    function: LinkedFunction, vectors: Tensor, chances: Tensor, budget: CellBudget
) -> Tensor:
    """Return E[g(φ0 + v(S))], where each player is present with its own chance.

    The largest players are pinned: the expectation is the exact mixture over whether they are
    present. The next ones are followed through the layers.

    Shape: vectors [B, P, M·D], chances [T, B, P] → [T, B, K].
    """
    sizes = vectors.square().sum(2)
    order = sizes.topk(min(vectors.shape[1], sum(budget)), dim=1).indices
    pinned, followed = order[:, : budget.pinned], order[:, budget.pinned :]
    free = chances.scatter(2, pinned.expand(len(chances), -1, -1), 0.0)
    pins, chance = _take(vectors, pinned), _pick(chances, pinned)  # [B, C', M·D], [T, B, C']
    cases = vectors.new_tensor([*itertools.product([0.0, 1.0], repeat=pins.shape[1])])
    mixture = torch.where(cases[:, None, None] > 0, chance, 1 - chance).prod(-1)  # [C, T, B]
    mean = torch.einsum("tbp,bpd->tbd", free, vectors)
    mean = mean + torch.einsum("cq,bqd->cbd", cases, pins)[:, None]
    variance = torch.einsum("tbp,bpd->tbd", free * (1 - free), vectors.square())
    varying = _pick(free * (1 - free), followed)
    shape = function.function.bias.shape
    outputs = _moments_of_outputs(
        function.function,
        mean.unflatten(-1, shape),
        variance.unflatten(-1, shape),
        _take(vectors, followed).unflatten(-1, shape),
        varying,
    )
    means = outputs.mean if function.link is None else function.link.mean(outputs)
    return (mixture[..., None] * means).sum(0)


def _take(vectors: Tensor, chosen: Tensor) -> Tensor:
    """Return the vectors of chosen players: [B, P, E], [B, Q] → [B, Q, E]."""
    return torch.gather(vectors, 1, chosen[..., None].expand(-1, -1, vectors.shape[2]))


def _pick(numbers: Tensor, chosen: Tensor) -> Tensor:
    """Return the numbers of chosen players: [T, B, P], [B, Q] → [T, B, Q]."""
    return torch.gather(numbers, 2, chosen.expand(len(numbers), -1, -1))


class _Moments(NamedTuple):
    """Mean and spread of v over random coalitions, nearly normal."""

    mean: Tensor  # [C, T, B, K]
    spread: Tensor  # independent directions it varies in; their squares sum to the variance
    # [C, T, B, E, K]


def _moments_of_outputs(
    function: SetFunction, mean: Tensor, variance: Tensor, followed: Tensor, varying: Tensor
) -> _Moments:
    """Return the moments of v, the mean of its members; see :mod:`~.moment_propagation`.

    Shape: mean [C, T, B, M, D], variance [T, B, M, D], followed [B, J, M, D], varying (q of each
    followed player) [T, B, J].
    """
    scale = (varying + _TINY).sqrt()[..., None, None]
    reached = scale * followed  # √q_j g_j, [(C,) T, B, J, M, D]
    mean = mean + function.bias
    for linear in [layer for layer in function.rho if isinstance(layer, nn.Linear)]:
        moments = activation_moments(function.rho[0], mean, variance)
        explained = moments.slope.square() * reached.square().sum(-3)
        left = (moments.second - moments.first.square() - explained).clamp_min(0)
        mean = linear(moments.first)
        reached = F.linear(reached * moments.slope.unsqueeze(-3), linear.weight)
        variance = reached.square().sum(-3) + F.linear(left, linear.weight.square())
    raw = mean - function.rho(function.bias)
    values, slope, _ = capped(raw, variance, function.cap)
    n_members = raw.shape[-2]
    # What is left varies independently between the units of the last layer, and between members.
    rest = (left + _TINY).sqrt()[..., None] * linear.weight.mT  # [C, T, B, M, D', K]
    rest = (rest * slope[..., None, :]).flatten(-3, -2) / n_members
    along = (reached * slope.unsqueeze(-3)).mean(-2)  # [C, T, B, J, K]
    return _Moments(values.mean(-2), torch.cat([along, rest], -2))


def _mean_probability(outputs: _Moments, base: Tensor) -> Tensor:
    """Return E[σ(φ0 + v)], or that of the softmax, for a normal v: → [C, T, B, K]."""
    mean, spread = outputs.mean + base, outputs.spread
    if len(base) == 1:
        return _mean_sigmoid(mean, spread.square().sum(-2))
    squares = spread.square().sum(-2)
    products = spread.mT @ spread
    variance = squares[..., :, None] + squares[..., None, :] - 2 * products
    pairs = _mean_sigmoid(mean[..., :, None] - mean[..., None, :], variance.clamp_min(0))
    against = (1 / pairs.clamp_min(_TINY) - 1) * (1 - torch.eye(len(base), device=base.device))
    shares = 1 / (1 + against.sum(-1))
    return shares / shares.sum(-1, keepdim=True)


def _mean_sigmoid(mean: Tensor, variance: Tensor) -> Tensor:
    """Return E[σ(z)] of a normal z, by quadrature."""
    nodes = mean.new_tensor(_NODES)
    weights = mean.new_tensor(_NODE_WEIGHTS / _NODE_WEIGHTS.sum())
    points = mean[..., None] + (variance + _TINY).sqrt()[..., None] * nodes
    return torch.sigmoid(points) @ weights
