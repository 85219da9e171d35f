"""How fast and how true are the attributions of an EBM? Two jobs of ``make bench-core``.

An EBM is a sum of shapes of one or two features. Its reasons are these terms; a pair's term is
divided evenly between its two features, which are then its Shapley values in the game of terms.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd

from bench.accuracy.rivals import SYSTEMS, Task
from bench.tables import data
from sasanet import datasets
from sasanet.arrays import Floats

_SETTINGS = {"interactions": 20, "max_leaves": 3}  # what the search of bench-accuracy chose
_N_TRAIN, _N_JUDGED, _SEEDS = 20_000, 100, (0, 1, 2)  # as in bench.faithful


def attributions(model: Any, X: Any) -> Floats:
    """Return an EBM's attributions, log-odds: [n, d]."""
    terms = np.asarray(model.eval_terms(X))  # [n, terms]
    found = np.zeros((len(X), X.shape[1]))
    for term, features in enumerate(model.term_features_):
        for feature in features:
            found[:, feature] += terms[:, term] / len(features)
    return found


def census_rate() -> dict[str, Any]:
    """Fit the tuned EBM on census income and explain its test rows."""
    split = data.census()
    task = Task(split.X_train, split.y_train, regression=False, seed=0)
    model = SYSTEMS["ebm"].fit(task, _SETTINGS)
    rows = split.X_test[:20_000]
    attributions(model, rows[:1_000])  # warm up
    start = time.perf_counter()
    attributions(model, rows)
    return {"explain_rate": len(rows) / (time.perf_counter() - start), "settings": _SETTINGS}


def known_error() -> dict[str, Any]:
    """Compare with the true Shapley values of E[y | x_S] on correlated probit tables."""
    return {"runs": [_known_once(seed) for seed in _SEEDS], "settings": _SETTINGS}


def _known_once(seed: int) -> dict[str, float]:
    table = datasets.make_gaussian_probit(
        _N_TRAIN + _N_JUDGED, n_features=10, correlation=0.6, random_state=seed
    )
    labels = pd.Series(table.y[:_N_TRAIN])
    task = Task(table.X[:_N_TRAIN], labels, regression=False, seed=seed)
    model = SYSTEMS["ebm"].fit(task, _SETTINGS)
    judged = table.X[_N_TRAIN:]
    truth = table.shapley(judged)
    error = attributions(model, judged) - truth
    return {"ebm_rmse": float(np.sqrt(np.mean(error**2))), "phi_spread": float(truth.std())}
