"""How long attributions take, and how far they are from the true Shapley values of v(S)."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch

from bench.accuracy.rivals import SYSTEMS, Task
from bench.runner import Job
from bench.tables.data import shifted
from paper.explainers import POSTHOC, Case, make_case
from paper.settings import jobs_of
from sasanet import SASANetClassifier
from sasanet.posthoc import lime, tree_shap
from sasanet.shapley import game_of, permutation_shapley


def measure_time(name: str, seed: int) -> dict[str, Any]:
    """Time every explainer of one model, and compare it with the truth, also under a shift."""
    case = make_case("timing", name, seed)
    X, train, posthoc, few = case.X, case.split.X_train, case.posthoc, case.settings["kernel_rows"]
    task = Task(train, case.split.y_train, regression=False, seed=seed)
    trees = SYSTEMS["lightgbm"].fit(task, {"learning_rate": 0.03, "num_leaves": 31})
    timed = {one: X[:few] if one.startswith("KernelSHAP") else X for one in POSTHOC}
    local = partial(_lime, case.model, train)
    seconds = {
        "SASANet": _seconds(case.model.explain, X, len(X)),
        **{one: _seconds(partial(posthoc.explain, one), timed[one], len(X)) for one in POSTHOC},
        "TreeSHAP of LightGBM": _seconds(partial(tree_shap, trees), X, len(X)),
        "LIME": _seconds(local, X[: case.settings["lime_rows"]], len(X)),
    }
    return {
        "data": name,
        "rows": len(X),
        "threads": torch.get_num_threads(),
        "test_share": case.test_share,
        "truth_rows": few,
        "orders": case.settings["orders"],
        "seconds": seconds,
        "training_seconds": posthoc.seconds,
        "as_given": _errors(case, X[:few]),
        "shifted": _errors(case, shifted(X, train)[:few]),
    }


def _seconds(explain: Callable[[pd.DataFrame], Any], X: pd.DataFrame, n: int) -> float:
    """Return the seconds for n rows, from those for the rows given."""
    explain(X[:1])  # warm up
    start = time.perf_counter()
    explain(X)
    return (time.perf_counter() - start) * n / len(X)


def _lime(model: SASANetClassifier, train: pd.DataFrame, X: pd.DataFrame) -> Any:
    background = train.sample(min(len(train), 1_000), random_state=0)
    return lime(model.predict_proba, X, background)


def _errors(case: Case, X: pd.DataFrame) -> dict[str, float]:
    """Return every explainer's RMSE to the Shapley values of v(S), the truth's noise taken out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a shift makes levels nobody has seen
        game, orders = game_of(case.model, X), case.settings["orders"]
        truth = permutation_shapley(game, X.shape[1], n_orders=orders)
        noise = float((truth.error_std**2).mean())
        found = {"SASANet": case.model.explain(X).values}
        found |= {one: case.posthoc.explain(one, X).values for one in POSTHOC}
    errors = {one: float(((v - truth.values) ** 2).mean()) for one, v in found.items()}
    rmse = {one: max(0.0, error - noise) ** 0.5 for one, error in errors.items()}
    return rmse | {"noise of the truth": noise**0.5, "spread": float(np.std(truth.values))}


def jobs() -> dict[str, Job]:
    """Return one job for each data set and seed."""
    return jobs_of("timing", measure_time)
