"""Write the README's table of measured figures from the result files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench.page import table

README = Path(__file__).parent.parent / "README.md"
_BEGIN, _END = "<!-- measured: make bench-glance -->", "<!-- end of measured -->"
_TITLES = {"sasanet": "SASANet", "lightgbm": "LightGBM + TreeSHAP", "ebm": "EBM"}


def write_page(results: Path) -> None:
    """Replace the README's table by one made from the results, once all of them exist."""
    if not all((results / f"{name}.json").exists() for name in ("higgs", "known")):
        return
    text = README.read_text("utf-8")
    README.write_text(replaced(text, results), "utf-8")


def replaced(text: str, results: Path) -> str:
    """Return the README's text with the table of these results."""
    between = re.compile(f"{re.escape(_BEGIN)}.*{re.escape(_END)}", re.S)
    return between.sub(lambda _: f"{_BEGIN}\n{figures(results)}\n{_END}", text)


def figures(results: Path) -> str:
    """Return the table: one row per figure, one column per system."""
    higgs, known = (json.loads((results / f"{n}.json").read_text()) for n in ("higgs", "known"))

    def row(title: str, write: Callable[[list[float]], str], runs: list[Any], *key: str) -> Any:
        values = [[_at(run[system], *key) for run in runs] for system in _TITLES]
        return [title, *map(write, values)]

    splits, errors = higgs["splits"], known["relative_error"]
    return table(
        ["", *_TITLES.values()],
        [
            row("area under the ROC curve, Higgs (48,000 rows)", _spread, splits, "auc"),
            row("error of attributions against the truth ¹", _share, errors),
            row("seconds to fit", _seconds, splits, "fit_seconds"),
            row("rows explained a second", _count, splits, "rows_per_second"),
        ],
    )


def _at(found: Any, *key: str) -> float:
    for part in key:
        found = found[part]
    return float(found)


def _spread(values: list[float]) -> str:
    return f"{np.mean(values):.4f} ± {np.std(values, ddof=1):.4f}"


def _share(values: list[float]) -> str:
    return f"{np.mean(values):.0%} ± {np.std(values, ddof=1):.0%}"


def _seconds(values: list[float]) -> str:
    return f"{np.median(values):.1f}"


def _count(values: list[float]) -> str:
    return f"{float(f'{np.median(values):.2g}'):,.0f}"
