"""Result files in, docs/measured/practice.md out: every figure on the page comes from a file."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from scipy import stats

from bench.page import table

PAGE = Path(__file__).parents[2] / "docs" / "measured" / "practice.md"
_FITS = ("SASANet", "LightGBM, all settings")
_KINDS = {
    "plain": "features, log-odds",
    "groups": "groups of two columns",
    "probability": "units of the probability",
    "interactions": "all pairs",
}


def write_page(results: Path) -> None:
    """Write the page from what has been measured so far."""
    PAGE.write_text(make_page(results), encoding="utf-8")


def make_page(results: Path) -> str:
    """Return the page of what has been measured so far."""
    every = {path.stem: json.loads(path.read_text()) for path in sorted(results.glob("*.json"))}
    found = {stem: run for stem, run in every.items() if "-" not in stem}
    text = _HEAD + _truth(found) + _speed(found)
    for kind, section in _SECTIONS.items():
        runs = {stem: run for stem, run in every.items() if stem.startswith(f"{kind}-")}
        if runs:
            text += section({stem.removeprefix(f"{kind}-"): run for stem, run in runs.items()})
    return text


_HEAD = """# Groups, units, pairs, rates and intervals

How close group values, attributions of the probability and interactions of pairs come to the true
ones of the same game, and how fast they are; how good rates, intervals and monotone columns are.
Written by `make bench-practice` from
`bench/results/practice/*.json`; default models, rows not seen in training. What they are is in
[deciding with a model](../guides/deciding.md).
"""


def _name(stem: str) -> str:
    return stem.replace("_", " ")


def _truth(found: dict[str, Any]) -> str:
    rows = [
        [_name(stem), str(run["columns"]), *(_r2(run[kind]) for kind in _KINDS)]
        for stem, run in found.items()
    ]
    run = next(iter(found.values()))
    return (
        "\n## R² against the model's own game\n\n"
        f"{run['rows']} rows against {run['orders']:,} random orders each, pairs on "
        f"{run['interactions']['rows']} rows against random coalitions. In parentheses: what the "
        "sampling noise of the truth alone would cost; it is subtracted, so a value may exceed 1."
        "\n\n" + table(["table", "columns", *_KINDS.values()], rows)
    )


def _r2(finding: dict[str, float]) -> str:
    return f"{finding['value']:.5f} ({finding['noise']:.5f})"


def _speed(found: dict[str, Any]) -> str:
    rows = []
    for stem, run in found.items():
        rates = [f"{run['rows_per_second'][kind]:,.0f}" for kind in _KINDS]
        rows.append([_name(stem), str(run["threads"]), *rates])
    speed = next(iter(found.values()))["speed"]
    note = (
        "Rows by seconds of the processor, which other work on the machine does not lengthen: the "
        f"fastest of {speed['calls']} calls on {speed['rows']} rows, after a first one that makes "
        "the model's tables.\n\n"
    )
    return "\n## Rows a second\n\n" + note + table(["table", "threads", *_KINDS.values()], rows)


def _pairs(found: dict[str, Any]) -> str:
    first = next(iter(found.values()))
    few, many = first["few"], first["many"]
    systems = {
        "SASANet": f"SASANet, {few:,} rows",
        "LightGBM, shap": f"LightGBM, shap, {few:,} rows",
        "LightGBM, Woodelf": f"LightGBM, Woodelf, {few:,} rows",
        "LightGBM, Woodelf, many rows": f"LightGBM, Woodelf, {many:,} rows",
    }
    rows = [
        [_name(stem), str(run["columns"]), *(f"{run[system]:,.1f}" for system in systems)]
        for stem, run in found.items()
    ]
    note = (
        f"Rows a second of all pairs, {first['threads']} thread, best of two calls on a busy "
        f"machine; LightGBM of {first['trees']['n_estimators']} trees with "
        f"{first['trees']['num_leaves']} leaves. Woodelf prepares per call, so it gains with many "
        "rows. The games differ: trees are explained path by path.\n\n"
    )
    head = "\n## All pairs, beside trees\n\n"
    return head + note + table(["table", "columns", *systems.values()], rows)


def _stability(found: dict[str, Any]) -> str:
    rows, first = [], next(iter(found.values()))
    for stem, run in found.items():
        for system, one in run.items():
            if isinstance(one, dict):
                shares = (one[kind] for kind in ("common", "same first", "same decision"))
                rows.append([_name(stem), system, *(f"{100 * share:.0f} %" for share in shares)])
    note = (
        f"Up to {first['most']} reasons a row, of {first['rows']} rows and {first['refits']} "
        f"refits, for rows that two refits both refuse (probability at least "
        f"{first['threshold']}): the share of reasons in common and of rows with the same first "
        "reason; of the rows that either refuses, the share that both do.\n\n"
    )
    heads = ["table", "refits", "reasons in common", "same first reason", "same decision"]
    return "\n## Do reasons survive a refit?\n\n" + note + table(heads, rows)


def _deviance(found: dict[str, Any]) -> str:
    rows = []
    for stem, run in found.items():
        truth = "–" if run["truth"] is None else f"{run['truth']:.4f}"
        numbers = [f"{run[system]:.4f}" for system in ("SASANet", "LightGBM", "constant")]
        ratio = f"{100 * (run['ratio'] - 1):+.2f} %"
        seconds = " · ".join(f"{run['seconds'][name]:,.0f}" for name in _FITS)
        rows.append([_name(stem), f"{run['rows']:,}", *numbers, truth, ratio, seconds])
    note = (
        "Mean Poisson deviance of test rows, by exposure, of models of the same rows: SASANet as "
        "it comes, LightGBM with the best of six settings on held-out rows, the mean of training, "
        "and the true rates where they are known. Less is better; the difference is how much more "
        "SASANet's is than LightGBM's. Seconds of the fit, of SASANet and of all of LightGBM's "
        "settings; those without a number of threads in their file were taken beside other work."
        "\n\n"
    )
    heads = ["table", "rows", "SASANet", "LightGBM", "constant", "truth", "difference", "seconds"]
    return "\n## Rates, beside trees\n\n" + note + table(heads, rows)


def _coverage(found: dict[str, Any]) -> str:
    rows = []
    for stem, run in found.items():
        below = " · ".join(f"{100 * share:.1f} %" for share in run["below"])
        width = f"{100 * run['width'] / run['width_constant']:.0f} %"
        rows.append([
            _name(stem), f"{run['rows']:,}", f"{100 * run['inside']:.1f} %", below,
            str(run["crossing"]), width, f"{run['explained']:.3f}",
        ])  # fmt: skip
    note = (
        "Test labels inside the interval from the quantile 0.1 to 0.9, of which 80 % are meant; "
        "below the quantiles 0.1, 0.5 and 0.9; rows whose quantiles cross; the mean width beside "
        "that of one interval for all rows; and the share of that one's pinball loss that is "
        "explained.\n\n"
    )
    heads = ["table", "rows", "inside", "below each", "crossing", "width", "explained"]
    return "\n## Intervals of 80 %\n\n" + note + table(heads, rows)


def _violations(found: dict[str, Any]) -> str:
    rows = [
        [_name(stem), ", ".join(run["directions"]), f"{run['pairs']:,}", f"{run['moved']:,}",
         str(run["violations"]), f"{max(run['largest'], 0.0):.0e}"]
        for stem, run in found.items()
    ]  # fmt: skip
    note = (
        "Pairs of values of a monotone column, all else equal, for rows and coalitions at random, "
        "of models fitted without teachers: "
        "how many move the output the right way, and how many the wrong way by more than the "
        "rounding of 32-bit numbers (a millionth of the largest output); the largest move the "
        "wrong way as a share of it.\n\n"
    )
    heads = ["table", "columns", "pairs", "moved", "violations", "largest"]
    return "\n## Do monotone columns hold?\n\n" + note + table(heads, rows)


def _monotone(found: dict[str, Any]) -> str:
    rows = []
    for stem, run in found.items():
        gains = [a - b for a, b in zip(run["with"], run["without"], strict=True)]
        low, value, high = _interval(gains)
        rows.append([
            _name(stem), f"{run['rows']:,}", ", ".join(run["directions"]), run["measure"],
            f"{mean(run['with']):.4f}", f"{mean(run['without']):.4f}",
            f"{value:+.4f} [{low:+.4f}, {high:+.4f}]",
        ])  # fmt: skip
    splits = len(next(iter(found.values()))["with"])
    note = (
        f"The same rows and seeds with and without directions: means of {splits} splits, and the "
        "difference with a 95 % interval.\n\n"
    )
    heads = ["table", "rows", "columns", "measure", "with", "without", "difference"]
    return "\n## What monotone columns cost or bring\n\n" + note + table(heads, rows)


def _interval(gains: list[float]) -> tuple[float, float, float]:
    """Return the mean of a few differences and its interval by Student's t."""
    half = float(stats.t.ppf(0.975, len(gains) - 1)) * stdev(gains) / len(gains) ** 0.5
    return mean(gains) - half, mean(gains), mean(gains) + half


_SECTIONS = {
    "deviance": _deviance,
    "coverage": _coverage,
    "violations": _violations,
    "monotone": _monotone,
    "pairs": _pairs,
    "stability": _stability,
}
