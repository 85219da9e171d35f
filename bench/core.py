"""The promises of the model, measured on real data by ``make bench-core``.

Results are in bench/results/core/*.json and docs/measured/benchmarks.md; ``python -m bench.core
JOB`` runs one job.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from bench import ebm, runner
from bench.accuracy.fit_time import chosen_settings, timed_fits
from bench.accuracy.measure import scores
from bench.accuracy.rivals import Task
from bench.page import write_page
from bench.tables import data
from sasanet import ARCHITECTURES, Architecture, SASANetClassifier, SASANetRegressor
from sasanet.estimator.sasanet import SASANetModel

SEEDS = (0, 1, 2)
MOST_ROWS = 50_000  # of a table, to add up


def census(seed: int) -> dict[str, Any]:
    """Fit ours and the tuned LightGBM in one run; compare time and speed."""
    split = data.census()
    fits = timed_fits(Task(split.X_train, split.y_train, regression=False, seed=seed), "census")
    (model, seconds), (lightgbm, lightgbm_seconds) = fits["sasanet"], fits["lightgbm"]
    ours = _rows_per_second(model.explain, split.X_test[:20_000])
    theirs = _rows_per_second(
        lambda X: lightgbm.predict(X, pred_contrib=True), split.X_test[:2_000]
    )
    return {
        "fit_seconds": seconds,
        "lightgbm_fit_seconds": lightgbm_seconds,
        "fit_ratio": seconds / lightgbm_seconds,
        "trees": lightgbm.best_iteration_,
        "lightgbm_settings": chosen_settings("census"),
        "explain_rate": ours,
        "lightgbm_explain_rate": theirs,
        "explain_ratio": ours / theirs,
        "audit": model.audit(split.X_test, n_rows=256, n_orders=1000).to_dict(),
    }


def promises(name: str) -> dict[str, Any]:
    """Measure what must hold of one table's default model: sums, and what may not change them."""
    split = next(data.splits(name))
    kind = SASANetRegressor if data.is_regression(name) else SASANetClassifier
    model = kind(random_state=0).fit(split.X_train, split.y_train)
    rows = min(len(split.X_test), 64)
    return {
        "additivity": _additivity(model, split),
        "invariance": _invariance(model, split.X_test[:2_000]),
        "self_game_r2": model.audit(split.X_test, n_rows=rows, n_orders=1000)["self-game R²"].value,
    }


def modules(name: str) -> dict[str, Any]:
    """Fit census income with other modules in equal time: the default's alternatives."""
    architecture = {
        "closed_form": Architecture(),
        "context": Architecture(attribution="context", attribution_steps=10**6),
        "attention": Architecture(
            attribution="attention", attribution_layers=(128, 128), attribution_steps=10**6
        ),
        "sequence": replace(ARCHITECTURES["sequence"], attribution_steps=10**6),
    }[name]
    split = data.census()
    model = SASANetClassifier(architecture, random_state=0, max_epochs=100, time_limit=45).fit(
        split.X_train, split.y_train
    )
    report = model.audit(split.X_test, n_rows=64, n_orders=400)
    found = scores(model, split.X_test, split.y_test)
    return {
        "ap": found["ap"],
        "auc": found["auc"],
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
    return {"rows": len(rows), "explain_rate": rate, "peak_gib_before": before}


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
        "value_us_per_row": 1e6 * value[0] / (value[1] * 256),
        "explain_us_per_row": 1e6 / _rows_per_second(model.explain, X),
    }


def _rows_per_second(function: Callable[[Any], Any], X: pd.DataFrame) -> float:
    function(X[:1_000])  # warm up
    start = time.perf_counter()
    function(X)
    return len(X) / (time.perf_counter() - start)


def _additivity(model: SASANetModel, split: data.Split) -> dict[str, Any]:
    """Return the largest |φ0 + Σφ − raw| / max(1, |raw|) over many rows, also with holes."""
    X = pd.concat([split.X_train, split.X_test])
    X = X.sample(min(len(X), MOST_ROWS), random_state=0)
    holes = np.random.RandomState(0).random_sample(X.shape) < 0.3
    gaps = {}
    for name, table in (("as given", X), ("30 % of the cells removed", X.mask(holes))):
        kind = "predict" if isinstance(model, SASANetRegressor) else "decision_function"
        raw = getattr(model, kind)(table)
        gap = np.abs(model.explain(table).prediction - raw) / np.maximum(1, np.abs(raw))
        gaps[name] = float(gap.max())
    return {"rows": len(X), "largest_gap": gaps}


def _invariance(model: SASANetModel, X: pd.DataFrame) -> dict[str, float]:
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
    **{f"census-{seed}": partial(census, seed) for seed in SEEDS},
    **{
        f"promises-{name.replace(' ', '-')}": partial(promises, name)
        for name in ("census", *data.NAMES)
    },
    "explain-million": explain_million,
    "ebm-census": ebm.census_rate,
    "ebm-known": ebm.known_error,
    **{f"scaling-{n}": partial(scaling, n) for n in (10, 40, 160, 640)},
    **{
        f"module-{name}": partial(modules, name)
        for name in ("closed_form", "context", "attention", "sequence")
    },
}


if __name__ == "__main__":
    runner.main("bench.core", runner.RESULTS / "core", JOBS, write_page)
