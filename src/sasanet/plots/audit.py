"""The value function of an audit made with labels: how good v(S) is, and how well calibrated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from sasanet.audit.text import loss_name
from sasanet.errors import InvalidInputError
from sasanet.plots.axes import DARK, LIGHT, MIDDLE, new_row_of_axes, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sasanet.audit import Audit, SizeCalibration

_SIZE = (5.2, 4.2)  # of one plot, in inches
# Told apart without colour: by lightness, by line and by marker.
_STYLES = ((LIGHT, ":", "s"), (MIDDLE, "--", "^"), (DARK, "-", "o"))


def audit_data(audit: Audit) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return :func:`value_curve_data` and :func:`calibration_data`.

    Examples
    --------
    >>> from sasanet import SASANetClassifier
    >>> from sasanet.datasets import load_penguins
    >>> X, y = load_penguins()
    >>> model = SASANetClassifier(random_state=0, max_epochs=3, teacher_weight=0).fit(X, y)
    >>> curve, calibration = audit_data(model.audit(X, y, n_rows=16))
    >>> curve["features"].tolist()
    [0, 1, 2, 3, 4, 5, 6, 7]
    """
    return value_curve_data(audit), calibration_data(audit)


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

    Examples
    --------
    >>> from sasanet import SASANetClassifier
    >>> from sasanet.datasets import load_penguins
    >>> X, y = load_penguins()
    >>> model = SASANetClassifier(random_state=0, max_epochs=3, teacher_weight=0).fit(X, y)
    >>> left, right = plot_audit(model.audit(X, y, n_rows=16))
    >>> left.get_title()
    'What v(S) is worth, 128 rows'
    """
    _check_labelled(audit)
    if axes is None:
        left, right = new_row_of_axes(2, (2 * _SIZE[0], _SIZE[1]))
    else:
        left, right = axes
    return plot_value_curve(audit, ax=left), plot_calibration(audit, ax=right)


def value_curve_data(audit: Audit) -> pd.DataFrame:
    """Return the loss of v(S) by the number of known features.

    Parameters
    ----------
    audit : Audit
        Made with labels.

    Returns
    -------
    DataFrame
        One line per number of known ``features``: the mean ``loss`` with its 95 % interval over
        rows, ``low`` and ``high``, and ``base_loss``, that of the base value on the same rows.

    Examples
    --------
    >>> from sasanet import SASANetClassifier
    >>> from sasanet.datasets import load_penguins
    >>> X, y = load_penguins()
    >>> model = SASANetClassifier(random_state=0, max_epochs=3, teacher_weight=0).fit(X, y)
    >>> value_curve_data(model.audit(X, y, n_rows=16))["features"].tolist()
    [0, 1, 2, 3, 4, 5, 6, 7]
    """
    lines = [
        (size.features, size.loss, size.loss_low, size.loss_high, size.base_loss)
        for size in _check_labelled(audit)
    ]
    return pd.DataFrame(lines, columns=["features", "loss", "low", "high", "base_loss"])


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

    Examples
    --------
    >>> from sasanet import SASANetClassifier
    >>> from sasanet.datasets import load_penguins
    >>> X, y = load_penguins()
    >>> model = SASANetClassifier(random_state=0, max_epochs=3, teacher_weight=0).fit(X, y)
    >>> plot_value_curve(model.audit(X, y, n_rows=16)).get_xlabel()
    'number of known features |S|'
    """
    data = value_curve_data(audit)
    if ax is None:
        [ax] = new_row_of_axes(1, _SIZE)
    known = data["features"].to_numpy()
    ax.fill_between(known, data["low"], data["high"], color=LIGHT, alpha=0.5, lw=0,
                    label="95 % interval")  # fmt: skip
    ax.plot(known, data["loss"], "-o", color=DARK, ms=4, label="v(S)")
    base = float(data["base_loss"].mean())
    ax.axhline(base, color="0.35", ls="--", lw=1, label="base value: nothing known")
    ax.set_xticks(known)
    units = {"regression": ", target²", "huber": ", target²", "quantile": ", target"}
    nats = ", nats" if audit.task in ("", "binary", "multiclass") else ""
    loss = loss_name(audit) + units.get(audit.task, nats)
    ax.set_xlabel("number of known features |S|")
    ax.set_ylabel(f"loss of v(S) ({loss})")
    ax.set_title(f"What v(S) is worth, {audit.calibration[0].n_rows:,} rows", fontsize=10)
    ax.margins(y=0.15)
    return tidy(ax)


def calibration_data(audit: Audit, features: Sequence[int] | None = None) -> pd.DataFrame:
    """Return what v(S) predicts and what was observed, by the number of known features.

    Parameters
    ----------
    audit : Audit
        Made with labels.
    features : sequence of int, optional
        Up to three numbers of known features to show; by default few, half and all.

    Returns
    -------
    DataFrame
        One line per bin of rows with similar predictions: the number of known ``features``, the
        mean ``predicted`` and ``observed`` with its 95 % interval, ``low`` and ``high``; ``count``.

    Examples
    --------
    >>> from sasanet import SASANetClassifier
    >>> from sasanet.datasets import load_penguins
    >>> X, y = load_penguins()
    >>> model = SASANetClassifier(random_state=0, max_epochs=3, teacher_weight=0).fit(X, y)
    >>> calibration_data(model.audit(X, y, n_rows=16), features=[7]).shape
    (10, 6)
    """
    lines = [
        (size.features, part.predicted, part.observed, part.low, part.high, part.count)
        for size in _chosen_sizes(audit, features)
        for part in size.bins
    ]
    names = ["features", "predicted", "observed", "low", "high", "count"]
    return pd.DataFrame(lines, columns=names)


def plot_calibration(
    audit: Audit, features: Sequence[int] | None = None, ax: Axes | None = None
) -> Axes:
    """Draw what v(S) predicts against what was observed, by the number of known features.

    Parameters
    ----------
    audit, features
        As for :func:`calibration_data`.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    Axes
        One line per number of known features, with 95 % intervals; the diagonal is calibrated.

    Examples
    --------
    >>> from sasanet import SASANetClassifier
    >>> from sasanet.datasets import load_penguins
    >>> X, y = load_penguins()
    >>> model = SASANetClassifier(random_state=0, max_epochs=3, teacher_weight=0).fit(X, y)
    >>> plot_calibration(model.audit(X, y, n_rows=16), features=[7]).get_xlabel()
    'predicted probability, every class, v(S)'
    """
    shown = _chosen_sizes(audit, features)
    data = calibration_data(audit, features)
    if ax is None:
        [ax] = new_row_of_axes(1, _SIZE)
    ends = data[["predicted", "observed"]].to_numpy()
    diagonal = [ends.min(), ends.max()]
    ax.plot(diagonal, diagonal, color="0.6", lw=1, label="calibrated")
    for size, style in zip(shown, _STYLES[-len(shown) :], strict=True):
        label = f"{size.features} known, error {size.error:.3g} (noise {size.noise:.2g})"
        _draw_bins(ax, data[data["features"] == size.features], label, *style)
    predicted, observed = _axis_words(audit)
    ax.set_xlabel(f"predicted {predicted}, v(S)")
    ax.set_ylabel(f"observed {observed}, 95 % interval")
    ax.set_title(f"Is v(S) calibrated? {shown[0].n_rows:,} rows", fontsize=10)
    return tidy(ax)


def calibration_error_data(audit: Audit) -> pd.DataFrame:
    """Return the calibration error of v(S) by the number of known features, beside chance.

    Parameters
    ----------
    audit : Audit
        Made with labels.

    Returns
    -------
    DataFrame
        One line per number of known ``features``: the ``error`` with its 95 % interval, ``low`` and
        ``high``; the mean error by chance alone, ``noise``, and what chance stays below 19 times
        out of 20, ``noise_high``.

    Examples
    --------
    >>> from sasanet import SASANetClassifier
    >>> from sasanet.datasets import load_penguins
    >>> X, y = load_penguins()
    >>> model = SASANetClassifier(random_state=0, max_epochs=3, teacher_weight=0).fit(X, y)
    >>> calibration_error_data(model.audit(X, y, n_rows=16))["features"].tolist()
    [0, 1, 2, 3, 4, 5, 6, 7]
    """
    lines = [
        (size.features, size.error, size.error_low, size.error_high, size.noise, size.noise_high)
        for size in _check_labelled(audit)
    ]
    return pd.DataFrame(lines, columns=["features", "error", "low", "high", "noise", "noise_high"])


def plot_calibration_error(audit: Audit, ax: Axes | None = None) -> Axes:
    """Draw the calibration error of v(S) against the number of known features, beside chance.

    Parameters
    ----------
    audit : Audit
        Made with labels.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    Axes
        The error with its 95 % interval over rows; the shaded part is what chance alone makes of it
        19 times out of 20.

    Examples
    --------
    >>> from sasanet import SASANetClassifier
    >>> from sasanet.datasets import load_penguins
    >>> X, y = load_penguins()
    >>> model = SASANetClassifier(random_state=0, max_epochs=3, teacher_weight=0).fit(X, y)
    >>> plot_calibration_error(model.audit(X, y, n_rows=16)).get_ylabel()
    'calibration error of v(S)'
    """
    data = calibration_error_data(audit)
    if ax is None:
        [ax] = new_row_of_axes(1, _SIZE)
    known = data["features"].to_numpy()
    ax.fill_between(known, 0, data["noise_high"], color="0.85", lw=0,
                    label="chance, 19 times out of 20")  # fmt: skip
    ax.plot(known, data["noise"], "--", color="0.35", lw=1, label="chance, on average")
    arms = np.maximum(0.0, [data["error"] - data["low"], data["high"] - data["error"]])
    ax.errorbar(known, data["error"], yerr=arms, color=DARK, ls="-", marker="o", ms=4, lw=1.4,
                elinewidth=0.8, capsize=2, label="v(S), 95 % interval")  # fmt: skip
    ax.set_ylim(bottom=0)
    ax.set_xlabel("number of known features |S|")
    ax.set_ylabel("calibration error of v(S)")
    ax.set_title(f"Beyond chance? {audit.calibration[0].n_rows:,} rows", fontsize=10)
    return tidy(ax)


def _axis_words(audit: Audit) -> tuple[str, str]:
    """Return what is predicted and observed."""
    if audit.task == "quantile":
        return "level of the quantile", "share of labels below"
    if audit.task in ("poisson", "gamma", "tweedie"):
        return "rate", "rate"
    if audit.task in ("regression", "huber"):
        return audit.units, audit.units
    return "probability, every class" if audit.task == "multiclass" else "probability", "share"


def _draw_bins(
    ax: Axes, bins: pd.DataFrame, label: str, colour: str, line: str, marker: str
) -> None:
    """Draw one line of bins with an interval at each."""
    observed = bins["observed"].to_numpy()
    below, above = observed - bins["low"].to_numpy(), bins["high"].to_numpy() - observed
    arms = np.maximum(0.0, [below, above])  # rounding may leave −1e-17
    ax.errorbar(bins["predicted"], observed, yerr=arms, color=colour, ls=line, marker=marker,
                ms=5, lw=1.4, elinewidth=0.8, capsize=2, label=label)  # fmt: skip


def _check_labelled(audit: Audit) -> tuple[SizeCalibration, ...]:
    if not audit.calibration:
        raise InvalidInputError(
            "A plot of v(S) must have labels to compare with, got an audit made without y; "
            "call model.audit(X, y)"
        )
    return audit.calibration


def _chosen_sizes(audit: Audit, features: Sequence[int] | None) -> list[SizeCalibration]:
    """Return the sizes to show; of nothing known there is a single prediction, no curve."""
    sizes = {size.features: size for size in _check_labelled(audit)}
    if features is None:
        curves = [size for size in sizes.values() if size.features] or list(sizes.values())
        return [curves[i] for i in sorted({0, len(curves) // 2, len(curves) - 1})]
    chosen = sorted(set(features))
    if not 1 <= len(chosen) <= len(_STYLES) or not sizes.keys() >= set(chosen):
        raise InvalidInputError(
            f"features must be one to three of {list(sizes)}, got {list(features)}; "
            "leave it out for few, half and all"
        )
    return [sizes[number] for number in chosen]
