"""The paper's pictures: overall and single-row attributions, SASANet beside KernelSHAP."""

from __future__ import annotations

from functools import partial
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from bench.page import paired_interval
from bench.runner import Job
from paper.explainers import make_case
from paper.settings import picture_folder, read_settings
from sasanet import SASANetClassifier
from sasanet.explanation.explanation import Explanation

NAMES = ("SASANet", "KernelSHAP")


def draw(name: str) -> dict[str, Any]:
    """Draw the pictures of one data set; return how large both kinds of attributions are."""
    mpl.use("Agg")
    case = make_case("figures", name, 0)
    settings, few = case.settings, case.X[: case.settings["kernel_rows"]]
    found = (case.model.explain(case.X), case.posthoc.kernel(few, own=False))
    picture_folder().mkdir(parents=True, exist_ok=True)
    _save(f"{name}-overall", found, partial(_overall, shown=settings["shown"]))
    rows = _clear_rows(case.model, few, case.y)
    for kind, row in rows.items():
        _save(f"{name}-{kind}", found, partial(_row, row=row, shown=settings["shown"]))
    sizes = {
        which: np.abs(one.values[: len(few)]).sum(1)
        for which, one in zip(NAMES, found, strict=True)
    }
    gaps = sizes["KernelSHAP"] - sizes["SASANet"]
    return {
        "data": name,
        "rows": len(few),
        "prediction": {kind: float(found[0].prediction[row]) for kind, row in rows.items()},
        "sum_of_sizes": {which: float(size.mean()) for which, size in sizes.items()},
        "gap": paired_interval(gaps, test_share=0),  # rows are independent
    }


def _clear_rows(model: SASANetClassifier, X: Any, y: Any) -> dict[str, int]:
    """Return the positive and the negative row the model is surest of."""
    raw, label = np.asarray(model.decision_function(X)), np.asarray(y[: len(X)])
    return {
        "positive": int(np.where(label == 1, raw, -np.inf).argmax()),
        "negative": int(np.where(label == 0, raw, np.inf).argmin()),
    }


def _save(name: str, found: tuple[Explanation, ...], paint: Any) -> None:
    # One scale for both: the paper says that one of them exaggerates.
    figure, axes = plt.subplots(1, 2, figsize=(12, 4.6), layout="constrained", sharex=True)
    for ax, label, one in zip(axes, NAMES, found, strict=True):
        paint(ax, one)
        ax.set_title(label)
        ax.axvline(0, color="0.6", linewidth=0.8, zorder=0)
        ax.set_xlabel("attribution, log-odds")
        ax.spines[["top", "right", "left"]].set_visible(False)
    figure.savefig(picture_folder() / f"{name}.png", dpi=90)
    plt.close(figure)


def _top(values: Any, shown: int) -> Any:
    """Return the features with the largest mean |φ|, the largest last: matplotlib counts up."""
    return np.argsort(np.abs(np.atleast_2d(values)).mean(0))[::-1][:shown][::-1]


def _overall(ax: Axes, one: Explanation, shown: int) -> None:
    """Draw one dot per row and feature, dark for high numbers and rare levels."""
    top = _top(one.values, shown)
    for height, j in enumerate(top):
        dots = one.values[:, j], height + _swarm(one.values[:, j])
        ax.scatter(*dots, c=_ranks(one, j), cmap="viridis_r", s=5, linewidths=0, rasterized=True)
    ax.set_yticks(range(len(top)), [_short(one.feature_names[j]) for j in top])


def _swarm(values: Any) -> Any:
    """Return how far each dot is moved up or down: the more, the more dots have about its value."""
    edges = np.histogram_bin_edges(values, bins=40)
    found = np.digitize(values, edges)
    crowd = np.bincount(found)[found]
    return np.random.RandomState(0).uniform(-0.4, 0.4, len(values)) * np.sqrt(crowd / crowd.max())


def _ranks(one: Explanation, j: int) -> Any:
    """Return each cell's place among its column's, from 0 to 1; missing cells in the middle."""
    column = one.data.iloc[:, j]
    if column.dtype.kind not in "iufb":
        column = column.astype(str).map(-column.astype(str).value_counts())
    return column.rank(pct=True).fillna(0.5).to_numpy(dtype=float)


def _row(ax: Axes, one: Explanation, row: int, shown: int) -> None:
    """Draw the largest attributions of one row as bars, with the cells they belong to."""
    values = one.values[row]
    top = _top(values, shown)
    colours = ["#3b6ea5" if values[j] > 0 else "#c0504d" for j in top]
    ax.barh(range(len(top)), values[top], color=colours)
    cells = one.data.iloc[row]
    words = [(one.feature_names[j], _cell(cells.iloc[j])) for j in top]
    labels = [f"{_short(name, 22)} = {_short(cell, 12)}" for name, cell in words]
    ax.set_yticks(range(len(top)), labels)


def _cell(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float | np.floating) else str(value).strip()


def _short(text: str, most: int = 26) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def jobs() -> dict[str, Job]:
    """Return one job for each data set."""
    return {f"figures-{name}": partial(draw, name) for name in read_settings("figures")["data"]}
