"""Seconds of every explainer and its distance to the true Shapley values."""

from __future__ import annotations

from statistics import mean
from typing import Any

from bench.page import spread, table
from paper.sections import words
from paper.sections.results import SETS, Found, Run, by_data, counted, judged, of
from paper.settings import read_printed, read_settings

_HEAD = """## Time and distance to the true Shapley values

Seconds for {explained:,} test rows on {cores}, KernelSHAP timed on {kernel_rows} of them and LIME
on {lime_rows}; RMSE to the Shapley values of v(S), log-odds, on {kernel_rows} rows. A rare class
has up to a quarter of the rows. ± is the deviation over models, each with rows of its own.
KernelSHAP has {kernel_samples} coalitions and {background} background rows, FastSHAP
{fastshap_steps:,} steps on 20,000 training rows. The paper ran on a GPU and explained another
model: compare the ratio of its seconds to SASANet's. [Faithfulness](faithful.md) has SASANet's
distance on more rows and orders.
"""
_CLAIMS = """
### Is SASANet closest to the true values?

Difference of RMSE, paired by model, with Nadeau and Bengio's 95 % interval; below 0 SASANet is
closer.

"""


def timing(found: Found) -> str:
    """Return tables of seconds and of distances for each data set, and the verdicts."""
    runs, text = by_data(found, "timing"), ""
    for name, mine in runs.items():
        printed = read_printed()["timing"].get(name, {})
        text += f"\n### {SETS[name]}, {counted(len(mine), 'model')}\n\n"
        text += f"{_seconds(mine, printed)}\n{_distances(mine, printed)}\n{_truth(mine)}"
    if not text:
        return ""
    cores = counted(max(run["threads"] for run in of(found, "timing")), "CPU core")
    head = _HEAD.format(cores=cores, **read_settings("timing"))
    return head + text + _claims(runs) + words.TIMING


def _seconds(runs: list[Run], printed: dict[str, Any]) -> str:
    rows = []
    base = printed.get("SASANet", {}).get("seconds")
    for name in runs[0]["seconds"]:
        ours = [run["seconds"][name] for run in runs]
        ratios = [run["seconds"][name] / run["seconds"]["SASANet"] for run in runs]
        learned = [run["training_seconds"].get(name, 0.0) for run in runs]
        theirs = printed.get(name, {}).get("seconds")
        rows.append(
            [
                name,
                spread(ours, 2),
                _number(theirs, 1),
                "–" if theirs is None else f"{mean(ours) - theirs:+.1f}",
                spread(ratios, 2),
                "–" if theirs is None else f"{theirs / base:.0f}",
                spread(learned, 0) if any(learned) else "",
            ]
        )
    header = ["explainer", "seconds", "paper", "difference", "times SASANet's", "paper"]
    return table([*header, "training, seconds"], rows)


def _distances(runs: list[Run], printed: dict[str, Any]) -> str:
    rows = []
    for name in runs[0]["seconds"]:
        if name not in runs[0]["as_given"]:
            continue
        cells = []
        for part, key in (("as_given", "rmse"), ("shifted", "shifted")):
            ours = [run[part][name] for run in runs]
            theirs = printed.get(name, {}).get(key)
            gap = "–" if theirs is None else f"{mean(ours) - theirs:+.3f}"
            cells += [spread(ours), _number(theirs, 3), gap]
        rows.append([name, *cells])
    header = ["explainer", "RMSE", "paper", "difference", "RMSE, shifted", "paper", "difference"]
    return table(header, rows)


def _truth(runs: list[Run]) -> str:
    first = runs[0]
    noise, size, moved = (
        mean(run[part][key] for run in runs)
        for part, key in (
            ("as_given", "noise of the truth"),
            ("as_given", "spread"),
            ("shifted", "spread"),
        )
    )
    return (
        f"Truth: {first['orders']:,} orders for each of {first['truth_rows']:,} rows, with a noise "
        f"of {noise:.4f} (taken out of RMSE); spread of φ {size:.3f}, shifted {moved:.3f}.\n"
    )


def _claims(runs: dict[str, list[Run]]) -> str:
    rows = []
    for part, which in (("as_given", "as given"), ("shifted", "shifted")):
        for name, mine in runs.items():
            for other in mine[0]["seconds"] if mine[1:] else ():
                if other != "SASANet" and other in mine[0][part]:
                    gaps = [run[part]["SASANet"] - run[part][other] for run in mine]
                    rows.append([which, SETS[name], other, *judged(gaps, mine, -1)])
    header = ["rows", "data", "SASANet − …", "mean [95 %]", "SASANet closer?"]
    return _CLAIMS + table(header, rows) if rows else ""


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"
