"""AUC by the number of present features: a table, a picture and paired differences."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bench.page import spread, table
from paper.sections import words
from paper.sections.results import SETS, Found, Run, by_data, counted, judged
from paper.settings import picture_folder, read_settings

_HEAD = """## Predicting from some features

AUC when a given number of random features is present. One SASANet predicts for all numbers; "sep"
models, not tuned, are trained for one number each in {limit} seconds, on rows that keep as many
random cells, drawn once. The paper shows this as a picture without figures.
"""
_LINES = {"SASANet": "o-", "SASANet (sep)": "s--", "MLP (sep)": "^:"}


def subsets(found: Found) -> str:
    """Return a table and a picture for each data set."""
    text = ""
    for name, runs in by_data(found, "values").items():
        draw(name, runs)
        text += f"\n### {SETS[name]}, {counted(len(runs), 'seed')}\n\n{_table(runs)}"
        text += f"\n![{SETS[name]}: AUC by present features](figures/{name}-values.png)\n"
    limit = read_settings("values")["time_limit"]
    return _HEAD.format(limit=limit) + text + words.SUBSETS if text else ""


def _table(runs: list[Run]) -> str:
    others = [model for model in _LINES if model != "SASANet"]
    header = ["present features", *_LINES]
    for other in others:
        header += [f"SASANet − {other} [95 %]", "SASANet better?"]
    rows = []
    for points in zip(*(run["curve"] for run in runs), strict=True):
        cells = [spread([point[model] for point in points]) for model in _LINES]
        for other in others:
            cells += judged([p["SASANet"] - p[other] for p in points], runs, 1)
        rows.append([str(points[0]["features"]), *cells])
    return table(header, rows)


def draw(name: str, runs: list[Run]) -> Path:
    """Draw AUC against the number of present features; return the picture's file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    FigureCanvasAgg(figure)
    ax = figure.add_subplot()
    sizes = [point["features"] for point in runs[0]["curve"]]
    for model, line in _LINES.items():
        auc = np.array([[point[model] for point in run["curve"]] for run in runs])
        ax.plot(sizes, auc.mean(0), line, label=model, markersize=4, linewidth=1.2)
    ax.set_xlabel("present features")
    ax.set_ylabel("AUC")
    ax.set_title(SETS[name])
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    path = picture_folder() / f"{name}-values.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=90)
    return path
