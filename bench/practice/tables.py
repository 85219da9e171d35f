"""The tables of this measurement: training rows, their labels, and other rows."""

from __future__ import annotations

from typing import Any

import pandas as pd

from bench.tables import data
from sasanet.datasets import load_german_credit, make_gaussian_probit

TRAINING_ROWS = 10_000


def table(name: str) -> tuple[pd.DataFrame, Any, pd.DataFrame]:
    """Return training rows, their labels, and other rows."""
    if name == "german credit":
        X, y = load_german_credit()
        return X[:750], y[:750], X[750:]
    if name == "three classes":
        made = make_gaussian_probit(5_000, n_features=12, correlation=0.4)
        product = made.X.iloc[:, 0] * made.X.iloc[:, 1] + made.X.iloc[:, 2]
        labels = pd.qcut(product, 3, labels=["low", "middle", "high"])
        return made.X[:4_000], labels[:4_000], made.X[4_000:]
    if name == "probit":
        made = make_gaussian_probit(5_000, n_features=12, correlation=0.4)
        return made.X[:4_000], made.y[:4_000], made.X[4_000:]
    split = next(data.splits(name))
    return split.X_train[:TRAINING_ROWS], split.y_train[:TRAINING_ROWS], split.X_test
