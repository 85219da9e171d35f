"""Result files in, docs/measured/serving.md out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench.page import table

PAGE = Path(__file__).parents[2] / "docs" / "measured" / "serving.md"
_NAMES = {
    "formula": "sasanet serve, formula",
    "learned": "sasanet serve, learned module",
    "lightgbm": "FastAPI + LightGBM + pred_contrib",
}
_HEAD = """# Serving

Explanations over HTTP, census income (40 columns): [`sasanet serve`](../guides/serving.md) beside
a minimal FastAPI server of tuned LightGBM that answers with `pred_contrib`
(`bench/serve/rival.py`). Written by `make bench-serve` from `bench/results/serve/*.json`.

The client runs on the same cores as the server, for all alike, and compares every answer of
`sasanet serve` with `model.explain`: a *wrong* one differs by more than 1e-5. Every server computes
with one thread. Where the load average is above the number of cores, other programs ran meanwhile:
then only ratios and processor time mean something.
"""


def write_page(results: Path) -> None:
    """Write the page from what has been measured so far."""
    found = {path.stem: json.loads(path.read_text()) for path in sorted(results.glob("*.json"))}
    text = _HEAD + _load(found, "one", "One row a request, 64 connections")
    text += _load(found, "hundred", "A hundred rows a request, 4 connections")
    PAGE.write_text(text + _library(found) + _soak(found) + _onnx(found), encoding="utf-8")


def _load(found: dict[str, Any], kind: str, title: str) -> str:
    runs = {name: found[f"{kind}-{name}"] for name in _NAMES if f"{kind}-{name}" in found}
    if not runs:
        return ""
    rows = [
        [
            _NAMES[name],
            f"{run['requests_per_second']:,.0f}",
            f"{run['rows_per_second']:,.0f}",
            f"{run['cpu_ms_per_row']:.2f}",
            *(f"{run[f'p{p}_ms']:,.0f}" for p in (50, 95, 99)),
            str(run["failed"]),
            str(run["wrong"]) if name != "lightgbm" else "–",
            f"{run['rss_gib']:.2f}",
            f"{run['memory_growth']:+.1%}",
            f"{run['load_average']:.0f}",
        ]
        for name, run in runs.items()
    ]
    one = next(iter(runs.values()))
    heads = ["server", "requests/s", "rows/s", "processor, ms/row", "p50, ms", "p95, ms", "p99, ms"]
    heads += ["failed", "wrong", "memory, GiB", "growth", "load average"]
    return f"\n## {title}\n\n{one['seconds']:.0f} seconds, {one['cores']} cores.\n\n" + table(
        heads, rows
    )


def _library(found: dict[str, Any]) -> str:
    rows = [
        [
            _NAMES[name].partition(", ")[2],
            *(f"{run['rows_per_second']:,.0f}", f"{run['cpu_ms_per_row']:.2f}"),
            f"{run['load_average']:.0f}",
        ]
        for name in _NAMES
        if (run := found.get(f"library-{name}"))
    ]
    if not rows:
        return ""
    return "\n## The library alone\n\n`model.explain`, 100 rows a call, one thread.\n\n" + table(
        ["method", "rows/s", "processor, ms/row", "load average"], rows
    )


def _soak(found: dict[str, Any]) -> str:
    run = found.get("soak")
    if run is None:
        return ""
    return (
        f"\n## Soak\n\n{run['seconds']:,.0f} seconds of requests of 1 and 20 rows by all four "
        f"protocols over {run['connections']} connections, while the model was saved anew every "
        f"ten seconds: {run['answers']:,} answers, {run['failed']} failed, {run['wrong']} wrong, "
        f"{run['reloads']} reloads. Memory by tenths of the time, GiB: {_course(run)}; from the "
        f"second to the last {run['memory_growth']:+.1%}.\n"
    )


def _course(run: dict[str, Any]) -> str:
    return ", ".join(f"{gib:.2f}" for gib in run["course_gib"])


def _onnx(found: dict[str, Any]) -> str:
    run = found.get("onnx")
    if run is None:
        return ""
    rows, seconds = run["rows"], run["seconds"]
    lines = [
        [
            what,
            *(f"{rows / seconds[f'{what}-{way}']:,.0f}" for way in ("python", "onnx")),
            *(f"{1_000 * seconds[f'{what}-one-{way}']:.2f}" for way in ("python", "onnx")),
        ]
        for what in ("predict", "explain")
    ]
    heads = ["", "Python, rows/s", "onnxruntime, rows/s", "Python, ms a row", "onnxruntime, ms"]
    errors = run["errors"]
    return (
        f"\n## ONNX\n\nThe formula's model, {rows} rows a call and one row alone, one thread, the "
        "ways by turns, medians. The file's predictions differ from the model's by at most "
        f"{errors['prediction']:.1g}, its attributions by {errors['largest']:.1g}.\n\n"
    ) + table(heads, lines)
