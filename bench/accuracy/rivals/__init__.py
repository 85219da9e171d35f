"""The models users would pick instead, behind one small interface: settings to try, how to fit one.

Each gets the same training rows and threads, reads categories and missing cells the way its makers
intend, and holds out its own part of the training rows to stop early. Every search may try twelve
settings, and they are stated here; RealMLP has its authors' defaults, which they tuned over many
tables, and SASANet its own. Judging a setting may cost less than fitting the chosen one
(``Task.trial``): fewer bags, epochs or seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bench.accuracy.rivals.linear import fit_linear, one_hot
from bench.accuracy.rivals.networks import fit_mlp, fit_realmlp, fit_tabm
from bench.accuracy.rivals.task import N_SETTINGS, SMALL, Settings, System, Task, grid
from bench.accuracy.rivals.trees import fit_catboost, fit_ebm, fit_lightgbm, fit_xgboost
from sasanet import SASANetClassifier, SASANetRegressor

__all__ = ["N_SETTINGS", "SMALL", "SYSTEMS", "Settings", "System", "Task", "grid", "one_hot"]


def _sasanet(preset: str) -> Callable[[Task, Settings], Any]:
    def fit(task: Task, settings: Settings) -> Any:
        kind = SASANetRegressor if task.regression else SASANetClassifier
        return kind(preset=preset, random_state=task.seed, **settings).fit(task.X, task.y)

    return fit


SYSTEMS: dict[str, System] = {
    "sasanet": System(_sasanet("default")),
    "sasanet best": System(_sasanet("best")),
    "lightgbm": System(
        fit_lightgbm,
        grid(learning_rate=(0.03, 0.1), num_leaves=(15, 31, 63), colsample_bytree=(0.5, 1.0)),
    ),
    "xgboost": System(
        fit_xgboost,
        grid(learning_rate=(0.03, 0.1), max_depth=(4, 6, 9), colsample_bytree=(0.5, 1.0)),
    ),
    "catboost": System(
        fit_catboost, grid(learning_rate=(0.03, 0.1), depth=(4, 6, 8), l2_leaf_reg=(3, 10))
    ),
    "ebm": System(
        fit_ebm, grid(interactions=(0, 10, 20), max_leaves=(2, 3), learning_rate=(0.01, 0.03))
    ),
    "linear": System(fit_linear, grid(penalty=tuple(np.logspace(-6, 1, N_SETTINGS).tolist()))),
    "mlp": System(
        fit_mlp,
        grid(
            hidden_layer_sizes=((256, 128), (128,), (64, 64)),
            learning_rate_init=(3e-4, 2e-3),
            alpha=(1e-4, 1e-2),
        ),
    ),
    # "tabm" on the page is an earlier, smaller one: 16 members of width 256, without embeddings.
    "tabm authors": System(
        fit_tabm,
        grid(learning_rate=(2e-3, 7e-4), dropout=(0.0, 0.1, 0.3), weight_decay=(3e-4, 3e-3)),
    ),
    "realmlp": System(fit_realmlp),
}
