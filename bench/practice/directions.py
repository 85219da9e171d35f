"""Monotone columns: a search for violations, and accuracy with and without the directions.

The directions are what people of the trade would ask for; the training samples are small, where
knowing a direction can help. The same rows and seeds with and without.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import r2_score, roc_auc_score

from bench.practice.monotone import find_violations
from bench.tables import data
from sasanet import SASANetClassifier, SASANetRegressor
from sasanet.datasets import load_german_credit

PAIRS = 250_000  # for each table: a million in all
SPLITS = 5
ROWS, TEST_ROWS = 1_000, 5_000


@dataclass(frozen=True)
class Asked:
    """Which columns of a table are to be monotone."""

    directions: dict[str, int]
    regression: bool
    rows: int = ROWS


TABLES = {
    "german_credit": Asked({"months": 1, "credit_amount": 1, "age": -1}, False, 750),
    "credit_default": Asked({"pay_status_0": 1, "pay_status_2": 1, "limit_bal": -1}, False),
    "california_housing": Asked({"median_income": 1}, True),
    "known_directions": Asked({f"x{j}": 1 for j in range(6)}, True, 500),
}


def _table(name: str) -> tuple[pd.DataFrame, Any]:
    if name == "german_credit":
        return load_german_credit()
    if name == "known_directions":
        random = np.random.default_rng(0)
        x = random.normal(size=(20_000, 8))
        steps = np.tanh(2 * x[:, 0]) + np.exp(x[:, 1] / 2) + (x[:, 2] > 0) * (x[:, 3] > 0)
        y = steps + 0.5 * x[:, 4] + np.maximum(x[:, 5], 0) + 1.5 * random.normal(size=len(x))
        return pd.DataFrame(x, columns=[f"x{j}" for j in range(8)]), y
    split = next(data.splits(name.replace("_", " ")))
    X, y = pd.concat([split.X_train, split.X_test]), pd.concat([split.y_train, split.y_test])
    return X.reset_index(drop=True), y.to_numpy()


def violations(name: str) -> dict[str, Any]:
    """Return what a search for violations of the first split's model found.

    It learns without teachers, some of which keep the directions: nothing but the network's bounds
    do then.
    """
    asked, (X, y) = TABLES[name], _table(name)
    rows, test = _split(asked, len(X), 0)
    kind = SASANetRegressor if asked.regression else SASANetClassifier
    model = kind(monotonic_cst=asked.directions, teacher_weight=0, random_state=0)
    model.fit(X.iloc[rows], y[rows])
    found = find_violations(model, X.iloc[test], asked.directions, PAIRS)
    return {
        "directions": asked.directions,
        "pairs": found.pairs,
        "moved": found.moved,
        "violations": found.violations,
        "largest": found.largest,
    }


def _split(asked: Asked, n_rows: int, seed: int) -> tuple[Any, Any]:
    """Return the positions of rows to learn from and of others."""
    order = np.random.default_rng(seed).permutation(n_rows)
    return order[: asked.rows], order[asked.rows : asked.rows + TEST_ROWS]


def with_and_without(name: str) -> dict[str, Any]:
    """Return the scores of both on some splits."""
    asked, (X, y) = TABLES[name], _table(name)
    scores = []
    for seed in range(SPLITS):
        rows, test = _split(asked, len(X), seed)
        both = []
        for directions in (asked.directions, None):
            kind = SASANetRegressor if asked.regression else SASANetClassifier
            model = kind(monotonic_cst=directions, random_state=seed).fit(X.iloc[rows], y[rows])
            both.append(_score(model, X.iloc[test], y[test]))
        scores.append(both)
    return {
        "rows": asked.rows,
        "directions": asked.directions,
        "measure": "R²" if asked.regression else "AUC",
        "with": [pair[0] for pair in scores],
        "without": [pair[1] for pair in scores],
    }


def _score(model: Any, X: pd.DataFrame, y: Any) -> float:
    if isinstance(model, SASANetRegressor):
        return float(r2_score(y, model.predict(X)))
    return float(roc_auc_score(y, model.predict_proba(X)[:, 1]))
