"""Attributions against reference values: how large the errors are, and whether ranks agree.

Sizes: n rows, N features, K outputs.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from sasanet import intervals
from sasanet.arrays import Floats
from sasanet.audit.certificate import Finding
from sasanet.audit.reference import ReferenceValues

_SHARE = "RMSE / mean over rows of the largest |φ|"
_R2 = "1 − squared error / spread of the true values"


def compare(
    name: str, phi: Floats, reference: ReferenceValues, present: NDArray[np.bool_], scale: float
) -> list[Finding]:
    """Return RMSE, its share of a row's largest value, R², rank agreement and top-3 overlap.

    Over present cells: missing ones are 0 on both sides and would only flatter. The noise of the
    reference values adds to the squared error and to the spread; it is subtracted from both.

    Shape: phi (n, N, K), present (n, N); the scale turns both into the target's units.
    """
    values, variance = reference.values, reference.variance
    columns = np.stack(
        [
            ((phi - values) ** 2 - variance).sum(axis=(1, 2)),
            values.sum(axis=(1, 2)),
            (values**2 - variance).sum(axis=(1, 2)),
            present.sum(axis=1) * float(phi.shape[2]),
            np.abs(values).max(axis=1).mean(axis=1),
        ],
        axis=1,
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        noise = variance.sum() / columns[:, 3].sum()
        largest, spread = columns[:, 4].mean(), spread_of(columns.mean(axis=0))
        noises = np.array([np.sqrt(noise) * scale, np.sqrt(noise) / largest, noise / spread])
    noises[~np.isfinite(noises)] = math.nan
    rmse, share, r2 = (intervals.bootstrap(f, columns) for f in (rmse_of, _share, r2_of))
    rmse = scale * rmse[0], scale * rmse[1], scale * rmse[2]
    words = f"over present cells; {100 * share[0]:.2f} % of the largest attribution of a row"
    return [
        Finding(f"{name} RMSE", *rmse, float(noises[0]), reference.n_orders, note=words),
        Finding(f"{name} RMSE share", *share, float(noises[1]), reference.n_orders, note=_SHARE),
        Finding(f"{name} R²", *r2, float(noises[2]), reference.n_orders, note=_R2),
        *_agreements(name, phi, reference, present),
    ]


def rmse_of(m: Floats) -> Floats:
    """Return the root of the squared error, from means of columns: (..., c) → (...)."""
    return np.sqrt(np.maximum(0.0, m[..., 0] / m[..., 3]))


def _share(m: Floats) -> Floats:
    return rmse_of(m) / m[..., 4]


def spread_of(m: Floats) -> Floats:
    """Return the variance of the true values, from means of columns: (..., c) → (...)."""
    return m[..., 2] / m[..., 3] - (m[..., 1] / m[..., 3]) ** 2


def r2_of(m: Floats) -> Floats:
    """Return the share of the spread that is found, from means of columns: (..., c) → (...)."""
    spread = spread_of(m)
    return 1 - m[..., 0] / m[..., 3] / np.where(spread > 0, spread, np.nan)


def _agreements(
    name: str, phi: Floats, reference: ReferenceValues, present: NDArray[np.bool_]
) -> list[Finding]:
    """Return rank agreement and top-3 overlap of rows with more than three present features.

    The noise is how far the reference values fall short of agreeing with themselves once as much
    sampling error is added again.
    """
    rows = present.sum(axis=1) > 3
    a, b, known = phi[rows], reference.values[rows], present[rows, :, None]
    disturbed = np.random.default_rng(0).normal(b, np.sqrt(reference.variance[rows]))
    findings = []
    for what, agree, note in (
        ("rank agreement", _spearman, "Spearman per row"),
        ("top-3 overlap", _top3, "share of the three strongest features in common"),
    ):
        per_row, again = agree(a, b, known), agree(disturbed, b, known)
        found = intervals.mean(per_row) if len(per_row) > 1 else intervals.UNDEFINED
        noise = max(0.0, 1.0 - float(again.mean())) if reference.variance.any() else 0.0
        findings.append(Finding(f"{name} {what}", *found, noise, reference.n_orders, note=note))
    return findings


def _spearman(a: Floats, b: Floats, present: NDArray[np.bool_]) -> Floats:
    """Return each row's rank correlation, mean over outputs: (n, N, K) twice → (rows,).

    Reference values that are all equal have no ranks to agree with and are left out; attributions
    that are all equal agree by 0 with reference values that differ.
    """
    if not len(a):
        return np.empty(0)
    x, y = (rankdata(np.where(present, part, np.nan), axis=1, nan_policy="omit") for part in (a, b))
    x, y = (np.nan_to_num(part - np.nanmean(part, axis=1, keepdims=True)) for part in (x, y))
    size_x, size_y = (x**2).sum(axis=1), (y**2).sum(axis=1)
    ranked = size_y > 0
    found = (x * y).sum(axis=1) / np.sqrt(np.where(size_x * size_y > 0, size_x * size_y, 1.0))
    kept = ranked.any(axis=1)
    return (found * ranked).sum(axis=1)[kept] / ranked.sum(axis=1)[kept]


def _top3(a: Floats, b: Floats, present: NDArray[np.bool_]) -> Floats:
    """Return the share of the three strongest features in common: (n, N, K) twice → (n,)."""
    places = [
        np.argsort(np.argsort(np.where(present, -np.abs(x), 1.0), axis=1), axis=1) for x in (a, b)
    ]
    return ((places[0] < 3) & (places[1] < 3)).sum(axis=1).mean(axis=1) / 3
