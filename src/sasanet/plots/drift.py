"""Drift: how the attributions of two tables differ, feature by feature."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from sasanet.explanation.explanation import Explanation
from sasanet.explanation.wording import shorten
from sasanet.plots.axes import DARK, LIGHT, new_axes, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_APART = 0.17  # half the distance of the two lines of a feature


def drift_data(
    explanation: Explanation, other: Explanation, *, top: int = 12, level: float = 0.05
) -> pd.DataFrame:
    """Return the features whose attributions moved most, with the middle 80 % of both tables.

    Parameters
    ----------
    explanation, other : Explanation
        Of rows of two tables, by the same model and of one output.
    top : int
        How many features to show, those with the largest shift.
    level : float
        Of the test, for all features together.

    Returns
    -------
    DataFrame
        The columns of :meth:`~sasanet.Explanation.drift`, then the middle 80 % of the rows:
        ``from``, ``to``, ``other_from`` and ``other_to``.

    Examples
    --------
    >>> rows = pd.DataFrame({"job": ["cook"] * 40})
    >>> e = Explanation(np.linspace(0, 1, 40)[:, None], np.zeros(40), rows, ("job",))
    >>> drift_data(e[:20], e[20:])["drifted"].tolist()
    [True]
    """
    found = explanation.drift(other, level).head(top)
    chosen = [explanation.feature_names.index(str(name)) for name in found.index]
    for part, prefix in ((explanation, ""), (other, "other_")):
        ends = np.quantile(part.values[:, chosen], [0.1, 0.9], axis=0)
        found[f"{prefix}from"], found[f"{prefix}to"] = ends
    return found


def plot_drift(
    explanation: Explanation,
    other: Explanation,
    *,
    top: int = 12,
    level: float = 0.05,
    ax: Axes | None = None,
) -> Axes:
    """Draw how the attributions of two tables differ.

    Parameters
    ----------
    explanation, other, top, level
        As for :func:`drift_data`.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    Axes
        Two lines per feature, the largest shift first: the middle 80 % of the rows of each table,
        with the mean. Features that drifted are marked by a star.

    Examples
    --------
    >>> rows = pd.DataFrame({"job": ["cook"] * 40})
    >>> e = Explanation(np.linspace(0, 1, 40)[:, None], np.zeros(40), rows, ("job",))
    >>> [label.get_text() for label in plot_drift(e[:20], e[20:]).get_yticklabels()]
    ['job *']
    """
    data = drift_data(explanation, other, top=top, level=level)
    ax = new_axes((6.4, 0.42 * len(data) + 1.5)) if ax is None else ax
    heights = np.arange(len(data))[::-1]
    tables = (("", DARK, "o", _APART, "table"), ("other_", LIGHT, "D", -_APART, "other table"))
    for prefix, colour, marker, offset, name in tables:
        lines = data[f"{prefix}from"], data[f"{prefix}to"]
        ax.hlines(heights + offset, *lines, color=colour, lw=2.5)
        means = data[f"{prefix}mean"]
        ax.plot(means, heights + offset, ls="", marker=marker, ms=5.5, color=colour, label=name)
    ax.axvline(0.0, color="0.5", lw=0.8, ls="--")
    marks = zip(data.index, data["drifted"], strict=True)
    ax.set_yticks(heights, [shorten(str(name), 36) + " *" * bool(moved) for name, moved in marks])
    ax.set_ylim(-0.6, len(data) - 0.4)
    ax.set_xlabel(f"attribution ({explanation.units}); * drifted, level {level:g} for all features")
    return tidy(ax, legend_above=True)
