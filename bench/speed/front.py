"""What a second of fitting buys: accuracy and truth by time limit, beside one fit of LightGBM.

LightGBM has the settings its search chose; SASANet has its defaults, with time limits of so many
times LightGBM's seconds, and without one. All run on one thread, in processor seconds. On real
tables the figure is that of test rows and of the model's own game; on a table whose E[y | x_S] is
known it is how far v(S) is off.
"""

from __future__ import annotations

import json
import math
import time
import warnings
from typing import Any

import joblib
import numpy as np
from lightgbm import LGBMRegressor

from bench import runner
from bench.accuracy.fit_time import chosen_settings
from bench.accuracy.measure import scores
from bench.accuracy.rivals import SYSTEMS, Task
from bench.speed.systems import MODELS, split, training, use_threads
from bench.tables import data
from sasanet import SASANetClassifier, SASANetRegressor, load
from sasanet.datasets import make_gaussian_quadratic
from sasanet.shapley import all_coalitions, game_of

TABLES = ("census", "higgs_64k", "creditcard", "diamonds", "california housing")
LIMITS = (1, 2, 3, 6)  # times a fit of LightGBM
AUDITED, ORDERS = 100, 200
KNOWN_ROWS, KNOWN_JUDGED, KNOWN_FEATURES = 60_000, 200, 8


def front(name: str) -> dict[str, Any]:
    """Fit a table with every limit; return seconds, quality and self-game R²."""
    use_threads(1)
    rows, regression = split(name), data.is_regression(name)
    kind = SASANetRegressor if regression else SASANetClassifier
    trees, base, whole = _without_limit(name, kind)
    fits = []
    for times in (*LIMITS, None):
        if times is None:
            model, record = whole
        else:
            model, record = timed(kind, times * base, rows.X_train, rows.y_train)
        report = model.audit(rows.X_test, n_rows=AUDITED, n_orders=ORDERS)
        record["self_game_r2"] = report["self-game R²"].value
        fits.append({"times": times, **record, "scores": scores(model, rows.X_test, rows.y_test)})
    return {
        "metric": "r2" if regression else "auc",
        "train_rows": len(rows.X_train),
        "lightgbm": {"seconds": base, "scores": scores(trees, rows.X_test, rows.y_test)},
        "sasanet": fits,
    }


def _without_limit(name: str, kind: Any) -> tuple[Any, float, tuple[Any, dict[str, Any]]]:
    """Return LightGBM and its seconds, and SASANet without a limit: those of the other jobs."""
    rows, file = split(name), runner.RESULTS / "speed" / f"fit-{name}.json"
    if file.exists() and (MODELS / name / "plain").exists():
        run = json.loads(file.read_text())
        seconds, trees = run["fit_seconds"], joblib.load(MODELS / name / "lightgbm")
        record = {"seconds": seconds["sasanet"], "training": run["training"]}
        return trees, seconds["lightgbm"], (load(MODELS / name / "plain"), record)
    task = Task(rows.X_train, rows.y_train, data.is_regression(name), seed=0)
    start = time.process_time()
    trees = SYSTEMS["lightgbm"].fit(task, chosen_settings(name))
    base = time.process_time() - start
    return trees, base, timed(kind, math.inf, rows.X_train, rows.y_train)


def timed(kind: Any, limit: float, X: Any, y: Any) -> tuple[Any, dict[str, Any]]:
    """Return a model fitted within a limit, and the seconds of all and of training alone."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a limit ended a fit
        model = kind(random_state=0, time_limit=limit).fit(X, y)
    return model, {"seconds": time.process_time() - start, "training": training(model)}


def known() -> dict[str, Any]:
    """Return how far v(S) is off on a table whose truth is known, by limit."""
    use_threads(1)
    table = make_gaussian_quadratic(
        KNOWN_ROWS + KNOWN_JUDGED, n_features=KNOWN_FEATURES, correlation=0.6, random_state=0
    )
    X, y, judged = table.X[:KNOWN_ROWS], table.y[:KNOWN_ROWS], table.X[KNOWN_ROWS:]
    start = time.process_time()
    trees = LGBMRegressor(n_estimators=300, learning_rate=0.05, n_jobs=1, verbose=-1)
    trees.fit(X, y)
    base = time.process_time() - start
    masks = all_coalitions(KNOWN_FEATURES)
    every = np.broadcast_to(masks, (KNOWN_JUDGED, *masks.shape))
    truth = table.expectation(judged, every)
    fits = []
    for times in (*LIMITS, None):
        limit = math.inf if times is None else times * base
        model, record = timed(SASANetRegressor, limit, X, y)
        error = game_of(model, judged)(masks) - truth
        fits.append({"times": times, **record, "value_rmse": float(np.sqrt(np.mean(error**2)))})
    return {
        "train_rows": KNOWN_ROWS,
        "spread": float(truth.std()),
        "lightgbm": {"seconds": base},
        "sasanet": fits,
    }
