"""Result files in, docs/measured/speed.md out."""

from __future__ import annotations

import json
import math
from pathlib import Path
from statistics import median
from typing import Any

from bench.page import table

PAGE = Path(__file__).parents[2] / "docs" / "measured" / "speed.md"
_NAMES = {
    "census": "census income",
    "higgs_64k": "Higgs",
    "creditcard": "credit card fraud",
    "coil2000": "CoIL 2000",
}
_CONTRIB, _WOODELF = "LightGBM, pred_contrib", "LightGBM, Woodelf"
_HEAD = """# Speed

Predictions and explanations of our default beside tuned LightGBM and XGBoost (the settings that
their searches for [accuracy](accuracy.md) chose), the latter with what explains trees. Written by
`make bench-speed` from `bench/results/speed/*.json`. Within a table the systems take turns, and
figures are medians of several rounds. On two threads it is the clock's time, on two cores on which
other work may go on, so that ratios say more than rates; on one thread it is the processor's.
Woodelf knows no splits by sets of categories: it explains a LightGBM of their codes. Tables of
pandas go in; reading them is part of every figure. CoIL's rates and single rows are of an earlier
version. How to explain fast is in the [guide](../guides/speed.md).
"""


def write_page(results: Path) -> None:
    """Write the page from what has been measured so far."""
    found = {path.stem: json.loads(path.read_text()) for path in sorted(results.glob("*.json"))}
    makers = (_models, _ratios, _rates, _one_row, _accuracy, _memory, _beside, _fronts)
    PAGE.write_text(_HEAD + "".join(make(found) for make in makers), encoding="utf-8")


def _runs(found: dict[str, Any], kind: str) -> dict[str, Any]:
    return {name: found[f"{kind}-{name}"] for name in _NAMES if f"{kind}-{name}" in found}


def _models(found: dict[str, Any]) -> str:
    rows = []
    for name, run in _runs(found, "fit").items():
        seconds = run["fit_seconds"]
        learning = found[f"learn-{name}"]["seconds"] if f"learn-{name}" in found else math.nan
        rows.append(
            [
                _NAMES[name],
                f"{run['columns']}",
                f"{run['train_rows']:,}",
                *(f"{seconds[key]:.0f}" for key in ("sasanet", "lightgbm", "xgboost")),
                f"{learning:.1f} ({learning / seconds['sasanet']:.0%} of ours)",
            ]
        )
    if not rows:
        return ""
    heads = ["table", "columns", "rows", "SASANet, s", "LightGBM, s", "XGBoost, s"]
    return "\n## The models\n\nProcessor seconds of a fit on one thread.\n\n" + table(
        [*heads, "learning the module, s"], rows
    )


def _rate(run: dict[str, Any], size: str, system: str) -> float:
    rates = run["rows_per_second"].get(size, {}).get(system)
    return median(rates) if rates else float("nan")


def _ratios(found: dict[str, Any]) -> str:
    text = ""
    for threads in (2, 1):
        rows = []
        for name in _NAMES:
            run = found.get(f"batches-{name}-{threads}")
            if not run:
                continue
            for size in ("1", "100", "10000"):
                trees = _rate(run, size, _CONTRIB)
                cells = [
                    _rate(run, size, f"SASANet, {way}") for way in ("formula", "learned module")
                ]
                woodelf = _rate(run, size, _WOODELF)
                predict = _rate(run, size, "SASANet, predict")
                rows.append(
                    [
                        _NAMES[name],
                        f"{int(size):,}",
                        *(f"{each / trees:.1f}" for each in (*cells, woodelf)),
                        f"{predict / cells[0]:.1f}",
                        f"{predict / cells[1]:.1f}",
                    ]
                )
        if rows:
            heads = ["table", "rows a call", "formula", "learned module", "Woodelf"]
            heads += ["formula / predicting", "module / predicting"]
            text += (
                f"\n## Times as fast as LightGBM's `pred_contrib`, {_threads(threads)}\n\n"
                "The last two columns: how many predictions of ours an explanation costs.\n\n"
                + table(heads, rows)
            )
    return text


def _threads(count: int) -> str:
    return "one thread" if count == 1 else f"{count} threads"


def _rates(found: dict[str, Any]) -> str:
    text = ""
    for name, title in _NAMES.items():
        runs = {n: found[f"batches-{name}-{n}"] for n in (2, 1) if f"batches-{name}-{n}" in found}
        if not runs:
            continue
        columns = [(n, size) for n, run in runs.items() for size in run["rows_per_second"]]
        first = next(iter(runs.values()))
        rows = []
        for system in first["first_call_ms"]:
            rates = [_rate(runs[n], size, system) for n, size in columns]
            cells = ["" if rate != rate else f"{rate:,.0f}" for rate in rates]
            rows.append([system, *cells, f"{first['first_call_ms'][system]:,.0f}"])
        heads = [f"{int(size):,}, {_threads(n)}" for n, size in columns]
        text += f"\n### {title.capitalize() if title.islower() else title}\n\n" + table(
            ["system", *heads, "first call, ms"], rows
        )
    if not text:
        return ""
    return (
        "\n## Rows a second, by rows a call\n\nThe first call loads our model, or makes the "
        "explainer of the trees, and explains 100 rows. Of a batch of 10,000 the systems whose "
        "time is proportional to the rows were given 1,000.\n" + text
    )


def _one_row(found: dict[str, Any]) -> str:
    rows = []
    for name, run in _runs(found, "one").items():
        for system, half in run["p50_ms"].items():
            rows.append([_NAMES[name], system, f"{half:.2f}", f"{run['p99_ms'][system]:.2f}"])
    if not rows:
        return ""
    calls = next(iter(_runs(found, "one").values()))["calls"]
    return (
        f"\n## One row at a time\n\n{calls} calls of each in turn, one thread, processor time. "
        "Ours are given a mapping, LightGBM a table of one row.\n\n"
        + table(["table", "call", "p50, ms", "p99, ms"], rows)
    )


def _accuracy(found: dict[str, Any]) -> str:
    rows = []
    for name, run in _runs(found, "accuracy").items():
        for method in ("formula", "learned"):
            cells = [run[f"{method}, {kind}"] for kind in ("as given", "shifted")]
            shown = [f"{value:.4f} [{low:.4f}, {high:.4f}]" for value, low, high in cells]
            rows.append([_NAMES[name], {"learned": "learned module"}.get(method, method), *shown])
    if not rows:
        return ""
    run = next(iter(_runs(found, "accuracy").values()))
    return (
        f"\n## How true\n\nSelf-game R² of {run['rows']} test rows, {run['orders']} orders each, "
        "with 95 % intervals. The module hands rows unlike those it was taught to the formula, as "
        "it does in the figures above. Shifted: the shift of the inputs on the page on "
        "[faithfulness](faithful.md).\n\n" + table(["table", "by", "as given", "shifted"], rows)
    )


def _memory(found: dict[str, Any]) -> str:
    if "million" not in found:
        return ""
    run = found["million"]
    more = run["peak_gib"] - run["peak_gib_before"]
    return (
        f"\n## A million rows\n\nExplaining {run['rows']:,} rows of census income at once by the "
        f"learned module takes {run['seconds']:.0f} s and {more:.2f} GiB beyond what the process "
        f"held before ({run['peak_gib_before']:.2f} GiB at most: Python with its packages, the "
        f"model, and the table of {run['table_gib']:.2f} GiB); the attributions themselves are "
        f"{run['values_gib']:.2f} GiB. The formula keeps the same arrays of all rows.\n"
    )


def _beside(found: dict[str, Any]) -> str:
    if "beside" not in found:
        return ""
    run = found["beside"]
    rates = run["rows_per_second"]
    rows = []
    for system in rates["0"]:
        alone, *others = (median(rates[busy][system]) for busy in ("0", "1", "2"))
        cells = [f"{rate:,.0f} ({alone / rate:.1f}×)" for rate in others]
        rows.append([system, f"{alone:,.0f}", *cells])
    heads = ["system", "alone", "one busy process", "two busy processes"]
    return (
        f"\n## Beside other work\n\nRows of census income a second, {run['rows']:,} a call, 2 "
        "threads on two cores, while other processes do nothing but compute; in brackets how many "
        "times as long it takes.\n\n" + table(heads, rows)
    )


def _fronts(found: dict[str, Any]) -> str:
    rows = []
    for name, run in found.items():
        if not name.startswith("front-"):
            continue
        title = name.removeprefix("front-")
        title = _NAMES.get(title, title.replace("_", " "))
        trees, metric = run["lightgbm"], run.get("metric", "")
        quality = f"{trees['scores'][metric]:.4f}" if metric else "–"
        heading = f"{title}, {run['train_rows']:,} rows"
        rows.append([heading, "LightGBM", f"{trees['seconds']:.1f}", "", quality, "–", "–"])
        for fit in run["sasanet"]:
            times, seconds = fit["times"], fit["seconds"]
            is_limit = times is not None
            limit = f"SASANet, {times:.0f}×" if is_limit else "SASANet, no limit"
            took = f"{seconds:.1f} ({seconds / trees['seconds']:.1f}×)"
            training = f"{fit['training']['seconds']:.1f}"
            quality = f"{fit['scores'][metric]:.4f}" if metric else "–"
            own = f"{fit['self_game_r2']:.4f}" if metric else "–"
            wrong = f"{fit['value_rmse']:.4f}" if "value_rmse" in fit else "–"
            rows.append([heading, limit, took, training, quality, own, wrong])
    if not rows:
        return ""
    heads = ["table", "fit", "seconds", "training, clock", "AUC or R²", "self-game R²", "v off by"]
    return (
        "\n## What a second of fitting buys\n\nOne fit of LightGBM with the settings its search "
        "chose, and our default with a `time_limit` of so many times its seconds, all on one "
        "thread, in processor seconds (limits are of the clock: where other work has the core, "
        "less is computed). Quality is that of test rows. *v off by*: the RMSE of v(S) "
        "against E[y | x_S] over all coalitions, on a table where that is known. Before training, "
        "the panel of teachers is fitted, five or more times on parts of the rows.\n\n"
        + table(heads, rows)
    )
