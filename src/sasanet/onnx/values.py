"""The value of sums of cell vectors, as a graph.

    f(Σψ) = cap · tanh((ρ(b + Σψ) − ρ(b)) / cap)

Every member of a network is a row of its own here: B rows of a table are B·M rows with their own
vectors, bias and origin ρ(b). Sizes: B rows, N features, D the length of a vector, K outputs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from sasanet.network.export import PortableNetwork
from sasanet.onnx.graph import Tensor


@dataclass(frozen=True)
class Rows:
    """Rows of one member each, with what their values are computed from."""

    network: PortableNetwork
    vectors: Tensor  # [B, N, D]
    bias: Tensor  # [B, D], or [1, D] of a single member
    origin: Tensor  # [B, K], or [1, K]

    @property
    def n_members(self) -> int:
        """How many rows stand for one of the table."""
        return len(self.network.bias)

    @property
    def n_outputs(self) -> int:
        """K: how many outputs a value has."""
        return int(self.network.layers[-1][0].shape[0])

    def take(self, index: Tensor) -> Rows:
        """Return some of the rows, by position."""
        vectors = self.vectors.take(index)
        if self.n_members == 1:
            return replace(self, vectors=vectors)
        return replace(
            self, vectors=vectors, bias=self.bias.take(index), origin=self.origin.take(index)
        )

    def values(self, sums: Tensor) -> Tensor:
        """Return the value of sums of vectors: [B, S, D] → [B, S, K]."""
        hidden = sums + self.bias.unsqueeze(1)
        for weight, bias in self.network.layers:
            hidden = activation(hidden, self.network.slope) @ weight.T + bias
        raw = hidden - self.origin.unsqueeze(1)
        if not math.isfinite(self.network.cap):
            return raw
        return (raw / self.network.cap).op("Tanh") * self.network.cap


def rows_of_members(network: PortableNetwork, vectors: Tensor) -> Rows:
    """Return every member's rows, those of one row of the table together."""
    graph, (n_members, width) = vectors.graph, network.bias.shape
    origin = network.rho(network.bias)
    if n_members == 1:
        own = vectors if (network.factors == 1).all() else vectors * network.factors[0, :, None]
        return Rows(network, own, graph.constant(network.bias), graph.constant(origin))
    own = vectors.unsqueeze(1) * network.factors[None, ..., None]
    zero = (vectors.sum(2).sum(1) * 0.0).unsqueeze(1, 2)  # [B, 1, 1]
    return Rows(
        network,
        own.reshape(-1, len(network.tables), width),
        (zero + network.bias[None]).reshape(-1, width),
        (zero + origin[None]).reshape(-1, origin.shape[1]),
    )


def mean_of_members(rows: Rows, tensor: Tensor, *shape: int) -> Tensor:
    """Return the mean over members: [B·M, *shape] → [B, *shape]."""
    if rows.n_members == 1:
        return tensor
    return tensor.reshape(-1, rows.n_members, *shape).mean(1)


def activation(tensor: Tensor, slope: float) -> Tensor:
    """Return a ReLU with a slope below zero."""
    return tensor.op("LeakyRelu", alpha=slope) if slope else tensor.op("Relu")
