"""One prediction from several: weights of at least 0 that out-of-fold predictions choose.

Sizes: T teachers, n rows, C classes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize, nnls
from scipy.special import logsumexp

from sasanet.arrays import Floats

_TINY = 1e-6


def losses(labels: Floats, expected: Floats, squared: bool) -> Floats:
    """Return squared errors, or cross-entropies of one probability or of one per class: [n]."""
    if squared:
        return (labels - expected) ** 2
    expected = np.clip(expected, _TINY, 1 - _TINY)
    if labels.ndim > 1:
        return -(labels * np.log(expected)).sum(1)
    return -(labels * np.log(expected) + (1 - labels) * np.log(1 - expected))


def stack(
    predictions: Sequence[Floats], labels: Floats, weights: Floats, squared: bool
) -> tuple[Floats, Floats]:
    """Return the weight of each teacher, and their weighted prediction of the same rows.

    Numbers are added around the mean of the labels; probabilities are combined by their logarithms
    and normalised, which also corrects teachers that are too sure or not sure enough.

    Shape: T predictions and labels [n] (or [n, C]), weights [n] → [T], [n] (or [n, C]).
    """
    if squared:
        return _stack_numbers(predictions, labels, weights)
    pairs = labels.ndim == 1  # two classes: the second's probability
    shares = [np.stack([1 - p, p], 1) if pairs else p for p in predictions]
    logs = np.log(np.clip(np.stack(shares), _TINY, 1))  # [T, n, C]
    wanted = np.stack([1 - labels, labels], 1) if pairs else labels
    share = weights / weights.sum()

    def loss(w: Floats) -> tuple[float, Floats]:
        """Return the cross-entropy of softmax(Σ w_t log p_t), and its gradient."""
        scores = np.tensordot(w, logs, 1)
        errors = np.exp(scores - logsumexp(scores, axis=1, keepdims=True)) - wanted
        value = share @ (logsumexp(scores, axis=1) * wanted.sum(1) - (scores * wanted).sum(1))
        return float(value), np.einsum("tnc,nc,n->t", logs, errors, share)

    start = np.full(len(logs), 1 / len(logs))
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(0, None)] * len(logs)).x
    scores = np.tensordot(found, logs, 1)
    mixed = np.exp(scores - logsumexp(scores, axis=1, keepdims=True))
    return found, mixed[:, 1] if pairs else mixed


def _stack_numbers(
    predictions: Sequence[Floats], labels: Floats, weights: Floats
) -> tuple[Floats, Floats]:
    mean = np.average(labels, weights=weights)
    centred = np.stack(predictions, 1) - mean
    root = np.sqrt(weights / weights.mean())
    found, _ = nnls(centred * root[:, None], (labels - mean) * root)
    return found, mean + centred @ found
