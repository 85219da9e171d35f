"""What every section needs: names of data sets and measures, results, verdicts."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.page import paired_interval, with_interval

Run = dict[str, Any]
Found = dict[str, Run]  # by the name of the job
TITLES = {"ap": "AP", "auc": "AUC", "rmse": "RMSE", "mae": "MAE", "r2": "R²"}
SETS = {"income": "Income", "higgs": "Higgs (64k rows)", "fraud": "Fraud", "insurance": "Insurance"}


def of(found: Found, experiment: str) -> list[Run]:
    """Return the results of one experiment."""
    return [run for key, run in found.items() if key.startswith(f"{experiment}-")]


def by_data(found: Found, experiment: str) -> dict[str, list[Run]]:
    """Return the results of one experiment for each data set that has some."""
    runs = of(found, experiment)
    every = {name: [run for run in runs if run["data"] == name] for name in SETS}
    return {name: mine for name, mine in every.items() if mine}


def by_system(found: Found) -> dict[tuple[str, str], Run]:
    """Return the predictions by data set and system."""
    return {(run["data"], run["system"]): run for run in of(found, "prediction")}


def counted(n: int, what: str) -> str:
    """Return how many of something there are, in words."""
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def verdict(centre: float, half: float, sign: int) -> tuple[str, str]:
    """Return a difference with its 95 % interval, and whether it is better (sign 1: if above)."""
    if np.isnan(half):
        return with_interval(centre, half), "one only"
    word = "undecided" if abs(centre) <= half else "yes" if sign * centre > 0 else "no"
    return with_interval(centre, half), word


def judged(gaps: list[float], runs: list[Run], sign: int) -> tuple[str, str]:
    """Return the verdict on one difference for each model of a data set."""
    return verdict(*paired_interval(np.array(gaps), runs[-1]["test_share"]), sign)
