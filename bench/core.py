"""The promises of the model, measured on real data by ``make bench-core``.

Results are in bench/results/core/*.json and docs/benchmarks.md; ``python -m bench.core JOB`` runs
one job.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier, LGBMRegressor, early_stopping
from sklearn.metrics import average_precision_score, r2_score, roc_auc_score

from bench import data, runner
from bench.page import write_page
from sasanet import ARCHITECTURES, Architecture, SASANetClassifier, SASANetRegressor
from sasanet.estimator import SelfExplainingModel

RESULTS = runner.RESULTS / "core"
SEEDS = (0, 1, 2)

# The search budget of "tuned LightGBM": twelve settings, judged by average precision on a tenth of
# the training rows, each stopped early on the same tenth.
SEARCH = [
    {"learning_rate": rate, "num_leaves": leaves, "min_child_samples": least, "cat_smooth": smooth}
    for rate in (0.03, 0.06)
    for leaves, least in ((15, 50), (31, 50), (63, 100))
    for smooth in (10, 40)
]
FIXED = {"n_estimators": 3000, "subsample": 0.8, "subsample_freq": 1, "colsample_bytree": 0.5}


def _lightgbm(settings: dict[str, Any], split: data.Split) -> tuple[LGBMClassifier, float, float]:
    """Return a tuned LightGBM, its validation AP, and its fit time."""
    held = np.random.RandomState(0).permutation(len(split.X_train)) < len(split.X_train) // 10
    X, y = split.X_train, split.y_train
    model = LGBMClassifier(**FIXED, **settings, n_jobs=2, verbose=-1, random_state=0)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the name of the validation argument differs by version
        model.fit(
            X[~held],
            y[~held],
            eval_set=[(X[held], y[held])],
            eval_metric="average_precision",
            callbacks=[early_stopping(100, verbose=False)],
        )
    seconds = time.perf_counter() - start
    return model, average_precision_score(y[held], model.predict_proba(X[held])[:, 1]), seconds


def census_tuning() -> dict[str, Any]:
    """Choose LightGBM's settings for census income on a validation part."""
    split = data.census()
    tried: list[dict[str, Any]] = []
    for settings in SEARCH:
        _, quality, seconds = _lightgbm(settings, split)
        tried.append({"settings": settings, "validation_ap": quality, "fit_seconds": seconds})
    return {"chosen": max(tried, key=lambda t: t["validation_ap"])["settings"], "tried": tried}


def census(seed: int) -> dict[str, Any]:
    """Fit both models in one run; compare quality, fit time and explanation speed."""
    split = data.census()
    settings = json.loads((RESULTS / "census-tuning.json").read_text())["chosen"]
    lightgbm, _, lightgbm_seconds = _lightgbm(settings, split)
    start = time.perf_counter()
    model = SASANetClassifier(random_state=seed).fit(split.X_train, split.y_train)
    seconds = time.perf_counter() - start
    result: dict[str, Any] = {
        "attribution": model.network_.architecture.attribution,
        "fit_seconds": seconds,
        "lightgbm_fit_seconds": lightgbm_seconds,
        "fit_ratio": seconds / lightgbm_seconds,
        "trees": lightgbm.best_iteration_,
    }
    for prefix, found in (("", model), ("lightgbm_", lightgbm)):
        score = found.predict_proba(split.X_test)[:, 1]
        result[f"{prefix}ap"] = average_precision_score(split.y_test, score)
        result[f"{prefix}auc"] = roc_auc_score(split.y_test, score)
    ours = _rows_per_second(model.explain, split.X_test[:20_000])
    theirs = _rows_per_second(
        lambda X: lightgbm.predict(X, pred_contrib=True), split.X_test[:2_000]
    )
    result |= {
        "explain_rate": ours,
        "lightgbm_explain_rate": theirs,
        "explain_ratio": ours / theirs,
    }
    result["audit"] = model.audit(split.X_test, n_rows=256, n_orders=1000).to_dict()
    if seed == 0:
        result["additivity"] = _additivity(model, split)
        result["invariance"] = _invariance(model, split.X_test[:2_000])
    return result


def default(name: str) -> dict[str, Any]:
    """Compare both models with default settings on five splits of one table."""
    regression = data.is_regression(name)
    ours, theirs, audits, additivity = [], [], [], {}
    seconds = []
    for seed, split in enumerate(data.splits(name)):
        kind = SASANetRegressor if regression else SASANetClassifier
        start = time.perf_counter()
        model = kind(random_state=seed).fit(split.X_train, split.y_train)
        seconds.append(time.perf_counter() - start)
        rival = (LGBMRegressor if regression else LGBMClassifier)(
            n_jobs=2, verbose=-1, random_state=seed
        )
        rival.fit(split.X_train, split.y_train)
        ours.append(_score(model, split))
        theirs.append(_score(rival, split))
        audits.append(model.audit(split.X_test, n_rows=64, n_orders=1000)["self-game R²"].value)
        if seed == 0:
            additivity = _additivity(model, split)
    return {
        "metric": "R²" if regression else "AUC",
        "ours": ours,
        "lightgbm": theirs,
        "fit_seconds": seconds,
        "self_game_r2": audits,
        "attribution": model.network_.architecture.attribution,
        "additivity": additivity,
    }


def modules(name: str) -> dict[str, Any]:
    """Fit census income with other modules in equal time: the default's alternatives."""
    architecture = {
        "closed_form": Architecture(),
        "context": Architecture(attribution="context"),
        "attention": Architecture(attribution="attention", attribution_layers=(128, 128)),
        "sequence": ARCHITECTURES["sequence"],
    }[name]
    split = data.census()
    model = SASANetClassifier(
        architecture, random_state=0, max_epochs=100, attribution_steps=10**6, time_limit=45
    ).fit(split.X_train, split.y_train)
    score = model.predict_proba(split.X_test)[:, 1]
    report = model.audit(split.X_test, n_rows=64, n_orders=400)
    return {
        "ap": average_precision_score(split.y_test, score),
        "auc": roc_auc_score(split.y_test, score),
        "self_game_r2": report["self-game R²"].value,
        "order_gap": report["order gap"].value,
        "explain_rate": _rows_per_second(model.explain, split.X_test[:5_000]),
    }


def explain_million() -> dict[str, Any]:
    """Explain a million census rows and measure the memory that takes."""
    split = data.census()
    model = SASANetClassifier(random_state=0, max_epochs=1)
    model.fit(split.X_train[:20_000], split.y_train[:20_000])
    rows = pd.concat([split.X_test] * 11, ignore_index=True)[:1_000_000]
    before = runner.peak_gib()
    rate = _rows_per_second(model.explain, rows)
    kind = model.network_.architecture.attribution
    return {
        "rows": len(rows),
        "explain_rate": rate,
        "peak_gib_before": before,
        "attribution": kind,
    }


def scaling(n_features: int) -> dict[str, Any]:
    """Measure time and memory as features grow, on synthetic numbers and categories."""
    random = np.random.RandomState(0)
    n_rows = 4_000
    numbers = random.randn(n_rows, n_features)
    X = pd.DataFrame(numbers, columns=[f"x{j}" for j in range(n_features)])
    for j in range(0, n_features, 2):
        X[f"x{j}"] = pd.Categorical(np.floor(X[f"x{j}"] * 3).clip(-6, 6).astype(int).astype(str))
    y = (numbers[:, :5].sum(1) + random.randn(n_rows) > 0).astype(int)
    model = SASANetClassifier(random_state=0, max_epochs=4, batch_size=256, validation_fraction=0)
    model.fit(X, y)
    times = {}
    for record in model.history_:
        times[record["phase"]] = (record["seconds"], record["steps"])
    value = times["value"]
    return {
        "attribution": model.network_.architecture.attribution,
        "value_us_per_row": 1e6 * value[0] / (value[1] * 256),
        "explain_us_per_row": 1e6 / _rows_per_second(model.explain, X),
    }


def _score(model: Any, split: data.Split) -> float:
    if not hasattr(model, "predict_proba"):
        return r2_score(split.y_test, model.predict(split.X_test))
    shares = model.predict_proba(split.X_test)
    if shares.shape[1] > 2:
        return roc_auc_score(split.y_test, shares, multi_class="ovr")
    return roc_auc_score(split.y_test, shares[:, 1])


def _rows_per_second(function: Callable[[Any], Any], X: pd.DataFrame) -> float:
    function(X[:1_000])  # warm up
    start = time.perf_counter()
    function(X)
    return len(X) / (time.perf_counter() - start)


def _additivity(model: SelfExplainingModel, split: data.Split) -> dict[str, Any]:
    """Return the largest |φ0 + Σφ − raw| / max(1, |raw|) over all rows, also with holes."""
    X = pd.concat([split.X_train, split.X_test])
    holes = np.random.RandomState(0).random_sample(X.shape) < 0.3
    gaps = {}
    for name, table in (("as given", X), ("30 % of the cells removed", X.mask(holes))):
        kind = "predict" if isinstance(model, SASANetRegressor) else "decision_function"
        raw = getattr(model, kind)(table)
        gap = np.abs(model.explain(table).prediction - raw) / np.maximum(1, np.abs(raw))
        gaps[name] = float(gap.max())
    return {"rows": len(X), "largest_gap": gaps}


def _invariance(model: SelfExplainingModel, X: pd.DataFrame) -> dict[str, float]:
    """Return the largest change of an attribution under changes that must not matter."""
    values = model.explain(X).values
    shuffled = X.sample(frac=1, random_state=0)
    columns = list(np.random.RandomState(0).permutation(X.columns))
    by_row = model.explain(shuffled).values[np.argsort(X.index.get_indexer(shuffled.index))]
    alone = np.concatenate([model.explain(X[i : i + 1]).values for i in range(50)])
    changes = {
        "rows permuted": by_row - values,
        "columns permuted": model.explain(X[columns]).values - values,
        "a row alone": alone - values[:50],
    }
    return {name: float(np.abs(change).max()) for name, change in changes.items()}


JOBS: dict[str, runner.Job] = {
    "census-tuning": census_tuning,
    **{f"census-{seed}": lambda seed=seed: census(seed) for seed in SEEDS},  # type: ignore[misc]
    **{
        f"default-{name.replace(' ', '-')}": lambda name=name: default(name)  # type: ignore[misc]
        for name in data.NAMES
    },
    "explain-million": explain_million,
    **{f"scaling-{n}": lambda n=n: scaling(n) for n in (10, 40, 160, 640)},  # type: ignore[misc]
    **{
        f"module-{name}": lambda name=name: modules(name)  # type: ignore[misc]
        for name in ("closed_form", "context", "attention", "sequence")
    },
}


if __name__ == "__main__":
    runner.main("core", JOBS, write_page)
