"""Beside boosted trees: how fast all pairs are, and whether reasons survive a refit.

Both for the same training rows and default settings. Pairs of trees come from shap's TreeExplainer
and from Woodelf; reasons of trees are their largest contributions to the refused side.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import combinations
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import torch

from bench.practice.tables import table
from sasanet import SASANetClassifier

PAIR_ROWS, MANY_ROWS = 100, 2_000
TREES = {"n_estimators": 300, "num_leaves": 31, "verbose": -1, "n_jobs": 1}
THRESHOLD, MOST_REASONS, REFITS = 0.3, 4, 3
Reasons = dict[int, list[str]]  # of refused rows, the strongest first


def pair_speed(name: str) -> dict[str, Any]:
    """Return rows a second of all pairs: the best of two calls, after one that warms up."""
    import shap
    from woodelf import WoodelfExplainer

    X, y, rows = table(name)
    model = SASANetClassifier(random_state=0).fit(X, y)
    trees = lightgbm.LGBMClassifier(**TREES).fit(X, y)
    few, many = rows[:PAIR_ROWS], pd.concat([rows] * (MANY_ROWS // len(rows) + 1))[:MANY_ROWS]
    explainer, woodelf = shap.TreeExplainer(trees), WoodelfExplainer(trees)
    return {
        "columns": X.shape[1],
        "few": len(few),
        "many": len(many),
        "threads": torch.get_num_threads(),
        "trees": TREES,
        "SASANet": _speed(model.interactions, few),
        "LightGBM, shap": _speed(explainer.shap_interaction_values, few),
        "LightGBM, Woodelf": _speed(
            lambda X: woodelf.shap_interaction_values(X, verbose=False), few
        ),
        "LightGBM, Woodelf, many rows": _speed(
            lambda X: woodelf.shap_interaction_values(X, verbose=False), many
        ),
    }


def _speed(explain: Callable[[pd.DataFrame], object], rows: pd.DataFrame) -> float:
    explain(rows[:10])
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        explain(rows)
        seconds.append(time.perf_counter() - start)
    return len(rows) / min(seconds)


def stability(name: str) -> dict[str, Any]:
    """Return how alike the reasons of refits are: other seeds, and other samples of the rows."""
    X, y, rows = table(name)
    labels = np.asarray(y)
    draws = [np.random.default_rng(i).integers(0, len(X), len(X)) for i in range(REFITS)]
    seeds = [_own_reasons(X, labels, rows, seed) for seed in range(REFITS)]
    samples = [_own_reasons(X.iloc[draw], labels[draw], rows, 0) for draw in draws]
    trees = [_tree_reasons(X.iloc[draw], labels[draw], rows) for draw in draws]
    return {
        "rows": len(rows),
        "threshold": THRESHOLD,
        "most": MOST_REASONS,
        "refits": REFITS,
        "SASANet, other seeds": _agreement(seeds),
        "SASANet, bootstrap samples": _agreement(samples),
        "LightGBM, bootstrap samples": _agreement(trees),
    }


def _own_reasons(X: pd.DataFrame, y: Any, rows: pd.DataFrame, seed: int) -> Reasons:
    model = SASANetClassifier(random_state=seed).fit(X, y)
    found = model.reasons(rows.reset_index(drop=True), THRESHOLD, k=MOST_REASONS)
    found = found[found["rank"] > 0]
    kept: Any = found.groupby("row")["feature"].agg(list)
    return {int(row): names for row, names in kept.items()}


def _tree_reasons(X: pd.DataFrame, y: Any, rows: pd.DataFrame) -> Reasons:
    categories = X.select_dtypes(exclude="number").columns
    known = {name: pd.CategoricalDtype(sorted(set(X[name].dropna()))) for name in categories}
    trees = lightgbm.LGBMClassifier(verbose=-1, n_jobs=1).fit(X.astype(known), y)
    read = rows.astype(known)
    score, values = trees.predict_proba(read)[:, 1], trees.predict(read, pred_contrib=True)
    found = {}
    for i in np.flatnonzero(score >= THRESHOLD).tolist():
        order = np.argsort(-values[i, :-1], kind="stable")[:MOST_REASONS]
        found[i] = [str(X.columns[j]) for j in order if values[i, j] > 0]
    return found


def _agreement(refits: list[Reasons]) -> dict[str, float]:
    """Return means over pairs of refits and the rows that both refuse."""
    common, first, both, either = [], [], 0, 0
    for one, other in combinations(refits, 2):
        shared = one.keys() & other.keys()
        both, either = both + len(shared), either + len(one.keys() | other.keys())
        for row in shared:
            longest = max(len(one[row]), len(other[row]))
            common.append(len({*one[row]} & {*other[row]}) / longest)
            first.append(one[row][0] == other[row][0])
    return {
        "common": float(np.mean(common)),
        "same first": float(np.mean(first)),
        "same decision": both / either,
    }
