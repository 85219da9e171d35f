"""The post-hoc explainers of the paper, all on one fitted SASANet: what each says of some rows.

KernelSHAP and FastSHAP play two games: the paper's, in which absent features are replaced (by
background rows, or by what a surrogate learned), and the model's own v(S).
"""

from __future__ import annotations

import time
from typing import Any

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
    """KernelSHAP and FastSHAP of one model, by name; the seconds FastSHAP learned are kept.

    FastSHAP learns when it is first asked.
    """

    def __init__(self, model: SASANetClassifier, split: Split, settings: dict[str, Any]) -> None:
        self.model, self.settings = model, settings
        self.background = split.X_train.sample(settings["background"], random_state=0)
        self.learn = split.X_train[:FAST_ROWS]
        self.seconds: dict[str, float] = {}
        self._fast: dict[str, FastSHAP] = {}

    def kernel(self, X: pd.DataFrame, own: bool) -> Explanation:
        """Return KernelSHAP's values of rows."""
        samples = self.settings["kernel_samples"]
        if own:
            return kernel_shap(game_of(self.model, X), X, samples)
        game = marginal_game(self.model.decision_function, X, self.background)
        return kernel_shap(game, X, samples)

    def fast(self, name: str) -> FastSHAP:
        """Return FastSHAP of one of the two games, trained once."""
        if name not in self._fast:
            steps, start = self.settings["fastshap_steps"], time.perf_counter()
            one = FastSHAP(surrogate_steps=steps, explainer_steps=steps)
            if "own" in name:
                one.fit_value(self.learn, self.model.value)
            else:
                one.fit(self.learn, self.model.predict_proba, "binary")
            self._fast[name], self.seconds[name] = one, time.perf_counter() - start
        return self._fast[name]

    def explain(self, name: str, X: pd.DataFrame) -> Explanation:
        """Return one explainer's values of rows."""
        if name.startswith("FastSHAP"):
            return self.fast(name).explain(X)
        return self.kernel(X, own="own" in name)


POSTHOC = ("KernelSHAP", "KernelSHAP, own game", "FastSHAP", "FastSHAP, own game")
