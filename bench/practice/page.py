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
    every = {path.stem: json.loads(path.read_text()) for path in sorted(results.glob("*.json"))}
    found = {stem: run for stem, run in every.items() if "-" not in stem}
    pairs, refits = (_of(every, kind) for kind in ("pairs-", "stability-"))
    text = _HEAD + _truth(found) + _speed(found)
    text += (_pairs(pairs) if pairs else "") + (_stability(refits) if refits else "")
    PAGE.write_text(text, encoding="utf-8")


def _of(every: dict[str, Any], kind: str) -> dict[str, Any]:
    return {stem.removeprefix(kind): run for stem, run in every.items() if stem.startswith(kind)}


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
