"""What every plot needs: fresh axes where none are given, and a calm frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sasanet.errors import MissingPackageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def new_axes(size: tuple[float, float]) -> Axes:
    """Return the axes of a new figure, or say what to install."""
    try:
        from matplotlib import pyplot as plt
    except ImportError:
        raise MissingPackageError("matplotlib", "plots") from None
    _, ax = plt.subplots(figsize=size, layout="constrained")
    return ax


def tidy(ax: Axes, legend_above: bool = False) -> Axes:
    """Take away the frame's upper and right side; show a legend where something is named."""
    ax.spines[["top", "right"]].set_visible(False)
    if ax.get_legend_handles_labels()[0] and legend_above:
        ax.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0, 1), ncols=3)
    elif ax.get_legend_handles_labels()[0]:
        ax.legend(frameon=False, fontsize=8)
    return ax
