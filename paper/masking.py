"""Feature masking and feature adding: whether a ranking finds what the model relies on.

The judge is SASANet's own v(S), which predicts from any subset; rankings go by |φ|.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from bench.runner import Job
from paper.explainers import POSTHOC, Case, make_case
from paper.settings import jobs_of
from sasanet.arrays import Floats


def mask(name: str, seed: int) -> dict[str, Any]:
    """Judge every ranking on one data set and one model."""
    case = make_case("masking", name, seed)
    importances = {
        "SASANet": np.abs(case.model.explain(case.X).values),
        **{one: np.abs(case.posthoc.explain(one, case.X).values) for one in POSTHOC},
        "random": np.random.RandomState(seed).random_sample(case.X.shape),
    }
    return {
        "data": name,
        "rows": len(case.X),
        "test_share": case.test_share,
        "rankings": {ranking: judge(case, found) for ranking, found in importances.items()},
    }


def judge(case: Case, importance: Floats) -> dict[str, dict[str, list[float]]]:
    """Return AP and AUC without, and with only, the most important 1 to ``top`` features."""
    place = np.argsort(np.argsort(-importance, axis=1, kind="stable"), axis=1)
    top = range(1, case.settings["top"] + 1)
    kept = np.stack([place < k for k in top], axis=1)  # (n, top, d)
    found = {}
    for kind, coalitions in (("masking", ~kept), ("adding", kept)):
        values = case.model.value(case.X, coalitions).T
        weighted = {"sample_weight": case.weights}
        found[kind] = {
            "ap": [average_precision_score(case.y, v, **weighted) for v in values],
            "auc": [roc_auc_score(case.y, v, **weighted) for v in values],
        }
    return found


def jobs() -> dict[str, Job]:
    """Return one job for each data set and seed."""
    return jobs_of("masking", mask)
