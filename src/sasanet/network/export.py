"""The set network as plain arrays, which compute v(S) without torch, in a browser for example.

    v(S) − φ0 = mean_m cap · tanh((ρ(b_m + Σ_{i∈S} r_mi ψ_i(x_i)) − ρ(b_m)) / cap)

Sizes: B rows, N features, D the length of a cell vector, M members, K outputs. A report evaluates
the arrays in JavaScript; :meth:`PortableNetwork.values` is the reference for that code.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from sasanet.network.embedding.cells import TableEmbedding
from sasanet.network.sasanet import SASANet
from sasanet.network.set_value import SetValue

Array = NDArray[np.float32]
_SLOPES = {"relu": 0.0, "leaky_relu": nn.LeakyReLU().negative_slope}  # below zero


@dataclass(frozen=True)
class PortableNetwork:
    """The value network as arrays.

    Attributes
    ----------
    tables : tuple of ndarray (places, D)
        ψ of every place (knot or level) of each column; between two knots it is interpolated.
    factors : ndarray (M, N)
        r_mi: the weight of each feature in each member's sum.
    bias : ndarray (M, D)
        b_m.
    layers : tuple of (ndarray (out, in), ndarray (out,))
        The linear layers of ρ, with an activation before each.
    slope : float
        The activation's slope below zero: 0 is a ReLU.
    cap : float
        Bound of the output, relative to φ0; infinite: none.
    """

    tables: tuple[Array, ...]
    factors: Array
    bias: Array
    layers: tuple[tuple[Array, Array], ...]
    slope: float
    cap: float

    def keep(self, places: list[NDArray[np.intp]]) -> PortableNetwork:
        """Return the network with only some places of each table, renumbered from 0."""
        kept = zip(self.tables, places, strict=True)
        return replace(self, tables=tuple(table[chosen] for table, chosen in kept))

    def values(self, cells: NDArray[np.float32], coalitions: NDArray[np.bool_]) -> Array:
        """Return v(S) − φ0 for one coalition per row, in the units of the network.

        For the empty coalition it is exactly 0.

        Shape: cells [B, N] (NaN: absent), coalitions [B, N] → [B, K].
        """
        present = coalitions & ~np.isnan(cells)
        vectors = np.stack([self._vectors(j, cells[:, j]) for j in range(cells.shape[1])], 1)
        vectors = vectors * present[..., None]
        sums = np.einsum("mn,bnd->bmd", self.factors, vectors)
        values = self.value_of_sums(sums) * present.any(1, keepdims=True)
        return np.asarray(values, dtype=np.float32)

    def value_of_sums(self, sums: Array) -> Array:
        """Return the mean over members of the value of their sums: [..., M, D] → [..., K]."""
        raw = self.rho(sums + self.bias) - self.rho(self.bias)
        if math.isfinite(self.cap):
            raw = self.cap * np.tanh(raw / self.cap)
        return np.asarray(raw.mean(-2), dtype=np.float32)

    def _vectors(self, column: int, cells: NDArray[np.float32]) -> Array:
        """Return ψ of a column's cells: [B] → [B, D]."""
        table, cells = self.tables[column], np.nan_to_num(cells)
        low = cells.astype(np.intp)
        high = np.minimum(low + 1, len(table) - 1)
        share = (cells - low)[:, None]
        return np.asarray((1 - share) * table[low] + share * table[high], dtype=np.float32)

    def rho(self, sums: Array) -> Array:
        """Return ρ: [..., D] → [..., K]."""
        for weight, bias in self.layers:
            sums = np.maximum(sums, self.slope * sums) @ weight.T + bias
        return sums


def export(network: SASANet) -> PortableNetwork | None:
    """Return a set network with a table of vectors as arrays; None for any other network."""
    marginal, slope = network.marginal, _SLOPES.get(network.architecture.activation)
    if not isinstance(marginal, SetValue) or slope is None:
        return None
    if marginal.ladder is not None or not isinstance(marginal.embedding, TableEmbedding):
        return None
    rows, offsets = _array(marginal.embedding.rows()), marginal.embedding.offsets.tolist()
    places = network.columns.places
    linear = [layer for layer in marginal.rho if isinstance(layer, nn.Linear)]
    one = np.ones((1, len(places)), dtype=np.float32)
    return PortableNetwork(
        tables=tuple(rows[o : o + n] for o, n in zip(offsets, places, strict=True)),
        factors=one if marginal.factors is None else _array(marginal.factors),
        bias=_array(marginal.bias),
        layers=tuple((_array(layer.weight), _array(layer.bias)) for layer in linear),
        slope=slope,
        cap=marginal.cap,
    )


def _array(tensor: Tensor) -> Array:
    return tensor.detach().cpu().numpy().copy()
