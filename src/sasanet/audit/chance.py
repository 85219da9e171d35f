"""What chance alone makes of a calibration error: errors of a v that is perfectly calibrated.

Labels are drawn anew from what v(S) says, and the error is measured on them in the same bins. Of
classes v(S) says everything; of a quantity only its expectation, so the spread of its labels is
that of the residuals, with their bins' mean taken away and with random signs (the wild bootstrap).

One draw uses the same random numbers for every size of S, as one label is compared with all of
them: the mean error over sizes then has its own distribution by chance, not a narrower one.

Sizes: n rows, C columns of predictions (the classes; 1 for binary and regression), b bins.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sasanet.arrays import Floats

_DRAWS = 200
_OF_SHARES = ("binary", "multiclass", "quantile")  # where labels are drawn as 0 and 1
_HIGH = 0.95  # share of the draws below what is called beyond chance


def chance_errors(
    predicted: Floats,
    observed: Floats,
    bins: NDArray[np.intp],
    task: str,
    weights: Floats | None = None,
) -> Floats:
    """Return calibration errors of labels drawn from the predictions themselves: (draws,).

    ``task`` may be an objective of a regression, see :attr:`sasanet.table.target.Target.loss`.

    Shape: predicted, observed, bins (number of the bin) (n, C), weights (n,) with mean 1.

    Examples
    --------
    >>> predicted = np.full((400, 1), 0.5)
    >>> found = chance_errors(predicted, predicted, np.zeros((400, 1), dtype=int), "binary")
    >>> bool(abs(found.mean() - np.sqrt(2 / np.pi) * 0.5 / 20) < 0.003)
    True
    """
    random = np.random.default_rng(0)  # one seed: every size gets the same draws
    centred = _centred(observed - predicted, bins, weights)
    found = []
    for _ in range(_DRAWS):
        uniform = random.random(len(predicted))
        if task not in _OF_SHARES:
            residual = centred * np.where(uniform < 0.5, -1.0, 1.0)[:, None]
        else:
            residual = _drawn_labels(predicted, uniform, task) - predicted
        if weights is not None:
            residual = residual * weights[:, None]
        found.append(np.abs(np.bincount(bins.ravel(), residual.ravel())).sum() / predicted.size)
    return np.array(found)


def high(errors: Floats) -> float:
    """Return what chance alone stays below 19 times out of 20."""
    return float(np.quantile(errors, _HIGH))


def _drawn_labels(predicted: Floats, uniform: Floats, task: str) -> Floats:
    """Return labels with the predicted probabilities: (n, C), (n,) → (n, C) of 0 and 1.

    A label below a quantile is also below the higher ones.
    """
    if predicted.shape[1] == 1 or task == "quantile":
        return (uniform[:, None] < predicted).astype(float)
    label = (uniform[:, None] > predicted.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return np.asarray(label[:, None] == np.arange(predicted.shape[1])).astype(float)


def _centred(residual: Floats, bins: NDArray[np.intp], weights: Floats | None) -> Floats:
    """Return residuals whose mean is 0 in every bin."""
    flat = bins.ravel()
    counts = np.ones(len(residual)) if weights is None else weights
    counts = np.broadcast_to(counts[:, None], residual.shape).ravel()
    mass = np.bincount(flat, counts)
    means = np.bincount(flat, residual.ravel() * counts) / np.where(mass > 0, mass, 1.0)
    return residual - means[bins]
