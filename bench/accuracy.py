"""How good are the predictions? ``make bench-accuracy`` compares with what users would pick.

Every rival is tuned: each setting of its search (bench/rivals.py) is judged on held-out rows of the
first split's training part, the best is then fitted on every split. SASANet runs with its presets
as they are. All systems see the same splits and have two threads.
"""

from __future__ import annotations

import json
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, log_loss, r2_score, roc_auc_score

from bench import data, runner
from bench.accuracy_page import write_page
from bench.rivals import SMALL, SYSTEMS, Settings, Task

PARTIAL = Path(__file__).parent / "partial"  # a long job goes on where it was stopped
# How many splits: folds, random splits, or (census, coil2000) seeds on the official one.
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
}
Numbers = dict[str, float]


def measure(name: str, system: str) -> dict[str, Any]:
    """Tune one system on a table and score it on every split."""
    file = PARTIAL / f"{name}-{system}.json"
    done: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {"splits": []}
    regression = data.is_regression(name)
    for number, split in enumerate(data.splits(name, COUNTS[name])):
        task = Task(split.X_train, split.y_train, regression, seed=number)
        if "tuning" not in done:
            done["tuning"] = _tune(task, system)
        elif number < len(done["splits"]):
            continue
        start = time.perf_counter()
        model = SYSTEMS[system].fit(task, done["tuning"]["chosen"])
        seconds = time.perf_counter() - start
        found = scores(model, split.X_test, split.y_test) | {"fit_seconds": seconds}
        done["splits"].append(found)
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(done))
    share = len(split.X_test) / len(split.X_train)
    return done | {"metric": "r2" if regression else "auc", "test_share": share}


def _tune(task: Task, system: str) -> dict[str, Any]:
    """Judge every setting on held-out rows: once, or three times where (rare) rows are few."""
    settings = SYSTEMS[system].search
    if len(settings) == 1:
        return {"chosen": settings[0], "tried": []}
    parts = [_divide(task, seed) for seed in range(3 if task.rare or len(task.X) < SMALL else 1)]
    tried: list[dict[str, Any]] = []
    for choice in settings:
        start = time.perf_counter()
        quality = np.mean([_quality(system, choice, *part) for part in parts])
        seconds = time.perf_counter() - start
        tried.append({"settings": choice, "quality": float(quality), "seconds": seconds})
    best = max(tried, key=lambda one: one["quality"])
    return {"chosen": best["settings"], "tried": tried}


def _divide(task: Task, seed: int) -> tuple[Task, pd.DataFrame, pd.Series]:
    """Return a task with fewer rows, and the rows that judge it."""
    learn, judge = replace(task, seed=seed).divided()
    fewer = Task(task.X.iloc[learn], task.y.iloc[learn], task.regression, seed)
    return fewer, task.X.iloc[judge], task.y.iloc[judge]


def _quality(system: str, choice: Settings, task: Task, X: pd.DataFrame, y: pd.Series) -> float:
    found = scores(SYSTEMS[system].fit(task, choice), X, y)
    return found["r2" if task.regression else "auc"]


def scores(model: Any, X: pd.DataFrame, y: pd.Series) -> Numbers:
    """Return R² of a regressor; AUC and log loss of a classifier, AP and RMSE of two classes."""
    if not hasattr(model, "predict_proba"):
        return {"r2": float(r2_score(y, model.predict(X)))}
    shares: NDArray[np.float64] = np.asarray(model.predict_proba(X), dtype=np.float64)
    shares = np.clip(shares, 1e-7, 1)  # one certain error must not make the loss infinite
    shares = shares / shares.sum(1, keepdims=True)
    loss = float(log_loss(y, shares, labels=list(model.classes_)))
    if shares.shape[1] > 2:
        return {"auc": float(roc_auc_score(y, shares, multi_class="ovr")), "log_loss": loss}
    positive = (np.asarray(y) == model.classes_[1]).astype(float)
    score = shares[:, 1]
    return {
        "auc": float(roc_auc_score(positive, score)),
        "ap": float(average_precision_score(positive, score)),
        "rmse": float(np.sqrt(np.mean((score - positive) ** 2))),
        "log_loss": loss,
    }


JOBS: dict[str, runner.Job] = {
    f"{name}-{system}".replace(" ", "_"): partial(measure, name, system)
    for system in SYSTEMS
    for name in COUNTS
}

if __name__ == "__main__":
    runner.main("accuracy", JOBS, write_page)
