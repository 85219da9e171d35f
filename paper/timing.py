"""How long attributions take, and how far they are from the true Shapley values of v(S)."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from bench.data import shifted
from bench.rivals import SYSTEMS, Task
from bench.runner import Job

from paper import data
from paper.explainers import POSTHOC, PostHoc, fitted
from paper.settings import read_settings
from sasanet import SASANetClassifier
from sasanet.posthoc import game_of, lime_weights, permutation_shapley, tree_shap


def measure_time(name: str) -> dict[str, Any]:
    """Time every explainer on one data set, and compare it with the truth, also under a shift."""
    settings = read_settings("timing")
    split = data.one_split(name, 0, settings["rows"])
    model = fitted(name, 0, split, settings["time_limit"])
    X, _, _ = data.judged_rows(split, settings["explained"], 0)
    posthoc = PostHoc(model, split, settings)
    moved = shifted(X, split.X_train)
    few = settings["kernel_rows"]
    task = Task(split.X_train, split.y_train, regression=False, seed=0)
    trees = SYSTEMS["lightgbm"].fit(task, {"learning_rate": 0.03, "num_leaves": 31})
    timed = {one: X[:few] if one.startswith("KernelSHAP") else X for one in POSTHOC}
    seconds = {
        "SASANet": _seconds(model.explain, X, len(X)),
        **{one: _seconds(partial(posthoc.explain, one), timed[one], len(X)) for one in POSTHOC},
        "TreeSHAP of LightGBM": _seconds(partial(tree_shap, trees), X, len(X)),
        "LIME": _seconds(partial(_lime, model, split.X_train), X[: settings["lime_rows"]], len(X)),
    }
    orders = settings["orders"]
    return {
        "data": name,
        "rows": len(X),
        "truth_rows": few,
        "orders": orders,
        "seconds": seconds,
        "training_seconds": posthoc.seconds,
        "as_given": _errors(model, posthoc, X[:few], orders),
        "shifted": _errors(model, posthoc, moved[:few], orders),
    }


def _seconds(explain: Callable[[pd.DataFrame], Any], X: pd.DataFrame, n: int) -> float:
    """Return the seconds for n rows, from those for the rows given."""
    explain(X[:1])  # warm up
    start = time.perf_counter()
    explain(X)
    return (time.perf_counter() - start) * n / len(X)


def _lime(model: SASANetClassifier, train: pd.DataFrame, X: pd.DataFrame) -> Any:
    background = train.sample(min(len(train), 1_000), random_state=0)
    return lime_weights(model.predict_proba, X, background)


def _errors(
    model: SASANetClassifier, posthoc: PostHoc, X: pd.DataFrame, orders: int
) -> dict[str, float]:
    """Return every explainer's RMSE to the Shapley values of v(S), the truth's noise taken out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a shift makes levels nobody has seen
        truth = permutation_shapley(game_of(model, X), X.shape[1], n_orders=orders)
        noise = float((truth.error_std**2).mean())
        found = {"SASANet": model.explain(X).values}
        found |= {one: posthoc.explain(one, X).values for one in POSTHOC}
    errors = {one: float(((v - truth.values) ** 2).mean()) for one, v in found.items()}
    rmse = {one: max(0.0, error - noise) ** 0.5 for one, error in errors.items()}
    return rmse | {"noise of the truth": noise**0.5, "spread": float(np.std(truth.values))}


def jobs() -> dict[str, Job]:
    """Return one job for each data set."""
    return {
        f"timing-{name}": partial(measure_time, name) for name in read_settings("timing")["data"]
    }
