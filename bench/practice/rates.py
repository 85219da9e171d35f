"""Poisson deviance beside LightGBM's, on test rows, each with the same labels and exposures.

LightGBM gets six settings, chosen by early stopping on a fifth of the training rows and then fitted
again on all of them; SASANet is as it comes. Where rates are known, their own deviance is the least
that any model can have on average.
"""

from __future__ import annotations

import itertools
import json
import time
from pathlib import Path
from typing import Any, NamedTuple

import lightgbm
import numpy as np
import pandas as pd
import torch

from bench.tables import data
from sasanet import SASANetRegressor
from sasanet.arrays import Floats
from sasanet.objectives import deviance

SETTINGS = [
    {"num_leaves": leaves, "min_child_samples": least}
    for leaves, least in itertools.product((8, 31, 127), (20, 200))
]
_FIXED = {"objective": "poisson", "learning_rate": 0.05, "verbose": -1}
_MOST_TREES, _PATIENCE = 2_000, 50
KNOWN_ROWS = 20_000  # of the table with known rates, for training and for testing


class Counts(NamedTuple):
    """A table of counts, how long each row was observed, and its rate where that is known."""

    X: pd.DataFrame
    y: Floats
    exposure: Floats
    rate: Floats | None = None

    def take(self, rows: Any) -> Counts:
        """Return some of the rows."""
        rate = None if self.rate is None else self.rate[rows]
        X = self.X.iloc[rows].reset_index(drop=True)
        return Counts(X, self.y[rows], self.exposure[rows], rate)

    def deviance(self, rate: Floats) -> float:
        """Return the mean Poisson deviance of counts per exposure, weighted by it."""
        found = deviance(self.y / self.exposure, rate, 1.0)
        return float(np.average(found, weights=self.exposure))


def motor_claims() -> Counts:
    """Return the claims of French motor policies, 2004 (freMTPL2)."""
    table = data.read("fremtpl2_freq").drop(columns="IDpol")
    exposure = table.pop("Exposure").to_numpy(dtype=np.float64)
    y = table.pop("ClaimNb").to_numpy(dtype=np.float64)
    words = table.select_dtypes(exclude="number").columns
    return Counts(table.astype(dict.fromkeys(words, "category")), y, exposure)


def bike_sharing() -> Counts:
    """Return how many bicycles were rented in each hour."""
    split = next(data.splits("bike sharing"))
    X = pd.concat([split.X_train, split.X_test]).sort_index()
    y = pd.concat([split.y_train, split.y_test]).sort_index().to_numpy(dtype=np.float64)
    return Counts(X, y, np.ones(len(X)))


def known_rates() -> Counts:
    """Return counts drawn from rates that are known: bent lines, a pair, levels."""
    random = np.random.default_rng(0)
    n = 2 * KNOWN_ROWS
    age, power = random.uniform(18, 80, n), random.gamma(4.0, 25.0, n)
    years = np.minimum(random.exponential(6.0, n), 0.6 * (age - 17))  # driven: follows from age
    area = random.choice(["town", "land", "coast", "hills"], n, p=[0.4, 0.3, 0.2, 0.1])
    brand = random.choice([f"brand {b}" for b in range(12)], n)
    noise = random.normal(size=n)
    by_area = pd.Series(area).map({"town": 0.4, "land": -0.2, "coast": 0.1, "hills": -0.3})
    by_brand = pd.Series(brand).map({f"brand {b}": 0.06 * (b - 5.5) for b in range(12)})
    young = np.exp(-(age - 18) / 8)
    log_rate = -1.6 + 1.2 * young - 0.04 * years + 0.3 * np.log(power / 100) + by_area + by_brand
    log_rate += 0.8 * young * (power > 120)
    columns = {"age": age, "power": power, "years": years, "noise": noise}
    X = pd.DataFrame({**columns, "area": pd.Categorical(area), "brand": pd.Categorical(brand)})
    exposure = random.uniform(0.05, 1.0, n)
    rate = np.exp(np.asarray(log_rate))
    return Counts(X, random.poisson(rate * exposure).astype(float), exposure, rate)


TABLES = {
    "motor_claims": motor_claims,
    "known_rates": known_rates,
    "bike_sharing": bike_sharing,
}


def split(name: str) -> tuple[Counts, Counts]:
    """Return rows to learn from and rows to test on, the same for both models."""
    counts = TABLES[name]()
    order = np.random.default_rng(0).permutation(len(counts.y))
    n_test = KNOWN_ROWS if counts.rate is not None else len(order) // 5
    return counts.take(order[n_test:]), counts.take(order[:n_test])


def of_trees(name: str) -> dict[str, Any]:
    """Return the deviance of test rows under LightGBM, and how long its choice took."""
    training, test = split(name)
    start = time.perf_counter()
    trees, setting = _tuned(training)
    seconds = time.perf_counter() - start
    return {
        "LightGBM": test.deviance(trees.predict(test.X)),
        "setting": setting,
        "seconds": seconds,
        "threads": torch.get_num_threads(),
    }


def beside_trees(name: str, results: Path) -> dict[str, Any]:
    """Return the deviance of test rows under both models, a constant and the truth.

    LightGBM's is that of its own job (:func:`of_trees`), which comes first.
    """
    trees = json.loads((results / f"rivals-{name}.json").read_text())
    training, test = split(name)
    start = time.perf_counter()
    model = SASANetRegressor(objective="poisson", random_state=0)
    model.fit(training.X, training.y, exposure=training.exposure)
    seconds = time.perf_counter() - start
    own = test.deviance(model.predict(test.X))
    constant = np.full(len(test.y), training.y.sum() / training.exposure.sum())
    return {
        "rows": len(training.y),
        "test_rows": len(test.y),
        "columns": test.X.shape[1],
        "events": float(training.y.sum() + test.y.sum()),
        "SASANet": own,
        "LightGBM": trees["LightGBM"],
        "ratio": own / trees["LightGBM"],
        "constant": test.deviance(constant),
        "truth": None if test.rate is None else test.deviance(test.rate),
        "setting": trees["setting"],
        "threads": torch.get_num_threads(),
        "seconds": {"LightGBM, all settings": trees["seconds"], "SASANet": seconds},
    }


def _tuned(training: Counts) -> tuple[Any, dict[str, int]]:
    """Return trees of the best setting, and that setting."""
    n_check = len(training.y) // 5
    check = training.take(slice(0, n_check))
    rest = training.take(slice(n_check, None))
    best: tuple[float, dict[str, int]] = (np.inf, {})
    for setting in SETTINGS:
        trees = _regressor(**setting, n_estimators=_MOST_TREES)
        trees.fit(
            rest.X,
            rest.y / rest.exposure,
            sample_weight=rest.exposure,
            eval_set=[(check.X, check.y / check.exposure)],
            eval_sample_weight=[check.exposure],
            callbacks=[lightgbm.early_stopping(_PATIENCE, verbose=False)],
        )
        found = check.deviance(trees.predict(check.X))
        best = min(best, (found, {**setting, "n_estimators": trees.best_iteration_}), key=_first)
    trees = _regressor(**best[1])
    trees.fit(training.X, training.y / training.exposure, sample_weight=training.exposure)
    return trees, best[1]


def _regressor(**setting: int) -> Any:
    return lightgbm.LGBMRegressor(**_FIXED, **setting, n_jobs=torch.get_num_threads())


def _first(pair: tuple[float, Any]) -> float:
    return pair[0]
