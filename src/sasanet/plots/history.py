"""The training of a model: its loss by epoch, and which epoch was kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from sasanet.plots.axes import new_axes, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sasanet.estimator.sasanet import SASANetModel


def history_data(model: SASANetModel) -> pd.DataFrame:
    """Return one line per epoch: phase, losses, steps, seconds.

    Parameters
    ----------
    model : SASANetClassifier or SASANetRegressor
        A fitted model.

    Returns
    -------
    DataFrame
        ``model.history_`` as a table, indexed by the epoch.

    Examples
    --------
    >>> from sasanet import SASANetClassifier
    >>> from sasanet.datasets import load_penguins
    >>> model = SASANetClassifier(random_state=0, max_epochs=3, teacher_weight=0).fit(
    ...     *load_penguins()
    ... )
    >>> history_data(model)["phase"].tolist()
    ['value', 'value', 'value']
    """
    data = pd.DataFrame(model.history_)
    return data.set_axis(pd.RangeIndex(1, len(data) + 1, name="epoch"), axis=0)


def plot_history(model: SASANetModel, ax: Axes | None = None) -> Axes:
    """Draw the training loss and, where rows were held out, the validation loss by epoch.

    Parameters
    ----------
    model : SASANetClassifier or SASANetRegressor
        A fitted model.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    Axes
        A ring marks the lowest validation loss of each phase, whose weights were kept; a vertical
        line marks the beginning of the next phase.

    Examples
    --------
    >>> from sasanet import SASANetClassifier
    >>> from sasanet.datasets import load_penguins
    >>> model = SASANetClassifier(random_state=0, max_epochs=3, teacher_weight=0).fit(
    ...     *load_penguins()
    ... )
    >>> plot_history(model).get_xlabel()
    'epoch'
    """
    data = history_data(model)
    ax = new_axes((6.0, 4.0)) if ax is None else ax
    ax.plot(data.index, data["train_loss"], color="0.55", ls="--", lw=1.4, label="training loss")
    if "validation_loss" in data:
        judged = data["validation_loss"].dropna()
        ax.plot(judged.index, judged, color="black", marker=".", lw=1.4, label="validation loss")
        best = judged.groupby(data["phase"]).idxmin()
        ax.plot(best, judged[best], ls="", marker="o", ms=11, mfc="none", mec="black",
                label="kept")  # fmt: skip
    _mark_phases(ax, data["phase"])
    step = max(1, int(np.ceil(len(data) / 10)))
    ax.set_xticks(data.index[::step])
    ax.set_xlabel("epoch")
    ax.set_ylabel("loss")
    return tidy(ax)


def _mark_phases(ax: Axes, phases: pd.Series) -> None:
    """Separate the phases of training, and name them if there are several."""
    starts = phases.index[phases != phases.shift()]
    if len(starts) < 2:
        return
    for start in starts:
        ax.annotate(str(phases[start]), (start - 0.4, 1.0), va="bottom", fontsize=8,
                    xycoords=("data", "axes fraction"))  # fmt: skip
    for start in starts[1:]:
        ax.axvline(start - 0.5, color="0.5", lw=0.8, ls=":")
