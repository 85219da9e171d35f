"""What is timed: each system as a function of a table, by a name.

Trees have the settings that the search of ``make bench-accuracy`` chose for their table. Woodelf
knows no splits by sets of categories, so it explains a LightGBM that reads their codes as numbers.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import pandas as pd
import torch

from bench import runner
from bench.accuracy.rivals import SYSTEMS, Task
from bench.tables import data
from sasanet import SASANetClassifier, load

MODELS = Path(__file__).parents[1] / "models" / "speed"
TABLES = ("coil2000", "census", "higgs_64k", "creditcard")
Explain = Callable[[pd.DataFrame], Any]


@dataclass(frozen=True)
class System:
    """How to get ready after a model was loaded, and whether thousands of rows take long."""

    make: Callable[[], Explain]
    is_slow: bool = False


def split(name: str) -> data.Split:
    """Return training and test rows."""
    return data.census() if name == "census" else next(data.splits(name))


def fit(name: str) -> dict[str, Any]:
    """Fit and keep all models of a table on one thread; return processor seconds of each."""
    use_threads(1)
    folder, rows = MODELS / name, split(name)
    folder.mkdir(parents=True, exist_ok=True)
    start = time.process_time()
    model = SASANetClassifier(random_state=0).fit(rows.X_train, rows.y_train)
    seconds = {"sasanet": time.process_time() - start}
    model.save(folder / "plain")
    task = Task(rows.X_train, rows.y_train, regression=False, seed=0)
    settings = {}
    for system in ("lightgbm", "xgboost"):
        file = runner.RESULTS / "accuracy" / f"{name}-{system}.json"
        settings[system] = json.loads(file.read_text())["tuning"]["chosen"]
        start = time.process_time()
        trees = SYSTEMS[system].fit(task, settings[system])
        seconds[system] = time.process_time() - start
        joblib.dump(trees, folder / system)
    plain = Task(codes(rows.X_train), rows.y_train, regression=False, seed=0)
    joblib.dump(SYSTEMS["lightgbm"].fit(plain, settings["lightgbm"]), folder / "codes")
    return {
        "fit_seconds": seconds,
        "training": training(model),
        "settings": settings,
        "columns": rows.X_train.shape[1],
        "train_rows": len(rows.X_train),
    }


def training(model: Any) -> dict[str, float]:
    """Return the seconds and the steps that the network was trained for."""
    phases = {epoch["phase"]: epoch for epoch in model.history_}
    return {key: sum(last[key] for last in phases.values()) for key in ("seconds", "steps")}


def learn(name: str) -> dict[str, Any]:
    """Teach and keep the learned module of a table's model; return how long that took."""
    use_threads(1)
    model, rows = load(MODELS / name / "plain"), split(name)
    start = time.process_time()
    model.learn_attributions(rows.X_train)
    seconds = time.process_time() - start
    model.save(MODELS / name / "taught")
    return {"seconds": seconds, "learned": model.learned_attributions_}


def codes(X: pd.DataFrame) -> pd.DataFrame:
    """Return a table with categories as numbers."""
    return X.apply(lambda column: column.cat.codes if column.dtype == "category" else column)


def systems(name: str, threads: int) -> dict[str, System]:
    """Return the systems of a table's models, each to be made ready."""
    folder = MODELS / name

    def ours(ask: Callable[[Any, pd.DataFrame], Any]) -> Callable[[], Explain]:
        def make() -> Explain:
            model = load(folder / "taught")
            return lambda X: ask(model, X)

        return make

    lightgbm, xgboost = joblib.load(folder / "lightgbm"), joblib.load(folder / "xgboost").model
    lightgbm.set_params(n_jobs=threads)
    xgboost.set_params(n_jobs=threads)
    return {
        "SASANet, predict": System(ours(lambda model, X: model.predict_proba(X))),
        "SASANet, formula": System(ours(lambda model, X: model.explain(X, method="formula"))),
        "SASANet, learned module": System(
            ours(lambda model, X: model.explain(X, method="learned"))
        ),
        "LightGBM, predict": System(lambda: lightgbm.predict_proba, is_slow=True),
        "LightGBM, pred_contrib": System(
            lambda: lambda X: lightgbm.predict(X, pred_contrib=True), is_slow=True
        ),
        "LightGBM, shap's TreeExplainer": System(lambda: _tree_shap(lightgbm), is_slow=True),
        "LightGBM, Woodelf": System(lambda: _woodelf(joblib.load(folder / "codes"))),
        "XGBoost, pred_contribs": System(lambda: _xgboost(xgboost), is_slow=True),
    }


def _tree_shap(trees: Any) -> Explain:
    import shap

    explain: Explain = shap.TreeExplainer(trees).shap_values
    return explain


def _woodelf(trees: Any) -> Explain:
    from woodelf import WoodelfExplainer

    explainer = WoodelfExplainer(trees)
    return lambda X: explainer.shap_values(codes(X), verbose=False)


def _xgboost(trees: Any) -> Explain:
    from xgboost import DMatrix

    booster = trees.get_booster()
    limit = (0, trees.best_iteration + 1)

    def explain(X: pd.DataFrame) -> Any:
        matrix = DMatrix(X, enable_categorical=True, nthread=trees.n_jobs)
        return booster.predict(matrix, pred_contribs=True, iteration_range=limit)

    return explain


def use_threads(threads: int) -> None:
    """Let this process use so many cores and threads, whatever asks for them."""
    import os

    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, cores[:threads])
    torch.set_num_threads(threads)
