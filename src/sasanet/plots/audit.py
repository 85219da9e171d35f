"""An audit with labels in, pictures of its value function out: how good, how calibrated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sasanet.errors import InvalidInputError, MissingPackageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sasanet.audit import Audit, SizeCalibration

# Told apart in grey: by lightness, by line and by marker.
_STYLES = (("#7fb3d5", ":", "s"), ("#2f7fb8", "--", "^"), ("#053061", "-", "o"))


def plot_audit(audit: Audit, axes: tuple[Axes, Axes] | None = None) -> tuple[Axes, Axes]:
    """Draw :func:`plot_value_curve` and :func:`plot_calibration` side by side.

    Parameters
    ----------
    audit : Audit
        Made with labels.
    axes : two matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    two Axes
    """
    _sizes(audit)
    left, right = _new_axes(2) if axes is None else axes
    return plot_value_curve(audit, left), plot_calibration(audit, ax=right)


def plot_value_curve(audit: Audit, ax: Axes | None = None) -> Axes:
    """Draw the loss of v(S) against the number of known features.

    Parameters
    ----------
    audit : Audit
        Made with labels.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    Axes
        The mean loss with its 95 % interval over rows, and the base value's loss.
    """
    sizes = _sizes(audit)
    ax = _new_axes(1)[0] if ax is None else ax
    known = [size.features for size in sizes]
    low, high = ([getattr(size, name) for size in sizes] for name in ("loss_low", "loss_high"))
    ax.fill_between(known, low, high, color=_STYLES[0][0], alpha=0.5, lw=0, label="95 % interval")
    ax.plot(known, [size.loss for size in sizes], "-o", color=_STYLES[2][0], ms=4, label="v(S)")
    base = float(np.mean([size.base_loss for size in sizes]))
    ax.axhline(base, color="0.35", ls="--", lw=1, label="base value: nothing known")
    ax.set_xticks(known)
    loss = "squared error, target²" if audit.task == "regression" else "cross-entropy, nats"
    ax.set_xlabel("number of known features |S|")
    ax.set_ylabel(f"loss of v(S) ({loss})")
    ax.set_title(f"What v(S) is worth, {sizes[0].n_rows:,} rows", fontsize=10)
    ax.margins(y=0.15)
    return _finish(ax)


def plot_calibration(
    audit: Audit, features: Sequence[int] | None = None, ax: Axes | None = None
) -> Axes:
    """Draw what v(S) predicts against what was observed, by the number of known features.

    Parameters
    ----------
    audit : Audit
        Made with labels.
    features : sequence of int, optional
        Up to three numbers of known features to show; by default few, half and all.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    Axes
        One line per number of known features, with 95 % intervals; the diagonal is calibrated.
    """
    shown = _chosen(_sizes(audit), features)
    ax = _new_axes(1)[0] if ax is None else ax
    ends = [v for size in shown for b in size.bins for v in (b.predicted, b.observed)]
    ax.plot([min(ends), max(ends)], [min(ends), max(ends)], color="0.6", lw=1, label="calibrated")
    for size, style in zip(shown, _STYLES[-len(shown) :], strict=True):
        _draw_bins(ax, size, *style)
    words = ("probability", "share")
    if audit.task == "regression":
        words = (audit.units, audit.units)
    elif audit.task == "multiclass":
        words = ("probability, every class", "share")
    ax.set_xlabel(f"predicted {words[0]}, v(S)")
    ax.set_ylabel(f"observed {words[1]}, 95 % interval")
    ax.set_title(f"Is v(S) calibrated? {shown[0].n_rows:,} rows", fontsize=10)
    return _finish(ax)


def _draw_bins(ax: Axes, size: SizeCalibration, colour: str, line: str, marker: str) -> None:
    """Draw one line of bins with an interval at each."""
    x, y, low, high = (
        np.array([getattr(part, name) for part in size.bins])
        for name in ("predicted", "observed", "low", "high")
    )
    label = f"{size.features} known, error {size.error:.3g} (noise {size.noise:.2g})"
    reach = np.maximum(0.0, [y - low, high - y])  # rounding may leave −1e-17
    ax.errorbar(x, y, yerr=reach, color=colour, ls=line, marker=marker, ms=5, lw=1.4,
                elinewidth=0.8, capsize=2, label=label)  # fmt: skip


def _sizes(audit: Audit) -> tuple[SizeCalibration, ...]:
    if not audit.calibration:
        raise InvalidInputError(
            "A plot of v(S) must have labels to compare with, got this audit was made "
            "without y; call model.audit(X, y)"
        )
    return audit.calibration


def _chosen(
    sizes: tuple[SizeCalibration, ...], features: Sequence[int] | None
) -> list[SizeCalibration]:
    """Return the sizes to show: of nothing known there is a single prediction, no curve."""
    there = {size.features: size for size in sizes}
    if features is None:
        curves = [size for size in sizes if size.features] or list(sizes)
        return [curves[i] for i in sorted({0, len(curves) // 2, len(curves) - 1})]
    if not 1 <= len(set(features)) <= len(_STYLES) or not set(features) <= set(there):
        raise InvalidInputError(
            f"features must be one to three of {list(there)}, got {list(features)}; "
            "leave it out for few, half and all"
        )
    return [there[number] for number in sorted(set(features))]


def _new_axes(n_axes: int) -> list[Axes]:
    try:
        from matplotlib import pyplot as plt
    except ImportError:
        raise MissingPackageError("matplotlib", "plots") from None
    _, axes = plt.subplots(1, n_axes, figsize=(5.2 * n_axes, 4.2), layout="constrained")
    return list(np.atleast_1d(axes))


def _finish(ax: Axes) -> Axes:
    ax.legend(frameon=False, fontsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    return ax
