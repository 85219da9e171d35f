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
(`bench/serve/rival.py`). Written by `make bench-serve` from `bench/results/serve/*.json`. The
client runs on the same cores as the server, for all alike.
"""


def write_page(results: Path) -> None:
    """Write the page from what has been measured so far."""
    found = {path.stem: json.loads(path.read_text()) for path in sorted(results.glob("*.json"))}
    text = _HEAD + _load(found, "one", "One row a request, 64 connections")
    text += _load(found, "hundred", "A hundred rows a request, 4 connections")
    PAGE.write_text(text + _library(found), encoding="utf-8")


def _load(found: dict[str, Any], kind: str, title: str) -> str:
    runs = {name: found[f"{kind}-{name}"] for name in _NAMES if f"{kind}-{name}" in found}
    if not runs:
        return ""
    rows = [
        [
            _NAMES[name],
            f"{run['requests_per_second']:,.0f}",
            f"{run['rows_per_second']:,.0f}",
            *(f"{run[f'p{p}_ms']:,.0f}" for p in (50, 95, 99)),
            str(run["failed"]),
            f"{run['rss_gib']:.2f}",
            f"{run['memory_growth']:+.1%}",
        ]
        for name, run in runs.items()
    ]
    one = next(iter(runs.values()))
    heads = ["server", "requests/s", "rows/s", "p50, ms", "p95, ms", "p99, ms", "failed"]
    heads += ["memory, GiB", "growth"]
    return f"\n## {title}\n\n{one['seconds']:.0f} seconds, {one['cores']} cores.\n\n" + table(
        heads, rows
    )


def _library(found: dict[str, Any]) -> str:
    rows = [
        [_NAMES[name].partition(", ")[2], f"{found[f'library-{name}']['rows_per_second']:,.0f}"]
        for name in _NAMES
        if f"library-{name}" in found
    ]
    if not rows:
        return ""
    return "\n## The library alone\n\n`model.explain`, 100 rows a call.\n\n" + table(
        ["method", "rows/s"], rows
    )
