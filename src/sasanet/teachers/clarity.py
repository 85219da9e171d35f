"""How clear labels are that must stay as they are: those that quantiles are learned from.

A label mixed with a prediction has another spread, so no teacher softens the labels of quantiles.
But the rules for training go by how clear labels are. Dropout above all: it makes the network's
outputs noisy while it learns, so the intervals that fit the labels then are wider than the noise of
the labels alone, and stay that wide when nothing is dropped any more.

So one teacher predicts rows it has not learned from. The clarity is the share of the pinball loss
of constant quantiles that is gone when these move along with its prediction.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import numpy as np

from sasanet.arrays import Floats
from sasanet.malloc import steady_heap
from sasanet.objectives import pinball
from sasanet.table.quantities import weighted_quantiles
from sasanet.teachers.data import TeacherData
from sasanet.teachers.trees import make_trees
from sasanet.threads import one_thread_per_product

_FEWEST_ROWS = 40  # with fewer there is nothing to learn from
_MOST_ROWS, _MOST_CELLS = 20_000, 2**24  # more would hardly change the share
_UNSEEN = 0.2  # of these
_CLEAREST = 0.99


def clarity_of_quantiles(
    data: TeacherData, quantiles: Sequence[float], seed: int, time_limit: float = math.inf
) -> float:
    """Return the share of the pinball loss that is foreseen, between 0 and 0.99.

    It is 0 of too few rows, and where ``time_limit`` (seconds) is too short.
    """
    most = min(_MOST_ROWS, _MOST_CELLS // data.cells.shape[1])
    rows = np.random.RandomState(seed).permutation(np.flatnonzero(data.weights > 0))[:most]
    if len(rows) < _FEWEST_ROWS:
        return 0.0
    unseen, seen = (np.zeros(len(data.labels), dtype=bool) for _ in range(2))
    n_unseen = round(_UNSEEN * len(rows))
    unseen[rows[:n_unseen]] = seen[rows[n_unseen:]] = True
    with steady_heap(), one_thread_per_product():
        trees = make_trees(31, learning_rate=0.1)
        foreseen = trees.predict(data, seen, unseen, seed, time.monotonic() + time_limit)
    if np.isnan(foreseen).any():
        return 0.0
    labels, weights = data.labels[unseen], data.weights[unseen]
    least = _constant_loss(labels, weights, quantiles)
    left = _constant_loss(labels - foreseen, weights, quantiles)
    return float(np.clip(1 - left / least, 0, _CLEAREST)) if least > 0 else 0.0


def _constant_loss(labels: Floats, weights: Floats, quantiles: Sequence[float]) -> float:
    """Return the mean pinball loss of the labels' own quantiles."""
    constant = weighted_quantiles(labels, weights, quantiles)
    found = pinball(labels, np.broadcast_to(constant, (len(labels), len(constant))), quantiles)
    return float(np.average(found, weights=weights))
