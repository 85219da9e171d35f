"""One system and one table in, its tuned quality on every split out.

Each setting of a system's search is judged on held-out rows of the first split's training part; the
best is then fitted on every split.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from sklearn.metrics import (
    average_precision_score,
    log_loss,
    mean_absolute_error,
    r2_score,
    roc_auc_score,
    root_mean_squared_error,
)

from bench.accuracy.rivals import SMALL, Settings, System, Task
from bench.tables.data import Split

Numbers = dict[str, float]
RESAMPLES = 200
TEACHERS = "panel with a kernel machine"  # what softened SASANet's labels; others are earlier


def measure(
    system: System, splits: Iterable[Split], regression: bool, partial: Path
) -> dict[str, Any]:
    """Tune a system and score it on every split; what is done is kept in the file ``partial``."""
    done: dict[str, Any] = json.loads(partial.read_text()) if partial.exists() else {"splits": []}
    for number, split in enumerate(splits):
        task = Task(split.X_train, split.y_train, regression, seed=number)
        if "tuning" not in done:
            done["tuning"] = _tune(task, system)
        elif number < len(done["splits"]):
            continue
        start = time.perf_counter()
        model = system.fit(task, done["tuning"]["chosen"])
        seconds = time.perf_counter() - start
        found: dict[str, Any] = scores(model, split.X_test, split.y_test)
        if split.official:
            found["resampled"] = resampled(model, split.X_test, split.y_test)
        done["splits"].append(found | {"fit_seconds": seconds})
        partial.parent.mkdir(exist_ok=True)
        partial.write_text(json.dumps(done))
    share = len(split.X_test) / len(split.X_train)
    metric, threads = "r2" if regression else "auc", torch.get_num_threads()
    found = {"metric": metric, "test_share": share, "threads": threads, "teachers": TEACHERS}
    return done | found


def _tune(task: Task, system: System) -> dict[str, Any]:
    """Judge every setting on held-out rows: once, or three times where (rare) rows are few."""
    if len(system.search) == 1:
        return {"chosen": system.search[0], "tried": []}
    few = task.rare or len(task.X) < SMALL
    parts = [_divide(task, seed) for seed in range(3 if few else 1)]
    tried: list[dict[str, Any]] = []
    for choice in system.search:
        start = time.perf_counter()
        quality = np.mean([_quality(system, choice, *part) for part in parts])
        seconds = time.perf_counter() - start
        tried.append({"settings": choice, "quality": float(quality), "seconds": seconds})
    best = max(tried, key=lambda one: one["quality"])
    return {"chosen": best["settings"], "tried": tried}


def _divide(task: Task, seed: int) -> tuple[Task, pd.DataFrame, pd.Series]:
    """Return a task with fewer rows, and the rows that judge it."""
    learn, judge = replace(task, seed=seed).divided()
    fewer = Task(task.X.iloc[learn], task.y.iloc[learn], task.regression, seed, trial=True)
    return fewer, task.X.iloc[judge], task.y.iloc[judge]


def _quality(system: System, choice: Settings, task: Task, X: pd.DataFrame, y: pd.Series) -> float:
    found = scores(system.fit(task, choice), X, y)
    return found["r2" if task.regression else "auc"]


def resampled(model: Any, X: pd.DataFrame, y: pd.Series) -> dict[str, list[float]]:
    """Return AUC, of a regressor RMSE, on test rows drawn again and again with replacement.

    The draws are the same for every system, so differences of two systems are paired by draw. They
    tell what another test part would have changed, where there is only one: random splits do not
    need it.
    """
    random = np.random.RandomState(0)
    draws = (np.bincount(random.randint(len(y), size=len(y))) for _ in range(RESAMPLES))
    counts = (np.pad(draw, (0, len(y) - len(draw))) for draw in draws)
    if not hasattr(model, "predict_proba"):
        squares = (np.asarray(model.predict(X), dtype=np.float64) - np.asarray(y)) ** 2
        return {"rmse": [round(float(np.sqrt(np.average(squares, weights=n))), 6) for n in counts]}
    score = np.asarray(model.predict_proba(X), dtype=np.float64)[:, 1]
    hit = np.asarray(y) == model.classes_[1]
    return {"auc": [round(float(roc_auc_score(hit, score, sample_weight=n)), 6) for n in counts]}


def scores(model: Any, X: pd.DataFrame, y: pd.Series) -> Numbers:
    """Return R², RMSE and MAE of a regressor; AUC and log loss of a classifier, with AP and RMSE.

    Where a regressor's target has two values only (insurance), its AUC too.
    """
    if hasattr(model, "predict_proba"):
        return _class_scores(model, X, y)
    guess = np.asarray(model.predict(X), dtype=np.float64)
    found = {
        "r2": float(r2_score(y, guess)),
        "rmse": float(root_mean_squared_error(y, guess)),
        "mae": float(mean_absolute_error(y, guess)),
    }
    if pd.Series(y).nunique() == 2:
        found |= {"auc": float(roc_auc_score(y, guess))}
    return found


def _class_scores(model: Any, X: pd.DataFrame, y: pd.Series) -> Numbers:
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
