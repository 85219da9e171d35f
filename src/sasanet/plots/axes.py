"""What every plot needs: fresh axes where none are given, and a calm frame."""

from __future__ import annotations

from collections.abc import Sequence
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


def short_names(names: Sequence[str], length: int) -> list[str]:
    """Return names that fit; what all begin with goes first where cutting would make them equal.

    Examples
    --------
    >>> short_names(["age", "a name with many words"], 12)
    ['age', 'a name …ords']
    >>> short_names(["question_of_a_survey_1_of_2", "question_of_a_survey_2_of_2"], 12)
    ['…1_of_2', '…2_of_2']
    """
    short = [shorten(name, length) for name in names]
    if len({*short}) == len({*names}):
        return short
    signs = enumerate(zip(*names, strict=False))
    begin = next((i for i, column in signs if len({*column}) > 1), 0)
    return [shorten(f"…{name[begin:]}", length) for name in names]


def shorten(text: str, length: int) -> str:
    """Return the text, cut in its middle when it is longer: both ends of a name tell."""
    if len(text) <= length:
        return text
    front = (length - 1) * 2 // 3
    return f"{text[:front]}…{text[len(text) - (length - 1 - front) :]}"
