"""The post-hoc explainers of the paper, all on one fitted SASANet: what each says of some rows.

KernelSHAP and FastSHAP play two games: the paper's, in which absent features are replaced (by
background rows, or by what a surrogate learned), and the model's own v(S).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bench.tables.data import Split
from paper import data
from paper.settings import FOLDER, is_quick, read_settings
from sasanet import SASANetClassifier, load
from sasanet.explanation.explanation import Explanation
from sasanet.posthoc import FastSHAP, game_of, marginal_game, shap_kernel_explainer

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
            return shap_kernel_explainer(game_of(self.model, X), X, samples)
        game = marginal_game(self.model.decision_function, X, self.background)
        return shap_kernel_explainer(game, X, samples)

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


@dataclass(frozen=True)
class Case:
    """One fitted model, its explainers, and the test rows they are asked about."""

    settings: dict[str, Any]
    split: Split
    model: SASANetClassifier
    posthoc: PostHoc
    X: pd.DataFrame
    y: pd.Series
    weights: NDArray[np.float64]

    @property
    def test_share(self) -> float:
        """Test rows for each training row."""
        return len(self.split.X_test) / len(self.split.X_train)


def make_case(experiment: str, name: str, seed: int) -> Case:
    """Return what one experiment looks at: a model of a data set and rows of its test part."""
    settings = read_settings(experiment)
    split = data.one_split(name, seed, settings["rows"])
    model = fitted(name, seed, split, settings["time_limit"])
    rows = data.judged_rows(split, settings["explained"], seed)
    return Case(settings, split, model, PostHoc(model, split, settings), *rows)


POSTHOC = ("KernelSHAP", "KernelSHAP, own game", "FastSHAP", "FastSHAP, own game")
