"""Result files in, docs/measured/calibration.md out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench.page import table

PAGE = Path(__file__).parents[2] / "docs" / "measured" / "calibration.md"
_HEAD = """# Calibration

Does σ(v(S)) promise what happens, whatever is known? Default models on test rows of the first
split of each table, at most 4,000, with one random coalition of each size; errors are the mean
distance of predicted and observed by ten bins, as in the [audit](../guides/auditing.md): a
probability, of numbers in the target's units. *By chance* is what a perfectly calibrated v would
show on these rows: the mean over labels drawn anew, and what it stays below 19 times out of 20; an
error above that limit is *more than chance*. The loss is the log loss (of numbers the root mean
squared error), beside that of LightGBM with a search of twelve settings. Written by
`python -m bench.accuracy.calibration`, part of `make bench-accuracy`, from
`bench/results/calibration/*.json`.
"""


def write_page(results: Path) -> None:
    """Write the page from the results so far."""
    PAGE.write_text(make_page(results), encoding="utf-8")


def make_page(results: Path) -> str:
    """Return the page's text."""
    found = [json.loads(file.read_text()) for file in sorted(results.glob("*.json"))]
    head = ["table", "rows", "test rows", "complete rows", "by chance", "all sizes", "by chance"]
    head += ["sizes above chance", "loss", "LightGBM's"]
    return "\n".join([_HEAD, _summary(found), table(head, [_row(one) for one in found])])


def _complete(one: dict[str, Any]) -> dict[str, float]:
    """Return the calibration of complete rows: the last size knows all features."""
    last: dict[str, float] = one["sizes"][-1]
    return last


def is_more_than_chance(one: dict[str, float]) -> bool:
    """Tell whether an error is above what chance stays below 19 times out of 20."""
    return one["error"] > one["noise_high"]


def _summary(found: list[dict[str, Any]]) -> str:
    complete = sum(not is_more_than_chance(_complete(one)) for one in found)
    sizes = sum(not is_more_than_chance(one["all_sizes"]) for one in found)
    lower = sum(_loss(one, "ours") < _loss(one, "lightgbm") for one in found)
    return (
        f"Of {len(found)} tables the error of complete rows is within chance on {complete}, that "
        f"of all sizes together on {sizes}; the loss is below LightGBM's on {lower}.\n"
    )


def _row(one: dict[str, Any]) -> list[str]:
    above = sum(is_more_than_chance(size) for size in one["sizes"])
    return [
        one["table"],
        f"{one['rows']:,}",
        f"{one['test_rows']:,}",
        *_error_and_chance(_complete(one)),
        *_error_and_chance(one["all_sizes"]),
        f"{above} of {len(one['sizes'])}",
        *(f"{_loss(one, system):.4g}" for system in ("ours", "lightgbm")),
    ]


def _error_and_chance(one: dict[str, float]) -> tuple[str, str]:
    mark = " (more than chance)" if is_more_than_chance(one) else ""
    return f"{one['error']:.3g}{mark}", f"{one['noise']:.3g}, up to {one['noise_high']:.3g}"


def _loss(one: dict[str, Any], system: str) -> float:
    return float(one[system]["rmse" if one["regression"] else "log_loss"])
