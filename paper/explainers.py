"""The post-hoc explainers of the paper, all on one fitted SASANet: what each says of some rows.

KernelSHAP and FastSHAP play two games: the paper's, in which absent features are replaced (by
background rows, or by what a surrogate learned), and the model's own v(S).
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd
from bench.data import Split

from paper.settings import FOLDER, is_quick
from sasanet import SASANetClassifier, load
from sasanet.explanation import Explanation
from sasanet.fastshap import FastSHAP
from sasanet.posthoc import game_of, kernel_shap, marginal_game

FAST_ROWS = 20_000  # training rows FastSHAP learns from


def fitted(name: str, seed: int, split: Split, time_limit: float) -> SASANetClassifier:
    """Return the default model of a data set; it is fitted once and kept."""
    path = FOLDER / "models" / f"{'quick-' if is_quick() else ''}{name}-{seed}"
    if not path.exists():
        model = SASANetClassifier(random_state=seed, time_limit=time_limit)
        model.fit(split.X_train, split.y_train).save(path)
    return load(path)


class PostHoc:
    """KernelSHAP and FastSHAP of one model, by name; the seconds FastSHAP learned are kept."""

    def __init__(self, model: SASANetClassifier, split: Split, settings: dict[str, Any]) -> None:
        self.model, self.settings = model, settings
        self.background = split.X_train.sample(settings["background"], random_state=0)
        learn = split.X_train[:FAST_ROWS]
        steps = settings["fastshap_steps"]
        self.seconds: dict[str, float] = {}
        start = time.perf_counter()
        fast = FastSHAP(surrogate_steps=steps, explainer_steps=steps)
        self.fast = fast.fit(learn, model.predict_proba, "binary")
        self.seconds["FastSHAP"] = time.perf_counter() - start
        start = time.perf_counter()
        own = FastSHAP(explainer_steps=steps)
        self.fast_own = own.fit_value(learn, model.value)
        self.seconds["FastSHAP, own game"] = time.perf_counter() - start

    def kernel(self, X: pd.DataFrame, own: bool) -> Explanation:
        """Return KernelSHAP's values of rows."""
        samples = self.settings["kernel_samples"]
        if own:
            return kernel_shap(game_of(self.model, X), X, samples)
        return kernel_shap(marginal_game(self.raw, X, self.background), X, samples)

    def raw(self, X: pd.DataFrame) -> Any:
        """Return the model's log-odds."""
        return np.asarray(self.model.decision_function(X))

    def explain(self, name: str, X: pd.DataFrame) -> Explanation:
        """Return one explainer's values of rows."""
        if name.startswith("FastSHAP"):
            return (self.fast_own if "own" in name else self.fast).explain(X)
        return self.kernel(X, own="own" in name)


POSTHOC = ("KernelSHAP", "KernelSHAP, own game", "FastSHAP", "FastSHAP, own game")
