"""E[v] over random coalitions and its gradients, by propagating moments through the layers.

The set module is v = cap·tanh((ρ(b + Σψ) − ρ(b)) / cap), where ρ alternates activations and linear
layers. Over random coalitions every unit is nearly normal, so its mean and variance suffice:

    mean'     = W E[a(z)] + bias
    variance' = Σ_j q_j g_j'²  +  W² left          g_j' = W (E[a'(z)] ∘ g_j),  g_j = ψ_j at first
    left      = Var[a(z)] − E[a'(z)]² ∘ Σ_j q_j g_j²

The variance of a unit depends on the covariances of its inputs. The contribution of each *followed*
feature j is propagated by itself (its first-order effect g_j); the rest is taken as independent
between units. q_j = p_j (1 − p_j) is the variance of the presence of feature j.

The gradients, which are the purpose of it all, are written by hand: autograd takes twice the time.
Sizes: C cases, B rows, M followed features, D units of a layer, K outputs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sasanet.network.set_value import SetFunction

_TINY = 1e-9  # keeps a unit that cannot vary from dividing by zero


@dataclass(frozen=True)
class Gradients:
    """Gradients of E[v] by mean and variance of the sum [C, B, D, K], and by q [C, B, M, K]."""

    mean: Tensor
    variance: Tensor
    presence: Tensor


@dataclass(frozen=True)
class ActivationMoments:
    """Moments of an activation a of a normal z, and those its gradients need; all [C, B, D]."""

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

    linear: nn.Linear
    moments: ActivationMoments
    followed: Tensor  # before the layer, [(C,) B, M, D]
    explained: Tensor
    left: Tensor


def expected_value(
    function: SetFunction,
    mean: Tensor,
    variance: Tensor,
    followed: Tensor,
    presence_variance: Tensor,
) -> tuple[Tensor, Gradients]:
    """Return E[v] of each case, and its gradients.

    Shape: mean, variance [C, B, D], followed [B, M, D], presence_variance [C] (q, the same for all
    followed features) → values [C, B, K], gradients.
    """
    presence_variance = presence_variance[:, None, None]
    explained = presence_variance * followed.square().sum(-2)
    mean, layers = mean + function.bias, []
    for linear in [layer for layer in function.rho if isinstance(layer, nn.Linear)]:
        moments = activation_moments(function.rho[0], mean, variance)
        left = moments.second - moments.first.square() - moments.slope.square() * explained
        layers.append(_Layer(linear, moments, followed, explained, left.clamp_min_(0)))
        mean = linear(moments.first)
        followed = F.linear(followed * moments.slope[..., None, :], linear.weight)
        explained = presence_variance * followed.square().sum(-2)
        variance = explained + F.linear(left, linear.weight.square())
    raw = mean - function.origin
    values, by_raw, by_variance = capped(raw, variance, function.cap)
    mixing = torch.eye(raw.shape[2], device=raw.device)
    if function.ladder is not None:
        values, by_raw, by_variance = function.ladder.expected(raw, variance)
        values, mixing = values @ function.ladder.mixing, function.ladder.mixing.mT
    found = []
    for k in mixing:
        found.append(_backwards(layers, followed, by_raw * k, by_variance * k, presence_variance))
    return values, Gradients(*(torch.stack(part, -1) for part in zip(*found, strict=True)))


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
    presence_variance: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients by mean and variance of the sum [C, B, D], and by each q [C, B, M].

    Shape: reached (the followed features after the last layer) [C, B, M, K], by_mean and
    by_variance (of its units) [C, B, K], presence_variance [C, 1, 1].
    """
    by_followed: Tensor | None = None
    by_explained = by_variance  # explained is part of the variance …
    by_presence = torch.zeros((), device=reached.device)
    for layer in reversed(layers):
        weight, moments = layer.linear.weight, layer.moments
        back = reached * by_explained[..., None, :]
        by_presence = by_presence + (back * reached).sum(-1)
        back *= 2 * presence_variance[..., None]
        back = (back if by_followed is None else back.add_(by_followed)) @ weight
        by_left = (by_variance @ weight.square()) * (layer.left > 0)
        by_first = by_mean @ weight - 2 * moments.first * by_left
        by_followed = back * moments.slope[..., None, :] if layer is not layers[0] else None
        by_slope = back.mul_(layer.followed).sum(-2)
        by_slope -= 2 * moments.slope * layer.explained * by_left
        by_mean = by_first * moments.slope + by_slope * moments.curve
        by_mean = by_mean.addcmul_(by_left, moments.second_by_mean)
        by_variance = (by_first * moments.curve + by_slope * moments.third) / 2
        by_variance = by_variance.addcmul_(by_left, moments.second_by_variance)
        by_residue = -moments.slope.square() * by_left  # … and subtracted from what is left
        reached, by_explained = layer.followed, by_variance + by_residue
    # The variance of the sum itself is an input, not a sum over the followed: only the residue.
    by_presence = by_presence + (by_residue.transpose(0, 1) @ reached.square().mT).transpose(0, 1)
    return by_mean, by_variance, by_presence


def smoothed_gradient(function: SetFunction, mean: Tensor, variance: Tensor) -> Tensor:
    """Return the gradient of E[v] by the mean of the sum, with no feature followed.

    A coarse and fast :func:`expected_value`: units are taken as independent, and what the mean does
    to later variances is left out.

    Shape: mean, variance [..., D] → [..., K, D].
    """
    mean, slopes = mean + function.bias, []
    linears = [layer for layer in function.rho if isinstance(layer, nn.Linear)]
    for linear in linears:
        first, spread, slope = _mean_spread_slope(function.rho[0], mean, variance)
        slopes.append(slope)
        mean, variance = linear(first), F.linear(spread, linear.weight.square())
    _, by_raw, _ = capped(mean - function.origin, variance, function.cap)
    if function.ladder is None:
        back = by_raw[..., None] * linears[-1].weight * slopes[-1][..., None, :]
    else:
        _, by_raw, _ = function.ladder.expected(mean - function.origin, variance)
        steps = function.ladder.mixing.mT * by_raw[..., None, :]
        back = steps @ linears[-1].weight * slopes[-1][..., None, :]
    for linear, slope in zip(linears[-2::-1], slopes[-2::-1], strict=True):
        back = (back @ linear.weight).mul_(slope[..., None, :])
    return back


def _mean_spread_slope(
    activation: nn.Module, mean: Tensor, variance: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return E[a], Var[a] and E[a'] of a (leaky) ReLU of a normal z, all shaped like the mean."""
    left = activation.negative_slope if isinstance(activation, nn.LeakyReLU) else 0.0
    variance = variance + _TINY
    inverse = variance.rsqrt()
    place = mean * inverse
    right = torch.special.ndtr(place)
    bell = torch.exp(place.square_().mul_(-0.5)).mul_(variance * inverse / math.sqrt(2 * math.pi))
    positive = torch.addcmul(bell, mean, right)  # E[max(z, 0)]
    squared = torch.addcmul(variance * right, mean, positive)  # E[max(z, 0)²]
    first, slope = positive, right
    if left:
        squared = left**2 * (mean.square() + variance) + (1 - left**2) * squared
        first, slope = left * mean + (1 - left) * positive, left + (1 - left) * right
    return first, squared.addcmul_(first, first, value=-1).clamp_min_(0), slope


def activation_moments(activation: nn.Module, mean: Tensor, variance: Tensor) -> ActivationMoments:
    """Return the moments of an activation of a normal z; a leaky ReLU has a slope on the left.

    Shape: mean [C, B, D], variance [C, B, D] or [B, D].
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
    third = -density * place * inverse
    return ActivationMoments(positive, squared, right, density, third, 2 * positive, right)
