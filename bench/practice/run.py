"""How true and how fast are the explanations people decide by? ``make bench-practice`` measures.

For each table a default model, and on rows it has not seen: groups of columns, units of the
probability, and all pairs of features, each against the model's own game by random orders. Beside
boosted trees: the speed of pairs and how stable reasons are (:mod:`~bench.practice.trees`), and the
deviance of rates (:mod:`~bench.practice.rates`). What intervals cover
(:mod:`~bench.practice.quantiles`), and whether monotone columns are
(:mod:`~bench.practice.directions`).
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
from bench.practice import directions, quantiles, rates, trees
from bench.practice.page import write_page
from bench.practice.tables import table
from sasanet import SASANetClassifier
from sasanet.shapley import game_of, sampled_interactions

TABLES = ("german credit", "higgs_64k", "three classes")
ROWS, ORDERS = 64, 2_000
PAIR_ROWS, PAIR_SAMPLES = 8, 400
SPEED_ROWS, SPEED_CALLS = 200, 5
GROUP = 2  # columns
QUANTILE_TABLES = ("known_spread", "california_housing", "bike_sharing", "diamonds")


def measure(name: str) -> dict[str, Any]:
    """Fit a default model and measure all three."""
    X, y, rows = table(name)
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
        "speed": {"rows": SPEED_ROWS, "calls": SPEED_CALLS},
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
    """Return rows a second of the fastest of some calls after a first one, which makes tables.

    Seconds are the processor's, of all threads: other work on the machine does not count.
    """
    explain()
    seconds = []
    for _ in range(SPEED_CALLS):
        start = time.process_time()
        explain()
        seconds.append(time.process_time() - start)
    return SPEED_ROWS / min(seconds)


RESULTS = runner.RESULTS / "practice"
JOBS: dict[str, runner.Job] = {
    **{name.replace(" ", "_"): partial(measure, name) for name in TABLES},
    **{f"pairs-{name}": partial(trees.pair_speed, name) for name in ("higgs_64k", "probit")},
    "stability-german_credit": partial(trees.stability, "german credit"),
    **{f"rivals-{name}": partial(rates.of_trees, name) for name in rates.TABLES},
    **{f"deviance-{name}": partial(rates.beside_trees, name, RESULTS) for name in rates.TABLES},
    **{f"coverage-{name}": partial(quantiles.coverage, name) for name in QUANTILE_TABLES},
    **{f"violations-{name}": partial(directions.violations, name) for name in directions.TABLES},
    **{
        f"monotone-{name}": partial(directions.with_and_without, name) for name in directions.TABLES
    },
}


if __name__ == "__main__":
    runner.main("bench.practice.run", RESULTS, JOBS, write_page)
