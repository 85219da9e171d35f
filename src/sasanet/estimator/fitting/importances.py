"""How much each feature matters: mean |φ| over some training rows, as many as time allows."""

from __future__ import annotations

import math
import time

import numpy as np
import torch
from torch import Tensor

from sasanet.arrays import Floats
from sasanet.estimator.fitting.data import FitData
from sasanet.network import inference
from sasanet.network.sasanet import SASANet

_ROWS, _FEWEST_ROWS = 256, 16  # evenly spaced; with many classes fewer
_CELLS_AT_ONCE = 2**17  # between two looks at the clock
_FEWEST_PARTS = 16


def mean_attributions(network: SASANet, data: FitData, time_limit: float) -> Floats:
    """Return mean |φ| over training rows and classes, on the network's scale: [N].

    Under a time limit rows are explained a few at a time until it is reached, but some always are.
    """
    n_rows = max(_FEWEST_ROWS, _ROWS // data.n_outputs)
    rows = torch.from_numpy(data.cells[:: math.ceil(len(data.cells) / n_rows)])
    if time_limit == math.inf:
        return _sizes(network, rows)
    n_parts = max(_FEWEST_PARTS, math.ceil(rows.numel() / _CELLS_AT_ONCE))
    total, seen = np.zeros(1), 0
    for part in (rows[first::n_parts] for first in range(min(n_parts, len(rows)))):
        total, seen = total + len(part) * _sizes(network, part), seen + len(part)
        if time.monotonic() > data.start + time_limit:
            break
    return np.asarray(total / seen)


def _sizes(network: SASANet, rows: Tensor) -> Floats:
    sizes: Floats = inference.attributions(network, rows).abs().mean((0, 2)).numpy()
    return sizes
