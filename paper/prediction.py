"""The paper's first table, Appendix J and the ablations: every system on every data set.

Our default and EBM on Income, Higgs and Fraud are what ``make bench-accuracy`` measures: the same
splits, seeds and search.
"""

from __future__ import annotations

import hashlib
import json
from functools import partial
from itertools import product
from typing import Any

from bench.measure import measure
from bench.runner import RESULTS, Job

from paper import data
from paper.settings import FOLDER, is_quick, read_settings
from paper.systems import PAPERS_OWN, make_systems

_BORROWED = {"SASANet": "sasanet", "EBM": "ebm"}


def predict(name: str, system: str) -> dict[str, Any]:
    """Tune one system on a data set and score it on every split."""
    settings = read_settings("prediction")
    one = make_systems(name, settings)[system]
    count = settings["splits"][name]
    if system in PAPERS_OWN:
        count = min(count, settings["paper_splits"])
    splits = data.splits(name, count, settings["rows"])
    file = FOLDER / "partial" / f"{name}-{system}-{_digest(settings, one.search)}.json"
    found = measure(one, splits, data.is_regression(name), file)
    return {"data": name, "system": system} | found


def jobs() -> dict[str, Job]:
    """Return one job for each system and data set."""
    settings = read_settings("prediction")
    found: dict[str, Job] = {}
    for name in settings["data"]:
        systems = make_systems(name, settings)
        for system in settings["systems"]:
            senseless = data.is_regression(name) and systems[system].classes_only
            if not (senseless or is_borrowed(name, system)):
                found[f"prediction-{name}-{_slug(system)}"] = partial(predict, name, system)
    return found


def is_borrowed(name: str, system: str) -> bool:
    """Tell whether ``make bench-accuracy`` measures a system on this data set."""
    return system in _BORROWED and not data.is_regression(name) and not is_quick()


def borrowed() -> dict[str, Any]:
    """Return what ``make bench-accuracy`` has measured, as results of this experiment."""
    found: dict[str, Any] = {}
    counts = read_settings("prediction")["splits"]
    for (name, file), (system, slug) in product(data.FILES.items(), _BORROWED.items()):
        path = RESULTS / "accuracy" / f"{file}-{slug}.json"
        if is_borrowed(name, system) and path.exists():
            result = json.loads(path.read_text())
            same = result["splits"][: counts[name]]  # as many as the others have
            mine = {"data": name, "system": system, "splits": same}
            found[f"prediction-{name}-{slug}"] = result | mine
    return found


def _digest(settings: dict[str, Any], search: tuple[Any, ...]) -> str:
    """Return a short name of what a half-done result depends on, so that no other takes it up."""
    budget = {key: settings[key] for key in settings if key == "rows" or key.endswith("_limit")}
    return hashlib.sha256(repr((budget, search)).encode()).hexdigest()[:8]


def _slug(system: str) -> str:
    return system.lower().replace(" ", "_").replace("(", "").replace(")", "")
