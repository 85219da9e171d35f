"""TOML files in, the settings of every experiment out; quick ones are the same, only smaller."""

from __future__ import annotations

import hashlib
import os
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from bench.runner import Job

FOLDER = Path(__file__).parent
SETTINGS = "experiments"  # the folder of the TOML files
EXPERIMENTS = ("prediction", "masking", "timing", "values", "figures")


def is_quick() -> bool:
    """Tell whether this run is the small one: ``SASANET_PAPER=quick``."""
    return os.environ.get("SASANET_PAPER", "full") == "quick"


def results_folder() -> Path:
    """Return where results are kept; quick ones never mix with those of full size."""
    return FOLDER / ("quick" if is_quick() else "results")


def picture_folder() -> Path:
    """Return where pictures go: the docs, or beside the quick results."""
    return FOLDER / "quick" if is_quick() else FOLDER.parent / "docs" / "measured" / "figures"


def read_settings(experiment: str) -> dict[str, Any]:
    """Return the settings of one experiment, those of its ``[quick]`` part in a quick run."""
    with (FOLDER / SETTINGS / f"{experiment}.toml").open("rb") as file:
        found = tomllib.load(file)
    quick = found.pop("quick")
    return found | quick if is_quick() else found


def jobs_of(experiment: str, measure: Callable[[str, int], dict[str, Any]]) -> dict[str, Job]:
    """Return one job for each data set and seed of an experiment, by name."""
    settings = read_settings(experiment)
    return {
        f"{experiment}-{name}-{seed}": partial(measure, name, seed)
        for name in settings["data"]
        for seed in settings["seeds"]
    }


def digest(experiment: str) -> str:
    """Return a short name of what one result depends on: its settings, but for which are run."""
    kept = {k: v for k, v in read_settings(experiment).items() if k not in ("data", "seeds")}
    return short_name(sorted(kept.items()))


def short_name(parts: Any) -> str:
    """Return eight letters that stand for plain data."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:8]


def read_printed() -> dict[str, Any]:
    """Return the figures the paper prints."""
    with (FOLDER / SETTINGS / "printed.toml").open("rb") as file:
        return tomllib.load(file)
