"""Arrays as text that a page can turn back into arrays: base64 of little-endian numbers."""

from __future__ import annotations

import base64
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sasanet.network.export import PortableNetwork

Packed = dict[str, Any]
_LARGEST = 2**15 - 1


def pack(array: NDArray[Any], kind: str) -> Packed:
    """Return an array as text: ``kind`` is f8, f4, i2, u2 or u1.

    Examples
    --------
    >>> pack(np.array([[1, 2]]), "u1")
    {'kind': 'u1', 'shape': [1, 2], 'text': 'AQI='}
    """
    data = np.ascontiguousarray(array, dtype=f"<{kind}").tobytes()
    return {"kind": kind, "shape": list(array.shape), "text": base64.b64encode(data).decode()}


def pack_reals(array: NDArray[Any]) -> Packed:
    """Return real numbers in 32 bits each; those that are too large or small, in a unit of theirs.

    Examples
    --------
    >>> "unit" in pack_reals(np.array([1.5])), "unit" in pack_reals(np.array([1e300]))
    (False, True)
    """
    largest, kind = float(np.abs(array).max(initial=0.0)), np.finfo(np.float32)
    if largest == 0 or float(kind.tiny / kind.eps) < largest < float(kind.max):
        return pack(array, "f4")
    unit = 2.0 ** math.floor(math.log2(largest))  # a power of two: dividing by it loses no digit
    return {**pack(array / unit, "f4"), "unit": unit}


def pack_fixed(array: NDArray[Any]) -> Packed:
    """Return an array of real numbers in 16 bits each, as multiples of one step."""
    step = float(np.abs(array).max(initial=0.0)) / _LARGEST or 1.0
    return {**pack(np.rint(array / step), "i2"), "step": step}


def pack_network(network: PortableNetwork) -> dict[str, Any]:
    """Return the network as text: cell vectors in 16 bits, the few shared weights in 32."""
    return {
        "tables": [pack_fixed(table) for table in network.tables],
        "factors": pack(network.factors, "f4"),
        "bias": pack(network.bias, "f4"),
        "layers": [[pack(weight, "f4"), pack(bias, "f4")] for weight, bias in network.layers],
        "slope": network.slope,
        "cap": network.cap if np.isfinite(network.cap) else None,
    }


def packed_size(network: PortableNetwork) -> int:
    """Return how many characters :func:`pack_network` will need for its arrays."""
    shared = [network.factors, network.bias, *(part for pair in network.layers for part in pair)]
    n_bytes = 2 * sum(table.size for table in network.tables) + 4 * sum(a.size for a in shared)
    return n_bytes * 4 // 3
