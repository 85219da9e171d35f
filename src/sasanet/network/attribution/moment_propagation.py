"""E[v] over random coalitions and its gradients, by propagating moments through the layers.

The set module is v = cap·tanh((ρ(b + Σψ) − ρ(b)) / cap), where ρ alternates activations and linear
layers. Over random coalitions every unit is nearly normal, so its mean and variance suffice:

    mean'     = W E[a(z)] + bias
    variance' = q Σ_j g_j'²  +  W² left            g_j' = W (E[a'(z)] ∘ g_j),  g_j = ψ_j at first
    left      = Var[a(z)] − E[a'(z)]² ∘ q Σ_j g_j²

The variance of a unit depends on the covariances of its inputs. The contribution of each *followed*
feature j is propagated by itself (its first-order effect g_j); the rest is taken as independent
between units. q = p (1 − p) is the variance of the presence of a feature.

The cases of one point p (which pinned features are present) differ in their means. The variance is
that of their mixture: E[a'] and Var[a] above are the mixture's, so that followed features pass each
layer once per point instead of once per case. What that saves and costs is in docs/decisions.md.

The gradients, which are the purpose of it all, are written by hand: autograd takes twice the time.
Sizes: T points, C cases of each, B rows, M followed features, D units of a layer, K outputs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from sasanet.network.layers import linear
from sasanet.network.set_value import SetFunction

_TINY = 1e-9  # keeps a unit that cannot vary from dividing by zero


@dataclass(frozen=True)
class Gradients:
    """Gradients of the mixture of E[v] over the cases of each point.

    By the mean of the sum, where that of all cases moves, and by its variance [T, B, D, K], and by
    q of each followed feature [T, B, M, K].
    """

    mean: Tensor
    variance: Tensor
    presence: Tensor


@dataclass(frozen=True)
class ActivationMoments:
    """Moments of an activation a of a normal z, and those its gradients need; all [T, C, B, D]."""

    first: Tensor  # E[a]
    second: Tensor  # E[a²]
    slope: Tensor  # E[a']: also d E[a] / d mean
    curve: Tensor  # E[a'']: also d slope / d mean, and twice d E[a] / d variance
    third: Tensor  # E[a''']: twice d slope / d variance
    second_by_mean: Tensor  # 2 E[a a']
    second_by_variance: Tensor  # E[a'² + a a'']


@dataclass(frozen=True)
class _Layer:
    """What the backward pass needs of one layer."""

    weight: Tensor
    moments: ActivationMoments
    slope: Tensor  # of the mixture, [T, B, D]
    followed: Tensor  # before the layer, [T or 1, B, M, D]
    explained: Tensor  # [T, B, D]
    left: Tensor  # [T, B, D]


def expected_value(
    function: SetFunction,
    mean: Tensor,
    variance: Tensor,
    followed: Tensor,
    presence_variance: Tensor,
    mixture: Tensor,
) -> tuple[Tensor, Gradients]:
    """Return E[v] of each case, and the gradients of its mixture at each point.

    Shape: mean [T, C, B, D], variance (of all cases of a point) [T, B, D], followed [B, M, D],
    presence_variance (q, the same for all followed features) [T], mixture (the chance of each case)
    [T, C] → values [T, C, B, K], gradients.
    """
    q, followed = presence_variance[:, None, None], followed[None]
    explained = q * followed.square().sum(2)
    mean, layers = mean + function.bias, []
    for layer in function.linears:
        moments = activation_moments(function.rho[0], mean, variance[:, None])
        slope = _mixed(moments.slope, mixture)
        left = _mixed(
            torch.addcmul(moments.second, moments.first, moments.first, value=-1), mixture
        )
        left = left.addcmul_(slope.square(), explained, value=-1).clamp_min_(0)
        layers.append(_Layer(layer.weight, moments, slope, followed, explained, left))
        mean = linear(moments.first, layer.weight, layer.bias)
        followed = linear(followed * slope[:, :, None], layer.weight)
        explained = q * followed.square().sum(2)
        variance = explained + linear(left, layer.weight.square())
    raw = mean - function.origin
    values, by_raw, by_variance = capped(raw, variance[:, None], function.cap)
    mixing = torch.eye(raw.shape[-1], device=raw.device)
    if function.ladder is not None:
        values, by_raw, by_variance = function.ladder.expected(raw, variance[:, None])
        values, mixing = values @ function.ladder.mixing, function.ladder.mixing.mT
    by_raw, by_variance = by_raw * mixture[..., None, None], _mixed(by_variance, mixture)
    found = [_backwards(layers, followed, by_raw * k, by_variance * k, q, mixture) for k in mixing]
    return values, Gradients(*(torch.stack(part, -1) for part in zip(*found, strict=True)))


def _mixed(of_cases: Tensor, mixture: Tensor) -> Tensor:
    """Return the mean over the cases of each point: [T, C, B, D], [T, C] → [T, B, D]."""
    flat = mixture[:, None] @ of_cases.flatten(2)
    return flat.view(len(flat), *of_cases.shape[2:])


def capped(raw: Tensor, variance: Tensor, cap: float) -> tuple[Tensor, Tensor, Tensor]:
    """Return E[cap·tanh(z / cap)] of a normal z, and its gradients by mean and variance of z.

    tanh y ≈ erf(√π y / 2), whose mean over a normal y is again an erf, of y / √(1 + π/2 Var y).
    """
    if not math.isfinite(cap):
        return raw, torch.ones_like(raw), torch.zeros_like(raw)
    factor = math.pi / 2 / cap**2
    shrink = (1 + factor * variance).rsqrt()
    bent = torch.tanh(raw / cap * shrink)
    steep = 1 - bent.square()
    return cap * bent, steep * shrink, steep * raw * shrink**3 * (-factor / 2)


def _backwards(
    layers: list[_Layer],
    reached: Tensor,
    by_mean: Tensor,
    by_variance: Tensor,
    q: Tensor,
    mixture: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients by mean and variance of the sum [T, B, D], and by each q [T, B, M].

    Shape: reached (the followed features after the last layer) [T, B, M, K], by_mean (of its units
    in each case) [T, C, B, K], by_variance [T, B, K], q [T, 1, 1], mixture [T, C].
    """
    chance = mixture[..., None, None]
    by_followed: Tensor | None = None
    by_explained = by_variance  # explained is part of the variance …
    by_presence = torch.zeros((), device=reached.device)
    for layer in reversed(layers):
        weight, moments = layer.weight.mT, layer.moments
        by_presence = by_presence + _along(reached, by_explained)
        back = reached * (2 * q * by_explained)[:, :, None]
        back = linear(back if by_followed is None else back.add_(by_followed), weight)
        by_left = linear(by_variance, weight.square()) * layer.left.sign()  # 0 where there is none
        by_slope = (back * layer.followed).sum(2)
        by_slope = by_slope.addcmul_(layer.slope * layer.explained, by_left, value=-2)
        by_followed = back.mul_(layer.slope[:, :, None]) if layer is not layers[0] else None
        of_left, of_slope = chance * by_left[:, None], chance * by_slope[:, None]
        by_first = linear(by_mean, weight).addcmul_(moments.first, of_left, value=-2)
        by_mean = (by_first * moments.slope).addcmul_(of_slope, moments.curve)
        by_mean = by_mean.addcmul_(of_left, moments.second_by_mean)
        of_cases = by_first.mul_(moments.curve).addcmul_(of_slope, moments.third)
        of_cases = of_cases.mul_(0.5).addcmul_(of_left, moments.second_by_variance)
        by_variance = of_cases.sum(1)
        by_residue = -layer.slope.square() * by_left  # … and subtracted from what is left
        reached, by_explained = layer.followed, by_variance + by_residue
    # The variance of the sum itself is an input, not a sum over the followed: only the residue.
    return by_mean.sum(1), by_variance, by_presence + _along(reached, by_residue)


def _along(followed: Tensor, weights: Tensor) -> Tensor:
    """Return Σ_d weight · g², what the variance of a presence changes: → [T, B, M]."""
    return (followed.square() @ weights[..., None])[..., 0]


def smoothed_gradient(function: SetFunction, mean: Tensor, variance: Tensor) -> Tensor:
    """Return the gradient of E[v] by the mean of the sum, with no feature followed.

    A coarse and fast :func:`expected_value`: units are taken as independent, and what the mean does
    to later variances is left out.

    Shape: mean [..., D], variance the same or one that broadcasts with it → [..., K, D].
    """
    mean, slopes = mean + function.bias, []
    for layer in function.linears:
        first, spread, slope = _mean_spread_slope(function.rho[0], mean, variance)
        slopes.append(slope)
        mean = linear(first, layer.weight, layer.bias)
        variance = linear(spread, layer.weight.square())
    return _backwards_to_sum(function, mean - function.origin, variance, slopes)


def value_and_gradient(function: SetFunction, sums: Tensor) -> tuple[Tensor, Tensor]:
    """Return v of sums and its gradient: [..., D] → [..., K], [..., K, D].

    The value is that of :meth:`SetFunction.value_of_sums`, bit by bit.
    """
    x, slopes, activation = sums + function.bias, [], function.rho[0]
    left = activation.negative_slope if isinstance(activation, nn.LeakyReLU) else 0.0
    for layer in function.linears:
        slope = (x > 0).to(x.dtype)
        slopes.append(slope.mul_(1 - left).add_(left) if left else slope)
        x = linear(activation(x), layer.weight, layer.bias)
    raw = x - function.origin
    return function.bounded(raw), _backwards_to_sum(function, raw, torch.zeros_like(raw), slopes)


def _backwards_to_sum(
    function: SetFunction, raw: Tensor, variance: Tensor, slopes: list[Tensor]
) -> Tensor:
    """Return the gradient of E[v] by the sum: raw, variance [..., K], slopes → [..., K, D]."""
    last = function.linears[-1]
    if function.ladder is None:
        by_raw = capped(raw, variance, function.cap)[1]
        back = by_raw[..., None] * last.weight * slopes[-1][..., None, :]
    else:
        by_raw = function.ladder.expected(raw, variance)[1]
        steps = function.ladder.mixing.mT * by_raw[..., None, :]
        back = steps @ last.weight * slopes[-1][..., None, :]
    for layer, slope in zip(function.linears[-2::-1], slopes[-2::-1], strict=True):
        back = linear(back, layer.weight.mT).mul_(slope[..., None, :])
    return back


def _mean_spread_slope(
    activation: nn.Module, mean: Tensor, variance: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return E[a], Var[a] and E[a'] of a (leaky) ReLU of a normal z, all shaped like the mean.

    Written with as few passes over memory as there can be: they cost more than the arithmetic.
    """
    left = activation.negative_slope if isinstance(activation, nn.LeakyReLU) else 0.0
    variance = variance + _TINY
    inverse = (variance * 2).rsqrt_()
    deviation = (variance * inverse).mul_(1 / math.sqrt(math.pi))  # σ / √(2π)
    place = mean * inverse
    right = torch.erf(place).add_(1).mul_(0.5)  # P(z > 0)
    bell = place.square_().neg_().exp_().mul_(deviation)
    positive = bell.addcmul_(mean, right)  # E[max(z, 0)]
    squared = (variance * right).addcmul_(mean, positive)  # E[max(z, 0)²]
    if left:
        # E[z²] = E[max(z, 0)²] + E[min(z, 0)²], and of the latter left² counts.
        squared = left**2 * (mean.square() + variance) + (1 - left**2) * squared
        positive, right = left * mean + (1 - left) * positive, left + (1 - left) * right
    return positive, squared.addcmul_(positive, positive, value=-1).clamp_min_(0), right


def activation_moments(activation: nn.Module, mean: Tensor, variance: Tensor) -> ActivationMoments:
    """Return the moments of an activation of a normal z; a leaky ReLU has a slope on the left.

    Shape: mean [..., B, D], variance one that broadcasts with it.
    """
    variance = variance + _TINY
    inverse = variance.rsqrt()
    left = activation.negative_slope if isinstance(activation, nn.LeakyReLU) else 0.0
    place = mean * inverse
    right = torch.special.ndtr(place)
    density = torch.exp(place.square() * -0.5) * (inverse / math.sqrt(2 * math.pi))  # of z, at 0
    positive = torch.addcmul(variance * density, mean, right)  # E[max(z, 0)]
    squared = torch.addcmul(variance * right, mean, positive)  # E[max(z, 0)²]
    if left:
        kept = left**2
        return ActivationMoments(
            left * mean + (1 - left) * positive,
            kept * (mean.square() + variance) + (1 - kept) * squared,
            left + (1 - left) * right,
            (1 - left) * density,
            (left - 1) * density * place * inverse,
            2 * (kept * mean + (1 - kept) * positive),
            kept + (1 - kept) * right,
        )
    third = density * place * -inverse
    return ActivationMoments(positive, squared, right, density, third, 2 * positive, right)
