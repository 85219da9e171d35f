"""How good are the predictions? ``make bench-accuracy`` compares with what users would pick.

Every rival is tuned (rivals.py has its search, measure.py judges); SASANet runs with
its presets as they are. All systems see the same splits.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from bench import runner
from bench.accuracy.measure import measure
from bench.accuracy.page import write_page
from bench.accuracy.rivals import SYSTEMS
from bench.tables import data

PARTIAL = Path(__file__).parents[1] / "partial"  # a long job goes on where it was stopped
# How many splits: folds, random splits, or (census, coil2000, by time) seeds on the only one.
COUNTS = {
    "census": 3,
    "higgs_64k": 5,
    "creditcard": 10,
    "coil2000": 5,
    "german credit": 50,
    "diamonds": 5,
    "california housing": 5,
    "titanic": 10,
    "penguins": 5,
    "credit default": 5,
    "bike sharing": 5,
    "bike sharing by time": 3,
    "motor claims": 3,
    "diabetes": 5,
    "breast cancer": 20,
    "wine": 20,
    "digits": 5,
    "affairs": 10,
    "doctor visits": 5,
    "votes": 20,
    "friedman": 5,
    "known probit": 5,
    "known quadratic": 5,
}
# Rivals beside LightGBM are compared on the first splits only.
FEWER = {"german credit": 10, "titanic": 10, "penguins": 5}
OTHERS = 3


def compare(name: str, system: str) -> dict[str, Any]:
    """Tune one system on a table and score it on every split."""
    whole = system.startswith("sasanet") or system == "lightgbm"
    splits = data.splits(name, COUNTS[name] if whole else FEWER.get(name, OTHERS))
    file = PARTIAL / f"{name}-{system}.json"
    return measure(SYSTEMS[system], splits, data.is_regression(name), file)


JOBS: dict[str, runner.Job] = {
    f"{name}-{system}".replace(" ", "_"): partial(compare, name, system)
    for system in SYSTEMS
    for name in COUNTS
}

if __name__ == "__main__":
    runner.main("bench.accuracy.run", runner.RESULTS / "accuracy", JOBS, write_page)
