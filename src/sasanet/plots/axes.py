"""Axes for every plot: new ones where none are given, and the same plain frame around all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sasanet.errors import need_package

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DARK, MIDDLE, LIGHT = "#053061", "#2f7fb8", "#7fb3d5"  # told apart without colour too


def new_axes(size: tuple[float, float]) -> Axes:
    """Return the axes of a new figure, or say what to install."""
    return new_row_of_axes(1, size)[0]


def new_row_of_axes(n_axes: int, size: tuple[float, float]) -> list[Axes]:
    """Return axes side by side in a new figure; ``size`` is that of the figure, in inches."""
    need_package("matplotlib", "plots")
    from matplotlib import pyplot

    _, axes = pyplot.subplots(1, n_axes, figsize=size, layout="constrained")
    return list(np.atleast_1d(axes))


def tidy(ax: Axes, legend_above: bool = False) -> Axes:
    """Remove the upper and right side of the frame; show a legend where something is named."""
    ax.spines[["top", "right"]].set_visible(False)
    if ax.get_legend_handles_labels()[0] and legend_above:
        ax.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0, 1), ncols=3)
    elif ax.get_legend_handles_labels()[0]:
        ax.legend(frameon=False, fontsize=8)
    return ax
