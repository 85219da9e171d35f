"""How many rows does it take? ``make bench-ladder`` compares on parts of the training rows.

A rung is a table and a number of training rows, drawn from the training part of each of three
splits; the test part stays whole. LightGBM is tuned on every rung.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from bench import runner
from bench.accuracy.measure import measure
from bench.accuracy.rivals import SYSTEMS
from bench.accuracy.run import PARTIAL
from bench.ladder.page import write_page
from bench.tables import data

TABLES = (
    "california housing",
    "diamonds",
    "higgs_64k",
    "credit default",
    "bike sharing",
    "bike sharing by time",
    "census",
    "creditcard",
)
ROWS = (1_000, 2_500, 6_500, 15_000)
RARE = {"creditcard": 15_000}  # fewer rows have hardly a positive one
RIVALS = ("sasanet", "lightgbm")
SPLITS = 3


def rung(name: str, n_rows: int, system: str) -> dict[str, Any]:
    """Tune one system on a rung and score it on every split."""
    file = PARTIAL / f"ladder-{name}-{n_rows}-{system}.json"
    found = measure(SYSTEMS[system], parts(name, n_rows), data.is_regression(name), file)
    return {"table": name, "rows": n_rows, "system": system} | found


def parts(name: str, n_rows: int) -> Iterator[data.Split]:
    """Yield each split with so many of its training rows; an official split each time others."""
    for number, split in enumerate(data.splits(name, SPLITS)):
        order = np.random.RandomState(number).permutation(len(split.X_train))
        kept = np.sort(order[:n_rows])
        yield replace(split, X_train=split.X_train.iloc[kept], y_train=split.y_train.iloc[kept])


JOBS: dict[str, runner.Job] = {
    f"{name}-{n_rows}-{system}".replace(" ", "_"): partial(rung, name, n_rows, system)
    for name in TABLES
    for n_rows in ROWS
    if n_rows >= RARE.get(name, 0)
    for system in RIVALS
}

if __name__ == "__main__":
    runner.main("bench.ladder.run", runner.RESULTS / "ladder", JOBS, write_page)
