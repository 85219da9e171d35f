"""The paper's first table, Appendix J and the ablations: every system on every data set."""

from __future__ import annotations

from functools import partial
from typing import Any

from bench.measure import measure
from bench.runner import Job

from paper import data
from paper.settings import FOLDER, is_quick, read_settings
from paper.systems import make_systems


def predict(name: str, system: str) -> dict[str, Any]:
    """Tune one system on a data set and score it on every split."""
    settings = read_settings("prediction")
    one = make_systems(name, settings)[system]
    splits = data.splits(name, settings["splits"][name], settings["rows"])
    file = FOLDER / "partial" / f"{'quick-' if is_quick() else ''}{name}-{system}.json"
    found = measure(one, splits, data.is_regression(name), file)
    return {"data": name, "system": system} | found


def jobs() -> dict[str, Job]:
    """Return one job for each system and data set."""
    settings = read_settings("prediction")
    found: dict[str, Job] = {}
    for name in settings["data"]:
        systems = make_systems(name, settings)
        for system in settings["systems"]:
            if not (data.is_regression(name) and systems[system].classes_only):
                found[f"prediction-{name}-{_slug(system)}"] = partial(predict, name, system)
    return found


def _slug(system: str) -> str:
    return system.lower().replace(" ", "_").replace("(", "").replace(")", "")
