"""E[v] over random coalitions and its gradients, as a graph.

The same computation as :mod:`sasanet.network.attribution.moment_propagation`, where the formulas
stand; a test compares the two. Sizes: B rows, C cases, M followed features, D units of a layer,
K outputs. Rows come first here, and all outputs are propagated back at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sasanet.arrays import Floats
from sasanet.onnx.graph import Tensor
from sasanet.onnx.values import Rows

_TINY = 1e-9  # keeps a unit that cannot vary from dividing by zero


@dataclass(frozen=True)
class Gradients:
    """Gradients of E[v] by mean and variance of the sum [B, C, K, D], and by q [B, C, K, M]."""

    mean: Tensor
    variance: Tensor
    presence: Tensor


@dataclass(frozen=True)
class _Moments:
    """Moments of an activation of a normal z, and those its gradients need; all [B, C, D]."""

    first: Tensor  # E[a]
    second: Tensor  # E[a²]
    slope: Tensor  # E[a']
    curve: Tensor  # E[a'']
    third: Tensor  # E[a''']
    second_by_mean: Tensor  # 2 E[a a']
    second_by_variance: Tensor  # E[a'² + a a'']


@dataclass(frozen=True)
class _Layer:
    """What the backward pass needs of one layer."""

    weight: np.ndarray  # [out, in]
    moments: _Moments
    slope: Tensor  # the mean over the cases of a point, for all of these
    followed: Tensor  # before the layer, [B, C or 1, M, D]
    explained: Tensor
    left: Tensor


def expected_value(
    rows: Rows,
    mean: Tensor,
    variance: Tensor,
    followed: Tensor,
    presence_variance: Floats,
    mixture: Floats,
) -> tuple[Tensor, Gradients]:
    """Return E[v] of each case [B, C, K], and its gradients where all cases of a point move.

    Shape: mean, variance [B, C, D], followed [B, M, D], presence_variance [C], mixture (the chance
    of each case of each point, 0 for those of others) [T, C].
    """
    q = presence_variance[:, None]
    of_point = rows.vectors.graph.constant(np.float32((mixture > 0).T @ mixture))
    followed = followed.unsqueeze(1)
    explained = followed.square().sum(2) * q
    mean, layers = mean + rows.bias.unsqueeze(1), []
    for weight, bias in rows.network.layers:
        moments = _activation_moments(rows.network.slope, mean, variance)
        slope = of_point @ moments.slope
        left = of_point @ (moments.second - moments.first.square()) - slope.square() * explained
        left = left.op("Relu")
        layers.append(_Layer(weight, moments, slope, followed, explained, left))
        mean = moments.first @ weight.T + bias
        followed = (followed * slope.unsqueeze(2)) @ weight.T
        explained = followed.square().sum(2) * q
        variance = explained + left @ np.square(weight).T
    raw = mean - rows.origin.unsqueeze(1)
    values, by_raw, by_variance = _capped(raw, variance, rows.network.cap)
    each = np.eye(rows.n_outputs)  # [K, K]: one output at a time
    by_raw, by_variance = (part.unsqueeze(2) * each for part in (by_raw, by_variance))
    reached = followed.unsqueeze(2)
    return values, _backwards(layers, reached, by_raw, by_variance, q[..., None], of_point)


def _capped(raw: Tensor, variance: Tensor, cap: float) -> tuple[Tensor, Tensor, Tensor]:
    """Return E[cap·tanh(z / cap)] of a normal z, and its gradients by mean and variance of z."""
    if not math.isfinite(cap):
        return raw, raw * 0.0 + 1.0, raw * 0.0
    factor = math.pi / 2 / cap**2
    shrink = _inverse_root(variance * factor + 1.0)
    bent = (raw / cap * shrink).op("Tanh")
    steep = 1.0 - bent.square()
    by_variance = steep * raw * (shrink.square() * shrink) * (-factor / 2)
    return bent * cap, steep * shrink, by_variance


def _backwards(
    layers: list[_Layer],
    reached: Tensor,
    by_mean: Tensor,
    by_variance: Tensor,
    q: Floats,
    of_point: Tensor,
) -> Gradients:
    """Return the gradients by mean and variance of the sum, and by each q.

    Shape: reached (the followed features after the last layer) [B, C, 1, M, K], by_mean and
    by_variance (of its units) [B, C, K, K], q [C, 1, 1], of_point (the mean over the cases of each
    point, for all of these) [C, C].
    """

    def mixed(tensor: Tensor, n_units: int) -> Tensor:
        """Return the mean over the cases of a point for each of them: [B, C, K, D] → the same."""
        return (of_point @ tensor.reshape(0, len(q), -1)).reshape(0, len(q), -1, n_units)

    by_followed: Tensor | None = None
    by_explained = by_variance
    by_presence: Tensor | None = None
    for layer in reversed(layers):
        moments, followed = layer.moments, layer.followed.unsqueeze(2)
        shared, explained = layer.slope.unsqueeze(2), layer.explained.unsqueeze(2)
        slope, n_units = moments.slope.unsqueeze(2), layer.weight.shape[1]
        back = reached * by_explained.unsqueeze(3)  # [B, C, K, M, D]
        own = (back * reached).sum(4)
        by_presence = own if by_presence is None else by_presence + own
        back = back * (2 * q[..., None])
        back = (back if by_followed is None else back + by_followed) @ layer.weight
        kept = layer.left.op("Greater", 0.0, kind="BOOL").cast("FLOAT").unsqueeze(2)
        by_left = (mixed(by_variance, layer.weight.shape[0]) @ np.square(layer.weight)) * kept
        by_first = by_mean @ layer.weight - moments.first.unsqueeze(2) * by_left * 2.0
        by_slope = mixed((back * followed).sum(3), n_units) - shared * explained * by_left * 2.0
        by_mean = by_first * slope + by_slope * moments.curve.unsqueeze(2)
        by_mean = by_mean + by_left * moments.second_by_mean.unsqueeze(2)
        by_variance = by_first * moments.curve.unsqueeze(2) + by_slope * moments.third.unsqueeze(2)
        by_variance = by_variance * 0.5 + by_left * moments.second_by_variance.unsqueeze(2)
        by_residue = shared.square() * by_left * -1.0
        if layer is not layers[0]:
            by_followed = back * shared.unsqueeze(3)
        reached, by_explained = followed, by_variance + by_residue
    assert by_presence is not None
    # The variance of the sum itself is an input, not a sum over the followed: only the residue.
    squares = layers[0].followed.square().transpose(0, 1, 3, 2)  # [B, 1, D, M]
    return Gradients(by_mean, by_variance, by_presence + by_residue @ squares)


def _activation_moments(slope: float, mean: Tensor, variance: Tensor) -> _Moments:
    """Return the moments of a ReLU of a normal z, with a slope below zero."""
    variance = variance + _TINY
    inverse = _inverse_root(variance)
    place = mean * inverse
    right = (place * math.sqrt(0.5)).op("Erf") * 0.5 + 0.5
    density = (place.square() * -0.5).op("Exp") * inverse * (1 / math.sqrt(2 * math.pi))
    positive = variance * density + mean * right  # E[max(z, 0)]
    squared = variance * right + mean * positive  # E[max(z, 0)²]
    third = density * place * inverse * -1.0
    if not slope:
        return _Moments(positive, squared, right, density, third, positive * 2.0, right)
    kept, rest = slope**2, 1 - slope
    return _Moments(
        mean * slope + positive * rest,
        (mean.square() + variance) * kept + squared * (1 - kept),
        right * rest + slope,
        density * rest,
        third * rest,
        (mean * kept + positive * (1 - kept)) * 2.0,
        right * (1 - kept) + kept,
    )


def _inverse_root(tensor: Tensor) -> Tensor:
    return tensor.op("Sqrt").op("Reciprocal")
