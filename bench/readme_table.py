"""The README's small table of measured figures, from the result files: ``make readme-table``."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from bench.page import table
from bench.runner import RESULTS

README = Path(__file__).parent.parent / "README.md"
_BEGIN, _END = "<!-- measured: make readme-table -->", "<!-- end of measured -->"
_TITLES = {"sasanet": "SASANet", "lightgbm": "LightGBM + TreeSHAP", "ebm": "EBM"}


def replaced(text: str) -> str:
    """Return the README's text with the table of the results."""
    between = re.compile(f"{re.escape(_BEGIN)}.*{re.escape(_END)}", re.S)
    return between.sub(lambda _: f"{_BEGIN}\n{figures()}\n{_END}", text)


def figures() -> str:
    """Return the table: one row per figure, one column per system."""
    results = {system: _result(f"accuracy/census-{system}") for system in _TITLES}
    runs = {system: result["splits"] for system, result in results.items()}
    known = _result("faithful/known-probit-0.6")["runs"]
    speed, ebm = _result("core/census-0"), _result("core/ebm-census")
    return table(
        ["census income, 200,000 rows, 40 columns", *_TITLES.values()],
        [
            ["area under the ROC curve", *(_spread(runs[name], "auc") for name in _TITLES)],
            [
                "error of attributions against the truth ¹",
                _error(known, "sasanet_rmse"),
                _error(known, "treeshap_rmse"),
                _error(_result("core/ebm-known")["runs"], "ebm_rmse"),
            ],
            ["seconds to fit", *(_seconds(results[name]) for name in _TITLES)],
            [
                "rows explained a second, two cores",
                _count(speed["explain_rate"]),
                _count(speed["lightgbm_explain_rate"]),
                _count(ebm["explain_rate"]),
            ],
        ],
    )


def _result(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text("utf-8"))
    return found


def _spread(runs: list[dict[str, float]], key: str) -> str:
    values = [run[key] for run in runs]
    return f"{np.mean(values):.4f} ± {np.std(values, ddof=1):.4f}"


def _error(runs: list[dict[str, float]], key: str) -> str:
    values = [run[key] / run["phi_spread"] for run in runs]
    return f"{np.mean(values):.0%} ± {np.std(values, ddof=1):.0%}"


def _seconds(result: dict[str, Any]) -> str:
    seconds = np.median([run["fit_seconds"] for run in result["splits"]])
    return f"{seconds:.0f} ({'one core' if result['threads'] == 1 else 'two cores'})"


def _count(value: float) -> str:
    return f"{float(f'{value:.2g}'):,.0f}"


if __name__ == "__main__":
    README.write_text(replaced(README.read_text("utf-8")), "utf-8")
