"""Result files in, docs/measured/practice.md out: every figure on the page comes from a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench.page import table

PAGE = Path(__file__).parents[2] / "docs" / "measured" / "practice.md"
_KINDS = {
    "plain": "features, log-odds",
    "groups": "groups of two columns",
    "probability": "units of the probability",
    "interactions": "all pairs",
}


def write_page(results: Path) -> None:
    """Write the page from what has been measured so far."""
    found = {path.stem: json.loads(path.read_text()) for path in sorted(results.glob("*.json"))}
    PAGE.write_text(_HEAD + _truth(found) + _speed(found), encoding="utf-8")


_HEAD = """# Groups, units and pairs

How close group values, attributions of the probability and interactions of pairs come to the true
ones of the same game, and how fast they are. Written by `make bench-practice` from
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
    note = "The first call on 200 rows, on a busy machine: lower bounds.\n\n"
    return "\n## Rows a second\n\n" + note + table(["table", "threads", *_KINDS.values()], rows)
