"""Waterfall of one row: from the base value, feature by feature, to the prediction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sasanet.errors import InvalidInputError
from sasanet.explanation.explanation import Explanation
from sasanet.explanation.wording import cell_text, short_names
from sasanet.plots.axes import new_axes, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_UP, _DOWN = "#9e1b32", "#7db4e6"  # a dark red and a light blue: told apart in grey


def waterfall_data(explanation: Explanation, row: int = 0, top: int = 10) -> pd.DataFrame:
    """Return the bars of a waterfall, the strongest feature first.

    Parameters
    ----------
    explanation : Explanation
        Of one output.
    row : int
        The position of the row.
    top : int
        How many features get a bar of their own; the others share one, so that the bars always
        add up to the prediction.

    Returns
    -------
    DataFrame
        One line per bar: ``label``, ``start``, ``change``.

    Examples
    --------
    >>> rows = pd.DataFrame({"age": [41], "job": ["cook"]})
    >>> e = Explanation([[0.5, -0.2]], [1.0], rows, ("age", "job"))
    >>> waterfall_data(e)["change"].tolist()
    [0.5, -0.2]
    """
    if explanation.values.ndim != 2:
        raise InvalidInputError(
            "A waterfall shows one output, got an explanation of "
            f"{explanation.values.shape[2]}; choose one with explanation.output(name)"
        )
    one = explanation[row]
    values, cells = one.values[0], one.data.iloc[0]
    strongest = np.argsort(-np.abs(values), kind="stable")
    shown, rest = strongest[:top], strongest[top:]
    labels = [f"{one.feature_names[i]} = {_cell(cells.iloc[i])}" for i in shown]
    changes = list(values[shown])
    if len(rest):
        labels.append(f"{len(rest)} other features")
        changes.append(values[rest].sum())
    starts = one.base_values[0] + np.concatenate([[0.0], np.cumsum(changes)[:-1]])
    return pd.DataFrame({"label": labels, "start": starts, "change": changes})


def plot_waterfall(
    explanation: Explanation, row: int = 0, top: int = 10, ax: Axes | None = None
) -> Axes:
    """Draw how the features of one row lead from the base value to the prediction.

    Parameters
    ----------
    explanation, row, top
        As for :func:`waterfall_data`.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    Axes

    Examples
    --------
    >>> rows = pd.DataFrame({"age": [41], "job": ["cook"]})
    >>> e = Explanation([[0.5, -0.2]], [1.0], rows, ("age", "job"))
    >>> ax = plot_waterfall(e)
    >>> ax.get_xlabel()
    'log-odds: from the base value 1.00 to 1.30'
    """
    bars = waterfall_data(explanation, row, top)
    if ax is None:
        ax = new_axes((8, 0.4 * len(bars) + 1.2))
    ends = bars["start"] + bars["change"]
    colours = [_UP if change > 0 else _DOWN for change in bars["change"]]
    heights = np.arange(len(bars))[::-1]
    ax.barh(heights, bars["change"], left=bars["start"], color=colours, height=0.7)
    ax.vlines(ends[:-1], heights[:-1] - 1.35, heights[:-1] + 0.35, color="0.6", lw=0.8)
    _write_changes(ax, bars, ends, heights)
    base, total = bars["start"].iloc[0], ends.iloc[-1]
    ax.axvline(base, color="0.4", lw=0.8, ls=":")
    ax.set_yticks(heights, short_names(list(bars["label"]), 44))
    ax.use_sticky_edges = False  # bars would otherwise touch the frame
    ax.margins(x=0.15)
    ax.set_xlabel(f"{explanation.units}: from the base value {base:.2f} to {total:.2f}")
    return tidy(ax)


def _write_changes(ax: Axes, bars: pd.DataFrame, ends: pd.Series, heights: NDArray[Any]) -> None:
    """Write every change beside the end of its bar."""
    reach = max(bars["start"].max(), ends.max()) - min(bars["start"].min(), ends.min())
    for height, end, change in zip(heights, ends, bars["change"], strict=True):
        side = 1 if change > 0 else -1
        ax.text(end + side * 0.01 * reach, height, f"{change:+.2f}", va="center",
                ha="left" if side > 0 else "right", fontsize=9)  # fmt: skip


def _cell(value: object) -> str:
    text = cell_text(value)
    return text if len(text) <= 40 else text[:39] + "…"
