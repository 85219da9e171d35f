"""Result files in, docs/measured/ladder.md out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from bench.page import paired_interval, table, with_interval
from sasanet.intervals import mean

PAGE = Path(__file__).parents[2] / "docs" / "measured" / "ladder.md"
_ORDER = ("sasanet", "lightgbm")
_HEAD = """# Accuracy by number of rows

The default SASANet beside LightGBM with a search of twelve settings, on parts of the training rows
of three splits each; the test rows stay the same. R² of numbers, AUC of classes. Written by
`make bench-ladder` from `bench/results/ladder/*.json`; two CPU cores, no GPU. "By time" tests on
the last part of the records. The seconds are those of one fit with the chosen settings, on one core
beside other work, so they are too long; LightGBM's search is not counted.
"""


def write_page(results: Path) -> None:
    """Write the page from the results so far."""
    PAGE.write_text(make_page(results), encoding="utf-8")


def make_page(results: Path) -> str:
    """Return the page's text."""
    found = [json.loads(file.read_text()) for file in sorted(results.glob("*.json"))]
    by_rung: dict[tuple[str, int], dict[str, Any]] = {}
    for one in found:
        by_rung.setdefault((one["table"], one["rows"]), {})[one["system"]] = one
    whole = {rung: pair for rung, pair in sorted(by_rung.items()) if len(pair) == 2}
    head = ["table", "rows", "SASANet", "LightGBM", "difference", "seconds", "LightGBM's"]
    return "\n".join([_HEAD, _summary(whole), table(head, [_row(*item) for item in whole.items()])])


def _differences(pair: dict[str, Any]) -> list[float]:
    ours, theirs = (_scores(pair[system]) for system in _ORDER)
    return [a - b for a, b in zip(ours, theirs, strict=True)]


def _scores(one: dict[str, Any]) -> list[float]:
    return [split[one["metric"]] for split in one["splits"]]


def _row(rung: tuple[str, int], pair: dict[str, Any]) -> list[str]:
    seconds = (np.mean([s["fit_seconds"] for s in pair[k]["splits"]]) for k in _ORDER)
    means = [f"{np.mean(_scores(pair[k])):.4f}" for k in _ORDER]
    gaps = np.array(_differences(pair))
    change = with_interval(*paired_interval(gaps, pair["sasanet"]["test_share"]))
    return [rung[0], f"{rung[1]:,}", *means, change, *(f"{s:.1f}" for s in seconds)]


def _summary(whole: dict[tuple[str, int], dict[str, Any]]) -> str:
    """Say on how many rungs we are ahead, and the mean difference."""
    if not whole:
        return ""
    means = [float(np.mean(_differences(pair))) for pair in whole.values()]
    ahead = sum(mean > 0 for mean in means)
    middle, low, high = mean(np.array(means))
    return (
        f"SASANet is ahead on {ahead} of {len(means)} rungs; the mean difference over rungs is "
        f"{middle:+.4f} [{low:+.4f}, {high:+.4f}]. Intervals are 95 %, over splits.\n"
    )
