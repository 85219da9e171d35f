"""The README's small table: ours beside LightGBM + TreeSHAP and EBM, one run on one machine.

Higgs (64,000 rows, 28 columns), three splits: quality, seconds to fit, rows explained a second.
A table whose truth is known (Gaussian probit, correlated), three seeds: how far the attributions
are from the true Shapley values. LightGBM and EBM have the settings their search chose
(``make bench-accuracy``). Run by ``make bench-glance``, alone on the machine.
"""

from __future__ import annotations

import json
import time
from typing import Any

import numpy as np
import pandas as pd
import torch

from bench import runner
from bench.accuracy.rivals import SYSTEMS, Settings, Task
from bench.glance_page import write_page
from bench.tables import data
from sasanet import datasets
from sasanet.arrays import Floats

TABLE = "higgs_64k"
NAMES = ("sasanet", "lightgbm", "ebm")
_SEEDS = 3
_EXPLAINED = 4_000  # rows
_KNOWN_ROWS, _KNOWN_JUDGED, _KNOWN_FEATURES = 20_000, 500, 10


def chosen_settings(name: str, system: str) -> Settings:
    """Return what a system's search chose for a table; ours has none."""
    file = runner.RESULTS / "accuracy" / f"{name}-{system}.json"
    chosen: Settings = json.loads(file.read_text()).get("tuning", {}).get("chosen", {})
    return chosen


def attributions(system: str, model: Any, X: pd.DataFrame) -> Floats:
    """Return each system's own explanation of rows, on the scale of log-odds: (n, d)."""
    if system == "sasanet":
        values: Floats = model.explain(X).values
        return values
    if system == "lightgbm":
        return np.asarray(model.predict(X, pred_contrib=True))[:, :-1]
    found = np.zeros(X.shape)
    for term, values in zip(model.term_features_, model.eval_terms(X).T, strict=True):
        found[:, list(term)] += values[:, None] / len(term)  # a pair is shared by its two features
    return found


def measured(split: data.Split, seed: int) -> dict[str, dict[str, float]]:
    """Fit and explain with every system on one split."""
    from sklearn.metrics import roc_auc_score

    result = {}
    for system in NAMES:
        task = Task(split.X_train, split.y_train, regression=False, seed=seed)
        start = time.perf_counter()
        model = SYSTEMS[system].fit(task, chosen_settings(TABLE, system))
        fitted = time.perf_counter()
        auc = roc_auc_score(split.y_test, model.predict_proba(split.X_test)[:, 1])
        rows = split.X_test.iloc[:_EXPLAINED]
        attributions(system, model, rows.iloc[:50])  # what the first call imports is not counted
        begun = time.perf_counter()
        attributions(system, model, rows)
        explained = time.perf_counter() - begun
        result[system] = {
            "auc": float(auc),
            "fit_seconds": fitted - start,
            "rows_per_second": len(rows) / explained,
        }
    return result


def higgs() -> dict[str, Any]:
    """Measure three splits of Higgs."""
    splits = [measured(split, k) for k, split in enumerate(data.splits(TABLE, _SEEDS))]
    return {"table": TABLE, "splits": splits, "threads": torch.get_num_threads()}


def known() -> dict[str, Any]:
    """Compare attributions with the true Shapley values on three synthetic tables."""
    runs = []
    for seed in range(_SEEDS):
        table = datasets.make_gaussian_probit(
            _KNOWN_ROWS + _KNOWN_JUDGED,
            n_features=_KNOWN_FEATURES,
            correlation=0.6,
            random_state=seed,
        )
        task = Task(table.X[:_KNOWN_ROWS], pd.Series(table.y[:_KNOWN_ROWS]), False, seed)
        judged = table.X[_KNOWN_ROWS:]
        truth = table.shapley(judged)
        errors = {}
        for system in NAMES:
            model = SYSTEMS[system].fit(task, chosen_settings(TABLE, system))
            found = attributions(system, model, judged)
            errors[system] = float(np.sqrt(((found - truth) ** 2).mean()) / truth.std())
        runs.append(errors)
    return {"features": _KNOWN_FEATURES, "rows": _KNOWN_ROWS, "relative_error": runs}


JOBS: dict[str, runner.Job] = {"higgs": higgs, "known": known}

if __name__ == "__main__":
    runner.main("bench.glance", runner.RESULTS / "glance", JOBS, write_page)
