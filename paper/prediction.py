"""The paper's first table, Appendix J and the ablations: every system on every data set.

Our default and EBM on Income, Higgs and Fraud are what ``make bench-accuracy`` measures: the same
splits, seeds and search.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from bench.accuracy.measure import measure
from bench.accuracy.rivals import Settings, System
from bench.runner import RESULTS, Job
from paper import data
from paper.settings import FOLDER, is_quick, read_settings, results_folder, short_name
from paper.systems import ABLATIONS, WHOLE, limits_of, make_systems

_BORROWED = {"SASANet": "sasanet", "EBM": "ebm"}


def predict(name: str, system: str) -> dict[str, Any]:
    """Tune one system on a data set and score it on every split, going on where it stopped."""
    settings = read_settings("prediction")
    one = _system(name, system, settings)
    budget = _budget(name, system, settings, one.search)
    half_done = FOLDER / "partial" / f"{name}-{system}-{budget}.json"
    _reopen(_job(name, system), budget, half_done)
    found: dict[str, Any] = {"splits": []}
    while len(found["splits"]) < (wanted := _wanted(found["splits"], settings)):
        splits = data.splits(name, wanted, settings["rows"])
        found = measure(one, splits, data.is_regression(name), half_done)
    return {"data": name, "system": system, "budget": budget} | found


def _system(name: str, system: str, settings: dict[str, Any]) -> System:
    """Return a system with what it may try: an ablation changes one thing and tries nothing."""
    one = make_systems(name, settings)[system]
    if system not in ABLATIONS or len(one.search) == 1:
        return one
    whole = results_folder() / f"{_job(name, WHOLE)}.json"
    if not whole.exists():
        raise SystemExit(
            f"{system} takes the settings chosen for {WHOLE}, got there is no {whole}; run "
            f"the job {_job(name, WHOLE)} first."
        )
    return replace(one, search=(json.loads(whole.read_text())["tuning"]["chosen"],))


def _wanted(splits: list[dict[str, Any]], settings: dict[str, Any]) -> int:
    """Return how many splits: the first few tell whether a fit takes more than a minute."""
    few: int = settings["slow_splits"]
    seconds = [split["fit_seconds"] for split in splits[:few]]
    slow = len(seconds) < few or sum(seconds) > 60 * few
    return few if slow else max(few, settings["splits"])


def _budget(name: str, system: str, settings: dict[str, Any], search: tuple[Settings, ...]) -> str:
    """Return a short name of what a result depends on, so that no other takes it up."""
    return short_name((settings["rows"], limits_of(system, name, settings), search))


def _reopen(job: str, budget: str, half_done: Path) -> None:
    """Go on with a finished result of fewer splits, if it was measured with the same budget."""
    finished = results_folder() / f"{job}.json"
    if half_done.exists() or not finished.exists():
        return
    found = json.loads(finished.read_text())
    if found.get("budget") == budget:
        half_done.parent.mkdir(parents=True, exist_ok=True)
        half_done.write_text(json.dumps({key: found[key] for key in ("splits", "tuning")}))


def is_current(found: dict[str, Any]) -> bool:
    """Tell whether a result has as many splits and the budget that the settings ask for."""
    settings, name, system = read_settings("prediction"), found["data"], found["system"]
    search = _system(name, system, settings).search
    enough = len(found["splits"]) >= _wanted(found["splits"], settings)
    return enough and found.get("budget") == _budget(name, system, settings, search)


def jobs() -> dict[str, Job]:
    """Return one job for each system and data set."""
    settings = read_settings("prediction")
    found: dict[str, Job] = {}
    for name in settings["data"]:
        systems = make_systems(name, settings)
        for system in settings["systems"]:
            senseless = data.is_regression(name) and systems[system].classes_only
            if not (senseless or is_borrowed(name, system)):
                found[_job(name, system)] = partial(predict, name, system)
    return found


def is_borrowed(name: str, system: str) -> bool:
    """Tell whether ``make bench-accuracy`` measures a system on this data set."""
    return system in _BORROWED and not data.is_regression(name) and not is_quick()


def borrowed() -> dict[str, Any]:
    """Return what ``make bench-accuracy`` has measured, as results of this experiment."""
    found: dict[str, Any] = {}
    most = read_settings("prediction")["splits"]
    for (name, file), (system, slug) in product(data.FILES.items(), _BORROWED.items()):
        path = RESULTS / "accuracy" / f"{file}-{slug}.json"
        if is_borrowed(name, system) and path.exists():
            result = json.loads(path.read_text())
            same = result["splits"][:most]  # as many as the others have at most
            mine = {"data": name, "system": system, "splits": same}
            found[_job(name, system)] = result | mine
    return found


def _job(name: str, system: str) -> str:
    slug = system.lower().replace(" ", "_").replace("(", "").replace(")", "")
    return f"prediction-{name}-{slug}"
