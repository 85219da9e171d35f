"""A table of bags beside plain columns, and models fitted on it quickly."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

from sasanet import SASANetClassifier, SASANetRegressor
from training_rows import briefly

QUICK = {"random_state": 0, "max_epochs": 2, "teacher_weight": 0}
N = 400
WORDS = ["late", "broken", "the", "lid"]


@cache
def table() -> pd.DataFrame:
    """Return rows with a column of each kind of bags, some of whose cells are missing."""
    random = np.random.default_rng(0)
    hours = pd.to_timedelta(random.integers(0, 700 * 24, N), unit="h")
    columns = {
        "posted": pd.Series(pd.Timestamp("2024-01-01") + hours),
        "tags": pd.Series(
            [[tag for tag in ("new", "sale", "rare") if random.random() < 0.4] for _ in range(N)]
        ),
        "vector": pd.Series(random.normal(size=(N, 4)).tolist()),
        "note": pd.Series([" ".join(random.choice(WORDS, 5)) for _ in range(N)]),
        "size": pd.Series(random.normal(size=N)),
        "shop": pd.Series(random.choice(["a", "b", "c"], N)),
    }
    found = pd.DataFrame(columns)
    for j, name in enumerate(found):
        found.loc[j :: 11 + j, name] = None
    return found


def target() -> np.ndarray:
    """Return numbers that depend on the weekday, and on whether something came broken."""
    weekend = table()["posted"].dt.day_of_week >= 5
    broken = table()["note"].str.contains("broken", na=False)
    return (2.0 * weekend - broken + table()["size"].fillna(0)).to_numpy()


@cache
def fitted(kind: str = "number"):
    """Return a model: "number", "classes" (three), "binary", "members" (two) or "sequence"."""
    y = target()
    if kind == "classes":
        return SASANetClassifier(**QUICK).fit(table(), pd.qcut(y, 3, labels=["x", "y", "z"]))
    if kind == "binary":
        return SASANetClassifier(**QUICK).fit(table(), y > 1)
    if kind == "sequence":
        return SASANetRegressor(briefly("sequence"), **QUICK).fit(table(), y)
    return SASANetRegressor(**QUICK).fit(table(), y)
