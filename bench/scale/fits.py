"""Fits of tables in Parquet, ours and LightGBM's: seconds, memory, accuracy, truth."""

from __future__ import annotations

import math
import os
import resource
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.metrics import r2_score, roc_auc_score

from bench.scale.tables import TARGET, LinearGame, Maker, higgs, ids, unseen, written
from sasanet import SASANetClassifier, SASANetRegressor, load
from sasanet.arrays import Floats
from sasanet.scale import explain_batches, predict_batches

MODELS = Path(__file__).parents[1] / "models" / "scale"
_TREES = {"n_estimators": 500, "learning_rate": 0.05, "num_leaves": 31, "verbose": -1}
_JUDGED, _COALITIONS = 500, 256
_EXPLAINED = 20  # rows of a very wide table


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0))


def peak_gib() -> float:
    """Return the most memory that this process has held until now."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


class Stopwatch:
    """Seconds by the clock, and by the processor, which other work on the machine disturbs less."""

    def __init__(self) -> None:
        self.start, self.busy = time.perf_counter(), time.process_time()

    def seconds(self, what: str) -> dict[str, float]:
        """Return the seconds since it began."""
        return {
            f"{what}_seconds": time.perf_counter() - self.start,
            f"{what}_cpu_seconds": time.process_time() - self.busy,
        }


def _table(kind: str) -> tuple[Maker, pd.DataFrame, bool]:
    """Return a maker of rows, rows to judge by, and whether labels are numbers."""
    if kind == "higgs":
        make, test = higgs()
        return make, test, False
    make = LinearGame.known().rows
    return make, unseen(make), True


def fit_ours(kind: str, n_rows: int, time_limit: float = math.inf) -> dict[str, Any]:
    """Fit our default from a folder; its model is kept for explaining."""
    make, test, numbers = _table(kind)
    model = (SASANetRegressor if numbers else SASANetClassifier)(
        random_state=0, time_limit=time_limit
    )
    before = peak_gib()
    with written(make, n_rows) as folder, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        watch = Stopwatch()
        model.fit(folder, target=TARGET)
        took = watch.seconds("fit")
        size = sum(file.stat().st_size for file in folder.iterdir())
    ours = [str(note.message) for note in caught if note.category.__module__ == "sasanet.errors"]
    found = _facts(n_rows, test) | took
    found |= {
        "time_limit": None if time_limit == math.inf else time_limit,
        "peak_before_gib": before,
        "fit_peak_gib": peak_gib(),
        "parquet_gib": size / 2**30,
        "steps": max(record["steps"] for record in model.history_),
        "training_seconds": model.history_[-1]["seconds"],
        "warnings": ours,
        "score": _score(model, test, numbers),
    }
    if kind == "higgs":
        found["score_drawn"] = _score(model, unseen(make), numbers)
    if time_limit == math.inf:
        model.save(MODELS / f"{kind}-{n_rows}")
    return found | (_truth(model, test) if kind == "known" else {})


def fit_lightgbm(kind: str, n_rows: int) -> dict[str, Any]:
    """Fit LightGBM from the same folder, read into an array part by part."""
    make, test, numbers = _table(kind)
    model = (LGBMRegressor if numbers else LGBMClassifier)(
        **_TREES, n_jobs=torch.get_num_threads(), random_state=0
    )
    with written(make, n_rows) as folder:
        watch = Stopwatch()
        features = test.columns.drop(TARGET)
        X, y = np.empty((n_rows, len(features)), dtype=np.float32), np.empty(n_rows)
        first = 0
        for file in sorted(folder.iterdir()):
            part = pd.read_parquet(file)
            rows = slice(first, first + len(part))
            X[rows], y[rows] = part[features].to_numpy(), part[TARGET].to_numpy()
            first += len(part)
        model.fit(X, y)
        took = watch.seconds("fit")
    found = _facts(n_rows, test) | took | {"fit_peak_gib": peak_gib()}
    plain = test.set_axis([*(f"Column_{j}" for j in range(len(features))), TARGET], axis=1)
    found["score"] = _score(model, plain, numbers)
    if kind == "higgs":
        drawn = unseen(make).set_axis(plain.columns, axis=1)
        found["score_drawn"] = _score(model, drawn, numbers)
    return found


def _facts(n_rows: int, test: pd.DataFrame) -> dict[str, Any]:
    return {
        "rows": n_rows,
        "columns": test.shape[1] - 1,
        "cores": cores(),
        "threads": torch.get_num_threads(),
    }


def score_known(model: Any) -> float:
    """Return R² on rows of the known table that nobody has learned from."""
    return _score(model, unseen(LinearGame.known().rows), numbers=True)


def _score(model: Any, test: pd.DataFrame, numbers: bool) -> float:
    """Return R² or the area under the ROC curve."""
    X, y = test.drop(columns=TARGET), test[TARGET]
    if numbers:
        return float(r2_score(y, model.predict(X)))
    return float(roc_auc_score(y, model.predict_proba(X)[:, 1]))


def _truth(model: Any, test: pd.DataFrame) -> dict[str, float]:
    """Compare v(S) and φ of some rows with the closed form."""
    game, X = LinearGame.known(), test.drop(columns=TARGET)[:_JUDGED]
    cells = X.to_numpy(dtype=np.float64)
    random = np.random.default_rng(0)
    sizes = random.integers(0, cells.shape[1] + 1, size=(_COALITIONS, 1))
    masks = random.random((_COALITIONS, cells.shape[1])).argsort(1).argsort(1) < sizes
    expected, truth = game.value(cells, masks), game.shapley(cells)
    every = np.broadcast_to(masks, (len(X), *masks.shape))
    return {
        "value_rmse": _rmse(model.value(X, every), expected),
        "value_spread": float(expected.std()),
        "phi_rmse": _rmse(model.explain(X).values, truth),
        "phi_spread": float(truth.std()),
    }


def _rmse(found: Floats, truth: Floats) -> float:
    return float(np.sqrt(np.mean((np.asarray(found) - truth) ** 2)))


def explain(kind: str, n_fitted: int, n_rows: int, n_jobs: int) -> dict[str, Any]:
    """Explain and predict so many rows from files into files, every process with one thread."""
    torch.set_num_threads(1)
    make, test, _ = _table(kind)
    model = load(MODELS / f"{kind}-{n_fitted}")
    found: dict[str, Any] = {"rows": n_rows, "cores": cores(), "n_jobs": n_jobs}
    with written(make, n_rows) as folder, tempfile.TemporaryDirectory() as out:
        for name, run in (("predict", predict_batches), ("explain", explain_batches)):
            watch = Stopwatch()
            run(model, folder, Path(out) / name, n_jobs=n_jobs)
            found |= watch.seconds(name)
            found[f"{name}_peak_gib"] = peak_gib()
    return found | {"columns": test.shape[1] - 1}


def wide(n_rows: int, n_columns: int, time_limit: float) -> dict[str, Any]:
    """Fit a table of very many columns in memory, and explain some of its rows."""
    table = LinearGame.known(n_columns).rows(n_rows + 200, np.random.default_rng(1))
    X, y = table.drop(columns=TARGET), table[TARGET]
    found: dict[str, Any] = {"rows": n_rows, "columns": n_columns, "time_limit": time_limit}
    model = SASANetRegressor(random_state=0, time_limit=time_limit)
    watch = Stopwatch()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(X[:n_rows], y[:n_rows])
    except ValueError as error:
        return found | {"refused": str(error)} | watch.seconds("fit")
    found |= watch.seconds("fit") | {"fit_peak_gib": peak_gib()}
    found["warnings"] = [str(note.message) for note in caught]
    found["score"] = float(r2_score(y[n_rows:], model.predict(X[n_rows:])))
    watch = Stopwatch()
    model.explain(X[n_rows : n_rows + _EXPLAINED])
    found |= {"explained_rows": _EXPLAINED, "explain_peak_gib": peak_gib()}
    return found | watch.seconds("explain")


def many_ids(n_rows: int, time_limit: float) -> dict[str, Any]:
    """Fit a table with a column in which no value comes twice, from Parquet."""
    model = SASANetRegressor(random_state=0, time_limit=time_limit)
    with written(ids, n_rows) as folder, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        watch = Stopwatch()
        model.fit(folder, target=TARGET)
        took = watch.seconds("fit")
    test = unseen(ids)
    ours = [str(note.message) for note in caught if note.category.__module__ == "sasanet.errors"]
    return took | {
        "rows": n_rows,
        "time_limit": time_limit,
        "fit_peak_gib": peak_gib(),
        "levels_kept": len(model.encoder_.columns[0].levels),
        "warnings": ours,
        "score": float(r2_score(test[TARGET], model.predict(test.drop(columns=TARGET)))),
    }
