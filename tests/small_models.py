"""Quickly fitted models of twelve correlated features, with missing cells in their rows."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

from sasanet import Architecture, SASANetClassifier, SASANetRegressor
from sasanet.datasets import make_gaussian_probit
from training_rows import briefly

QUICK = {"random_state": 0, "max_epochs": 6, "teacher_weight": 0}
SMALL = {"width": 64, "marginal_layers": (32,)}


@cache
def _table():
    table = make_gaussian_probit(900, n_features=12, correlation=0.4)
    rng = np.random.default_rng(0)
    X = table.X.where(rng.random(table.X.shape) > 0.04)
    product = table.X.iloc[:, 0] * table.X.iloc[:, 1] + table.X.iloc[:, 2]
    return X, table.y, product


def rows(n: int = 24) -> pd.DataFrame:
    """Return rows of the table: one complete, one with few cells, the others as they come."""
    X = _table()[0][-n:].reset_index(drop=True)
    X.iloc[0] = _table()[0].dropna().iloc[0]
    X.iloc[1, 3:] = np.nan
    return X


@cache
def fitted(kind: str):
    """Return one: "binary", "members" (two), "classes" (three), "number", "rate", "sequence"."""
    X, y, product = _table()
    if kind == "rate":
        counts = np.random.default_rng(1).poisson(np.exp(0.4 * product))
        return SASANetRegressor(objective="poisson", **QUICK).fit(X, counts)
    if kind == "number":
        return SASANetRegressor(Architecture(**SMALL), **QUICK).fit(X, product)
    if kind == "classes":
        classes = pd.qcut(product, 3, labels=["a", "b", "c"])
        return SASANetClassifier(Architecture(**SMALL), **QUICK).fit(X, classes)
    if kind == "sequence":
        return SASANetClassifier(briefly("sequence", 2), **QUICK | {"max_epochs": 1}).fit(X, y)
    members = 2 if kind == "members" else 1
    return SASANetClassifier(Architecture(**SMALL, members=members), **QUICK).fit(X, y)


def r2(found, truth) -> float:
    """Return the share of the truth's spread that is found."""
    return float(1 - ((found - truth) ** 2).sum() / ((truth - truth.mean()) ** 2).sum())
