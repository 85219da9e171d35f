"""How well v(S) predicts labels, by the number of known features.

Sizes: n rows, N features, K outputs, C columns of predictions (the classes; 1 for binary and
regression), b bins.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit, softmax
from torch import Tensor

from sasanet import intervals
from sasanet.arrays import Floats
from sasanet.audit import chance
from sasanet.audit.certificate import Bin, Finding, SizeCalibration
from sasanet.errors import InvalidInputError
from sasanet.estimator.sasanet import SASANetModel
from sasanet.network import inference
from sasanet.network.coalitions import positions, random_orders
from sasanet.table.target import Target
from sasanet.training.losses import prediction_losses

_MOST_SIZES = 33  # of a table with more than 32 features: evenly spaced ones
_LARGEST_SCALE = 1e145  # of the target: losses square it, and means of these add thousands up


def calibrate(
    model: SASANetModel, cells: Tensor, numbers: Floats, generator: torch.Generator
) -> tuple[tuple[SizeCalibration, ...], Finding]:
    """Return the calibration of v(S) by size of S, and one finding about all sizes.

    Every row is evaluated with one random coalition of each size, from no feature to all.

    Shape: cells [n, N], numbers (n,): labels as the network sees them.
    """
    if model.target_.scale > _LARGEST_SCALE:
        raise InvalidInputError(
            f"y must have a spread below {_LARGEST_SCALE:g} to be audited with, because losses are "
            f"squares, got {model.target_.scale:.1e}; leave y out, or divide the target and fit "
            "again"
        )
    present = model.network_.present(cells)
    records, residuals, by_chance = [], [], []
    for size in _sizes(present.shape[1]):
        known = (positions(random_orders(present, generator)) < size) & present
        output = inference.coalition_outputs(model.network_, cells, known[:, None])
        record, residual, errors = _one_size(size, output, numbers, model.target_)
        records.append(record)
        residuals.append(residual)
        by_chance.append(errors)
    # The error of all sizes is their mean: one sum of absolute values, over the bins of all.
    columns = np.concatenate(residuals, axis=1) / len(residuals)
    found = intervals.bootstrap_around(_absolute_sum, columns)
    units = "in the target's units" if model.target_.task == "regression" else "a probability"
    errors = np.mean(by_chance, axis=0)  # one draw of the labels is compared with all sizes
    limit = chance.high(errors)
    note = f"mean over sizes of |predicted − observed| by bin, {units}; noise is that of the labels"
    name, noise = "value calibration error", float(errors.mean())
    return tuple(records), Finding(name, *found, noise, noise_high=limit, note=note)


def _sizes(n_features: int) -> list[int]:
    """Return the numbers of known features: all of them, or evenly spaced ones."""
    count = min(n_features + 1, _MOST_SIZES)
    return [round(size) for size in np.linspace(0, n_features, count).tolist()]


def _one_size(
    size: int, output: Tensor, numbers: Floats, target: Target
) -> tuple[SizeCalibration, Floats, Floats]:
    """Return the record of one size, observed − predicted by row and bin, (n, b), and by chance."""
    losses, base_losses = _losses(output, numbers, target)
    predicted, observed = _predicted_and_observed(output[:, 0].numpy(), numbers, target)
    bins = _bin_numbers(predicted)
    in_bin = bins[..., None] == np.unique(bins)  # (n, C, b)
    residual = ((observed - predicted)[..., None] * in_bin).mean(axis=1)
    by_chance = chance.chance_errors(predicted, observed, bins, target.task)
    names = ("loss", "gain", "error", "slope")
    found = (
        intervals.mean(losses),
        intervals.mean(base_losses - losses),
        intervals.bootstrap_around(_absolute_sum, residual),
        _slope(predicted, observed),
    )
    measured = {
        name + end: number
        for name, numbers_found in zip(names, found, strict=True)
        for end, number in zip(("", "_low", "_high"), numbers_found, strict=True)
    }
    record = SizeCalibration(
        features=size,
        n_rows=len(output),
        base_loss=float(base_losses.mean()),
        noise=float(by_chance.mean()),
        noise_high=chance.high(by_chance),
        bins=_make_bins(predicted, observed, in_bin, target.task),
        **measured,
    )
    return record, residual, by_chance


def _losses(output: Tensor, numbers: Floats, target: Target) -> tuple[Floats, Floats]:
    """Return the loss of v(S) and of the base value per row, in the target's units: two (n,)."""
    base, labels = torch.tensor(target.network_base, dtype=torch.float64), torch.tensor(numbers)
    found = [
        prediction_losses(out, labels, target.task)[:, 0].numpy() * target.scale**2
        for out in (output + base, base.expand_as(output))
    ]
    return found[0], found[1]


def _predicted_and_observed(
    output: Floats, numbers: Floats, target: Target
) -> tuple[Floats, Floats]:
    """Return what v(S) predicts and the labels, as probabilities or target units: two (n, C)."""
    raw = target.to_raw(output)
    if target.task == "binary":
        return expit(raw), numbers[:, None]
    if target.task == "multiclass":
        return softmax(raw, axis=1), np.eye(raw.shape[1])[numbers.astype(int)]
    return raw, target.to_raw(numbers[:, None])


def _bin_numbers(predicted: Floats) -> NDArray[np.intp]:
    """Return ten bins of equal count; equal predictions stay in one bin."""
    edges = np.unique(np.quantile(predicted, np.arange(1, 10) / 10, method="higher"))
    return np.searchsorted(edges, predicted, side="right")


def _make_bins(
    predicted: Floats, observed: Floats, in_bin: NDArray[np.bool_], task: str
) -> tuple[Bin, ...]:
    """Return every bin with an interval of what was observed: Wilson's for shares."""
    counts = in_bin.sum(axis=(0, 1)).astype(np.float64)
    means, seen = (np.einsum("nc,ncb->b", x, in_bin) / counts for x in (predicted, observed))
    if task == "regression":
        squares = np.einsum("nc,ncb->b", (observed - (in_bin @ seen)) ** 2, in_bin)
        with np.errstate(divide="ignore", invalid="ignore"):  # one row has no standard error
            half = 1.96 * np.sqrt(squares / (counts - 1) / counts)
        low, high = seen - half, seen + half
    else:
        low, high = intervals.wilson(seen * counts, counts)
    columns = (part.tolist() for part in (means, seen, low, high, counts.astype(int)))
    return tuple(Bin(*numbers) for numbers in zip(*columns, strict=True))


def _slope(predicted: Floats, observed: Floats) -> intervals.Interval:
    """Return the slope of observed on predicted, undefined where all predictions are equal."""
    if not np.ptp(predicted, axis=0).any():
        return intervals.UNDEFINED
    p, o = predicted - predicted.mean(), observed - observed.mean()
    columns = np.stack([part.mean(axis=1) for part in (p, o, p * p, p * o)], axis=1)

    def statistic(m: Floats) -> Floats:
        return (m[..., 3] - m[..., 0] * m[..., 1]) / (m[..., 2] - m[..., 0] ** 2)

    return intervals.bootstrap(statistic, columns)


def _absolute_sum(means: Floats) -> Floats:
    return np.abs(means).sum(axis=-1)
