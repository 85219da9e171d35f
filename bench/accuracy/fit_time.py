"""How long does a fit take? Ours and tuned LightGBM's in turn, alone on the machine, all its cores.

Part of ``make bench-accuracy``, apart from the qualities: those take hours and may run side by
side, times may not.
"""

from __future__ import annotations

import json
import time
from functools import partial
from typing import Any

import torch

from bench import runner
from bench.accuracy.page import write_page
from bench.accuracy.rivals import SYSTEMS, Settings, Task
from bench.accuracy.run import COUNTS
from bench.tables import data

MOST_FITS, ENOUGH_SECONDS = 3, 60.0
WARM_UP = "penguins"  # a small table: what a first fit imports is not counted


def chosen_settings(name: str) -> Settings:
    """Return what LightGBM's search chose for a table."""
    file = runner.RESULTS / "accuracy" / f"{name.replace(' ', '_')}-lightgbm.json"
    chosen: Settings = json.loads(file.read_text())["tuning"]["chosen"]
    return chosen


def timed_fits(task: Task, name: str) -> dict[str, tuple[Any, float]]:
    """Fit LightGBM with the settings its search chose for a table, then our default."""
    fits = {}
    for system, settings in (("lightgbm", chosen_settings(name)), ("sasanet", {})):
        start = time.perf_counter()
        model = SYSTEMS[system].fit(task, settings)
        fits[system] = model, time.perf_counter() - start
    return fits


def fit_time(name: str) -> dict[str, Any]:
    """Time both on the first split, three times unless that takes long."""
    timed_fits(_first_split(WARM_UP, seed=0), WARM_UP)
    seconds: dict[str, list[float]] = {"lightgbm": [], "sasanet": []}
    start = time.perf_counter()
    for seed in range(MOST_FITS):
        for system, (_, took) in timed_fits(_first_split(name, seed), name).items():
            seconds[system].append(took)
        if time.perf_counter() - start > ENOUGH_SECONDS:
            break
    return {"fit_seconds": seconds, "threads": torch.get_num_threads()}


def _first_split(name: str, seed: int) -> Task:
    split = next(data.splits(name))
    return Task(split.X_train, split.y_train, data.is_regression(name), seed)


JOBS: dict[str, runner.Job] = {name.replace(" ", "_"): partial(fit_time, name) for name in COUNTS}

if __name__ == "__main__":
    runner.main("bench.accuracy.fit_time", runner.RESULTS / "fit_time", JOBS, write_page)
