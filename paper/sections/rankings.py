"""Feature masking and adding: AP and AUC by ranking, beside the printed ones, and who is better."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.page import table
from paper.sections import words
from paper.sections.results import SETS, Found, Run, by_data, counted, judged
from paper.settings import read_printed, read_settings

_KEYS = ("ap", "auc")
_KINDS = {"masking": "Feature masking", "adding": "Feature adding"}
_HEAD = """## Which features matter: masking and adding

AP / AUC of SASANet's own v(S) without (masking), or with only (adding), each row's top k features
by |φ|, on {explained:,} test rows. Of a rare class up to a quarter of them are taken, and weights
undo that. ± is the deviation over models, each with rows of its own. Masking: lower is better;
adding: higher. "Own game": the explainer is asked about v(S) itself; else about the model with
absent features replaced. KernelSHAP has {kernel_samples} coalitions and {background} background
rows, FastSHAP {fastshap_steps:,} steps on 20,000 training rows.
"""
_CLAIMS = """
### SASANet's ranking against the others

Difference of AUC, mean over top 1 to 5, paired by model, with Nadeau and Bengio's 95 % interval.
Masking: below 0 is better for SASANet; adding: above 0.

"""


def rankings(found: Found) -> str:
    """Return the tables of both experiments, and the verdicts."""
    runs = by_data(found, "masking")
    text = ""
    for kind, title in _KINDS.items():
        for name, mine in runs.items():
            text += f"\n### {title}, {SETS[name]}, {counted(len(mine), 'model')}\n\n"
            text += _table(mine, kind, read_printed()[kind].get(name, {}))
    if not text:
        return ""
    return _HEAD.format(**read_settings("masking")) + text + _claims(runs) + words.RANKINGS


def _table(runs: list[Run], kind: str, printed: dict[str, Any]) -> str:
    rows = []
    for ranking in runs[0]["rankings"]:
        ours = np.array([[run["rankings"][ranking][kind][key] for run in runs] for key in _KEYS])
        rows.append([ranking, *_points(ours)])
        if ranking in printed:
            theirs = np.array([printed[ranking][key] for key in _KEYS])
            rows.append(["*paper*", *(f"*{a:.3f} / {b:.3f}*" for a, b in theirs.T)])
            gaps = (ours.mean(1) - theirs).T
            rows.append(["*difference*", *(f"*{a:+.3f} / {b:+.3f}*" for a, b in gaps)])
    return table(["ranking", *(f"top {k + 1}" for k in range(len(rows[0]) - 1))], rows)


def _points(ours: Any) -> list[str]:
    """Return a cell for each k of AP and AUC [2, models, k]."""
    means = [f"{a:.3f} / {b:.3f}" for a, b in ours.mean(1).T]
    if ours.shape[1] == 1:
        return means
    deviations = ours.std(1, ddof=1).T
    return [f"{m} ± {a:.3f} / {b:.3f}" for m, (a, b) in zip(means, deviations, strict=True)]


def _claims(runs: dict[str, list[Run]]) -> str:
    """Hold SASANet's ranking against the others by the paired differences of several models."""
    rows = []
    for kind, sign in (("masking", -1), ("adding", 1)):
        for name, mine in runs.items():
            for other in mine[0]["rankings"] if mine[1:] else ():
                if other != "SASANet":
                    gaps = [_lead(run["rankings"], other, kind) for run in mine]
                    rows.append([kind, SETS[name], other, *judged(gaps, mine, sign)])
    header = ["", "data", "SASANet − …", "mean [95 %]", "SASANet better?"]
    return _CLAIMS + table(header, rows) if rows else ""


def _lead(rankings: dict[str, Any], other: str, kind: str) -> float:
    ours, theirs = (np.mean(rankings[one][kind]["auc"]) for one in ("SASANet", other))
    return float(ours - theirs)
