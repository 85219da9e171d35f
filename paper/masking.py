"""Feature masking and feature adding: whether a ranking finds what the model relies on.

The judge is SASANet's own v(S), which predicts from any subset; rankings go by |φ|.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from bench.runner import Job
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, roc_auc_score

from paper import data
from paper.explainers import POSTHOC, PostHoc, fitted
from paper.settings import read_settings
from sasanet import SASANetClassifier

Floats = NDArray[np.float64]


def mask(name: str, seed: int) -> dict[str, Any]:
    """Judge every ranking on one data set and one model."""
    settings = read_settings("masking")
    split = data.one_split(name, seed, settings["rows"])
    model = fitted(name, seed, split, settings["time_limit"])
    X, y, weights = data.judged_rows(split, settings["judged"], seed)
    posthoc = PostHoc(model, split, settings)
    importances = {
        "SASANet": np.abs(model.explain(X).values),
        **{one: np.abs(posthoc.explain(one, X).values) for one in POSTHOC},
        "random": np.random.RandomState(seed).random_sample(X.shape),
    }
    return {
        "data": name,
        "rows": len(X),
        "test_share": len(split.X_test) / len(split.X_train),
        "rankings": {
            ranking: judge(model, X, y, weights, found, settings["top"])
            for ranking, found in importances.items()
        },
    }


def judge(
    model: SASANetClassifier,
    X: pd.DataFrame,
    y: Any,
    weights: Floats,
    importance: Floats,
    top: int,
) -> dict[str, dict[str, list[float]]]:
    """Return AP and AUC without, and with only, the most important 1 to ``top`` features."""
    place = np.argsort(np.argsort(-importance, axis=1, kind="stable"), axis=1)
    kept = np.stack([place < k for k in range(1, top + 1)], axis=1)  # (n, top, d)
    found = {}
    for kind, coalitions in (("masking", ~kept), ("adding", kept)):
        values = model.value(X, coalitions)
        found[kind] = {
            "ap": [average_precision_score(y, v, sample_weight=weights) for v in values.T],
            "auc": [roc_auc_score(y, v, sample_weight=weights) for v in values.T],
        }
    return found


def jobs() -> dict[str, Job]:
    """Return one job for each data set and seed."""
    settings = read_settings("masking")
    return {
        f"masking-{name}-{seed}": partial(mask, name, seed)
        for name in settings["data"]
        for seed in settings["seeds"]
    }
