"""One prediction from several: weights of at least 0 that out-of-fold predictions choose.

Sizes: T teachers, n rows, C classes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize, nnls
from scipy.special import logsumexp, softmax

from sasanet.arrays import Floats
from sasanet.objectives import POWERS, deviance

_TINY = 1e-6


def losses(labels: Floats, expected: Floats, loss: str) -> Floats:
    """Return what predictions lose: [n].

    Squared errors of a ``"regression"``, deviances of ``"poisson"``, ``"tweedie"`` and ``"gamma"``,
    cross-entropies of one probability (``"binary"``) or of one per class (``"multiclass"``).
    """
    if loss in POWERS:
        return deviance(labels, np.maximum(expected, _TINY), POWERS[loss])
    if loss == "regression":
        return (labels - expected) ** 2
    expected = np.clip(expected, _TINY, 1 - _TINY)
    if labels.ndim > 1:
        return -(labels * np.log(expected)).sum(1)
    return -(labels * np.log(expected) + (1 - labels) * np.log(1 - expected))


def mean_loss(labels: Floats, expected: Floats, weights: Floats, loss: str) -> float:
    """Return the weighted mean of the losses; ``expected`` may be one prediction for all rows."""
    return float(np.average(losses(labels, expected, loss), weights=weights))


def spread(labels: Floats, weights: Floats, loss: str) -> float:
    """Return the loss of a constant prediction: the labels' variance, deviance or entropy."""
    return mean_loss(labels, np.average(labels, axis=0, weights=weights), weights, loss)


def stack(
    predictions: Sequence[Floats], labels: Floats, weights: Floats, loss: str
) -> tuple[Floats, Floats]:
    """Return the weight of each teacher, and their weighted prediction of the same rows.

    Shape: T predictions and labels [n] (or [n, C]), weights [n] → [T], [n] (or [n, C]).
    """
    if loss in POWERS:
        found = _weigh_rates(predictions, labels, weights, POWERS[loss])
    else:
        choose = _weigh_numbers if loss == "regression" else _weigh_probabilities
        found = choose(predictions, labels, weights)
    return found, combine(predictions, found, labels, weights, loss)


def combine(
    predictions: Sequence[Floats], found: Floats, labels: Floats, weights: Floats, loss: str
) -> Floats:
    """Return the weighted prediction of several teachers.

    Numbers are added around the mean of the labels; probabilities are combined by their logarithms
    and normalised, which also corrects teachers that are too sure or not sure enough. Rates are
    combined by their logarithms too, times the factor that the labels ask for.

    Shape: T predictions [n] (or [n, C]), found [T], labels and weights of the rows → as one of T.
    """
    if loss in POWERS:
        raw = _log_rates(predictions) @ found
        return np.asarray(np.exp(raw) * _factor(raw, labels, weights, POWERS[loss]))
    if loss == "regression":
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


def _weigh_rates(
    predictions: Sequence[Floats], labels: Floats, weights: Floats, power: float
) -> Floats:
    """Return the weights of at least 0 with the smallest deviance: [T]."""
    logs, share = _log_rates(predictions), weights / weights.sum()

    def loss(found: Floats) -> tuple[float, Floats]:
        """Return the deviance of c·exp(Σ w_t log r_t), and its gradient; c is the best one."""
        raw = logs @ found
        mean = np.exp(raw) * _factor(raw, labels, weights, power)
        slopes = 2 * mean ** (1 - power) * (mean - labels)  # by log mean
        return float(share @ deviance(labels, mean, power)), np.asarray((share * slopes) @ logs)

    start = np.full(len(predictions), 1 / len(predictions))
    bounds = [(0, None)] * len(start)
    return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x)


def _factor(raw: Floats, labels: Floats, weights: Floats, power: float) -> float:
    """Return the factor of exp(raw) with the smallest deviance: where its slope is 0."""
    observed = weights @ (labels * np.exp(raw * (1 - power)))
    return float(observed / (weights @ np.exp(raw * (2 - power))))


def _log_rates(predictions: Sequence[Floats]) -> Floats:
    """Return log r of T predicted rates, which are relative to their mean: [n, T]."""
    return np.log(np.clip(np.stack(predictions, 1), _TINY, 1 / _TINY))


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
