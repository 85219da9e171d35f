"""How the prediction of one row forms as its features become known, the strongest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import expit, softmax

from sasanet.arrays import Floats, Masks
from sasanet.explanation.wording import cell_text, short_names, shorten
from sasanet.plots.axes import DARK, new_axes, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sasanet.estimator.sasanet import SASANetModel

_NOTHING = "nothing known"


def arrival_data(model: SASANetModel, X: Any, row: int = 0) -> pd.DataFrame:
    """Return v(S) of one row as its features arrive, the strongest attribution first.

    Parameters
    ----------
    model : SASANetClassifier or SASANetRegressor
        A fitted model.
    X : table (n, d)
        Rows.
    row : int
        The position of the row.

    Returns
    -------
    DataFrame
        One line per arrival, the first before any: ``feature`` and ``cell``; ``value``, the raw
        output (for multiclass that of the class predicted in the end); ``certainty``, its
        probability (NaN for regression). Missing cells never arrive.

    Examples
    --------
    >>> from sasanet import SASANetClassifier
    >>> from sasanet.datasets import load_penguins
    >>> X, y = load_penguins()
    >>> model = SASANetClassifier(random_state=0, max_epochs=3, teacher_weight=0).fit(X, y)
    >>> data = arrival_data(model, X)
    >>> data["feature"].iloc[0], len(data)
    ('nothing known', 8)
    """
    e = model.explain(X)[row]
    multiclass = e.values.ndim == 3
    k = int(e.prediction[0].argmax()) if multiclass else 0
    values = e.values[0, :, k] if multiclass else e.values[0]
    present = e.data.notna().to_numpy()[0]
    order = [int(j) for j in np.argsort(-np.abs(values), kind="stable") if present[j]]
    raw = model.value(e.data, _growing_coalitions(order, len(values)))[0]
    raw = raw.reshape(len(order) + 1, -1)
    certainty = _certainty(raw, k) if model.target_.labels else np.full(len(raw), np.nan)
    return pd.DataFrame(
        {
            "feature": [_NOTHING, *(e.feature_names[j] for j in order)],
            "cell": ["", *(cell_text(e.data.iloc[0, j]) for j in order)],
            "value": raw[:, k],
            "certainty": certainty,
        }
    )


def _growing_coalitions(order: list[int], n_features: int) -> Masks:
    """Return the coalition after each arrival, the first empty: (1, arrivals + 1, d)."""
    known = np.zeros((1, len(order) + 1, n_features), dtype=bool)
    for step, feature in enumerate(order, start=1):
        known[0, step:, feature] = True
    return known


def _certainty(raw: Floats, k: int) -> Floats:
    """Return the probability of the class predicted in the end: (m, K) → (m,)."""
    if raw.shape[1] == 1:  # log-odds; the class they end at
        sign = 1 if raw[-1, 0] > 0 else -1
        return np.asarray(expit(sign * raw[:, 0]))
    return np.asarray(softmax(raw, axis=1)[:, k])


def plot_arrival(
    model: SASANetModel, X: Any, row: int = 0, top: int = 15, ax: Axes | None = None
) -> Axes:
    """Draw how the prediction of one row forms as its features arrive.

    Parameters
    ----------
    model, X, row
        As for :func:`arrival_data`.
    top : int
        How many arrivals to show; all later ones are one step.
    ax : matplotlib Axes, optional
        Where to draw.

    Returns
    -------
    Axes
        From top to bottom v(S) after each arrival; for classes with the certainty at the right.

    Examples
    --------
    >>> from sasanet import SASANetClassifier
    >>> from sasanet.datasets import load_penguins
    >>> X, y = load_penguins()
    >>> model = SASANetClassifier(random_state=0, max_epochs=3, teacher_weight=0).fit(X, y)
    >>> ax = plot_arrival(model, X, row=5)
    >>> ax.get_yticklabels()[0].get_text()
    'nothing known'
    """
    data = _join_late_arrivals(arrival_data(model, X, row), top)
    if ax is None:
        ax = new_axes((7.5, 0.34 * len(data) + 1.3))
    heights = np.arange(len(data))[::-1]
    values = data["value"].to_numpy()
    ax.step(values, heights, where="pre", color="0.6", lw=1)
    ax.plot(values, heights, ls="", marker="o", ms=5, color=DARK)
    ax.axvline(values[-1], color="0.5", lw=0.8, ls="--")
    ax.set_yticks(heights, _tick_labels(data))
    for height, share in zip(heights, data["certainty"], strict=True):
        if not np.isnan(share):
            ax.annotate(f"{100 * share:.0f} %", (1.01, height), xycoords=("axes fraction", "data"),
                        va="center", fontsize=9)  # fmt: skip
    ax.margins(x=0.06)
    ax.set_xlabel(f"v(S) of what is known ({model.target_.units})")
    if model.target_.labels:
        ax.set_xlabel(
            f"{ax.get_xlabel()}\nat the right: certainty of the class predicted in the end"
        )
    return tidy(ax)


def _join_late_arrivals(data: pd.DataFrame, top: int) -> pd.DataFrame:
    """Return the first arrivals, and all others as one."""
    if len(data) <= top + 2:
        return data
    last = data.iloc[[-1]].assign(feature=f"{len(data) - top - 1} other features", cell="")
    return pd.concat([data.iloc[: top + 1], last])


def _tick_labels(data: pd.DataFrame) -> list[str]:
    """Return the label of each arrival; names and cells are shortened separately."""
    names = short_names(data["feature"].tolist()[1:], 30)
    cells = [f" = {shorten(cell, 18)}" if cell else "" for cell in data["cell"].tolist()[1:]]
    return [_NOTHING, *(f"+ {name}{cell}" for name, cell in zip(names, cells, strict=True))]
