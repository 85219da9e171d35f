"""How true and how fast are the explanations people decide by? ``make bench-practice`` measures.

For each table a default model, and on rows it has not seen: groups of columns, units of the
probability, and all pairs of features, each against the model's own game by random orders.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch

from bench import runner
from bench.practice.page import write_page
from bench.tables import data
from sasanet import SASANetClassifier
from sasanet.datasets import load_german_credit, make_gaussian_probit
from sasanet.shapley import game_of, sampled_interactions

TABLES = ("german credit", "higgs_64k", "three classes")
ROWS, ORDERS = 64, 2_000
PAIR_ROWS, PAIR_SAMPLES = 8, 400
SPEED_ROWS = 200
TRAINING_ROWS = 10_000
GROUP = 2  # columns


def _table(name: str) -> tuple[pd.DataFrame, Any, pd.DataFrame]:
    """Return training rows, their labels, and other rows."""
    if name == "german credit":
        X, y = load_german_credit()
        return X[:750], y[:750], X[750:]
    if name == "three classes":
        table = make_gaussian_probit(5_000, n_features=12, correlation=0.4)
        product = table.X.iloc[:, 0] * table.X.iloc[:, 1] + table.X.iloc[:, 2]
        labels = pd.qcut(product, 3, labels=["low", "middle", "high"])
        return table.X[:4_000], labels[:4_000], table.X[4_000:]
    split = next(data.splits(name))
    return split.X_train[:TRAINING_ROWS], split.y_train[:TRAINING_ROWS], split.X_test


def measure(name: str) -> dict[str, Any]:
    """Fit a default model and measure all three."""
    X, y, rows = _table(name)
    model = SASANetClassifier(random_state=0).fit(X, y)
    columns = list(X.columns)
    starts = range(0, len(columns) - GROUP + 1, GROUP)
    pairs = {f"group {i}": columns[i : i + GROUP] for i in starts}
    few = rows[:SPEED_ROWS]
    return {
        "columns": len(columns),
        "rows": ROWS,
        "orders": ORDERS,
        "plain": _audited(model, rows),
        "groups": _audited(model, rows, groups=pairs),
        "probability": _audited(model, rows, units="probability"),
        "interactions": _interactions(model, rows[:PAIR_ROWS]),
        "rows_per_second": {
            "plain": _speed(lambda: model.explain(few)),
            "groups": _speed(lambda: model.explain(few, groups=pairs)),
            "probability": _speed(lambda: model.explain(few, units="probability")),
            "interactions": _speed(lambda: model.interactions(few)),
        },
        "threads": torch.get_num_threads(),
    }


def _audited(model: SASANetClassifier, rows: pd.DataFrame, **game: Any) -> dict[str, float]:
    found = model.audit(rows, n_rows=ROWS, n_orders=ORDERS, **game)["self-game R²"]
    return {"value": found.value, "low": found.low, "high": found.high, "noise": found.noise}


def _interactions(model: SASANetClassifier, rows: pd.DataFrame) -> dict[str, float]:
    """Return R² of all pairs; the noise of the sampled truth is subtracted from both sides."""
    true = sampled_interactions(game_of(model, rows), rows.shape[1], None, PAIR_SAMPLES)
    assert true.error_std is not None
    first, second = true.pairs.T
    found = 2 * model.interactions(rows)[:, first, second]
    noise = np.square(true.error_std)
    spread = (np.square(true.values - true.values.mean()) - noise).sum()
    error = (np.square(found - true.values) - noise).sum()
    return {"value": 1 - error / spread, "noise": noise.sum() / spread, "rows": len(rows)}


def _speed(explain: Callable[[], object]) -> float:
    start = time.perf_counter()
    explain()
    return SPEED_ROWS / (time.perf_counter() - start)


JOBS: dict[str, runner.Job] = {name.replace(" ", "_"): partial(measure, name) for name in TABLES}


if __name__ == "__main__":
    runner.main("bench.practice.run", runner.RESULTS / "practice", JOBS, write_page)
