"""One prediction from several: weights of at least 0 that out-of-fold predictions choose.

Sizes: T teachers, n rows, C classes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize, nnls
from scipy.special import logsumexp, softmax

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


def mean_loss(labels: Floats, expected: Floats, weights: Floats, squared: bool) -> float:
    """Return the weighted mean of the losses; ``expected`` may be one prediction for all rows."""
    return float(np.average(losses(labels, expected, squared), weights=weights))


def spread(labels: Floats, weights: Floats, squared: bool) -> float:
    """Return the loss of a constant prediction: the labels' variance or entropy."""
    return mean_loss(labels, np.average(labels, axis=0, weights=weights), weights, squared)


def stack(
    predictions: Sequence[Floats], labels: Floats, weights: Floats, squared: bool
) -> tuple[Floats, Floats]:
    """Return the weight of each teacher, and their weighted prediction of the same rows.

    Shape: T predictions and labels [n] (or [n, C]), weights [n] → [T], [n] (or [n, C]).
    """
    choose = _weigh_numbers if squared else _weigh_probabilities
    found = choose(predictions, labels, weights)
    return found, combine(predictions, found, labels, weights, squared)


def combine(
    predictions: Sequence[Floats], found: Floats, labels: Floats, weights: Floats, squared: bool
) -> Floats:
    """Return the weighted prediction of several teachers.

    Numbers are added around the mean of the labels; probabilities are combined by their logarithms
    and normalised, which also corrects teachers that are too sure or not sure enough.

    Shape: T predictions [n] (or [n, C]), found [T], labels and weights of the rows → as one of T.
    """
    if squared:
        mean = np.average(labels, weights=weights)
        return np.asarray(mean + (np.stack(predictions, 1) - mean) @ found)
    mixed = softmax(np.tensordot(found, _logarithms(predictions), 1), axis=1)
    return np.asarray(mixed[:, 1] if labels.ndim == 1 else mixed)


def _weigh_numbers(predictions: Sequence[Floats], labels: Floats, weights: Floats) -> Floats:
    """Return least-squares weights of at least 0: [T]."""
    mean = np.average(labels, weights=weights)
    root = np.sqrt(weights / weights.mean())
    centred = np.stack(predictions, 1) - mean
    return np.asarray(nnls(centred * root[:, None], (labels - mean) * root)[0])


def _weigh_probabilities(predictions: Sequence[Floats], labels: Floats, weights: Floats) -> Floats:
    """Return the weights of at least 0 with the smallest cross-entropy: [T]."""
    logs = _logarithms(predictions)
    wanted = np.stack([1 - labels, labels], 1) if labels.ndim == 1 else labels
    share = weights / weights.sum()

    def loss(found: Floats) -> tuple[float, Floats]:
        """Return the cross-entropy of softmax(Σ w_t log p_t), and its gradient."""
        scores = np.tensordot(found, logs, 1)
        value = share @ (logsumexp(scores, axis=1) - (scores * wanted).sum(1))
        errors = (softmax(scores, axis=1) - wanted) * share[:, None]
        return float(value), np.einsum("tnc,nc->t", logs, errors)

    start = np.full(len(logs), 1 / len(logs))
    bounds = [(0, None)] * len(logs)
    return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x)


def _logarithms(predictions: Sequence[Floats]) -> Floats:
    """Return log p of every class: T of [n] (the second class) or [n, C] → [T, n, C]."""
    shares = [np.stack([1 - p, p], 1) if p.ndim == 1 else p for p in predictions]
    return np.log(np.clip(np.stack(shares), _TINY, 1))
