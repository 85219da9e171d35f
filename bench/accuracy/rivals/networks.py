"""Networks: an MLP, TabM and RealMLP."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bench.accuracy.rivals.linear import Standardised, one_hot
from bench.accuracy.rivals.tabm_model import TabMModel
from bench.accuracy.rivals.task import Settings, Task

_MLP_EPOCHS, _MLP_TRIAL_EPOCHS = 200, 20
_MLP_MANY, _MLP_FEWER = 100_000, 5  # rows from which it has a fifth of these epochs
# Early stopping ends TabM's fits; these are only there so that a search ends some day.
_TABM_SECONDS, _TABM_TRIAL_SECONDS = 3_600.0, 600.0


def fit_mlp(task: Task, settings: Settings) -> Any:
    """Fit scikit-learn's MLP."""
    kind = MLPRegressor if task.regression else MLPClassifier
    epochs = _MLP_TRIAL_EPOCHS if task.trial else _MLP_EPOCHS
    if len(task.X) >= _MLP_MANY:
        epochs //= _MLP_FEWER
    network = kind(
        early_stopping=True, max_iter=epochs, batch_size=256, random_state=task.seed, **settings
    )
    model = make_pipeline(one_hot(), StandardScaler(), network)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a trial is meant to be short
        if not task.regression:
            return model.fit(task.X, task.y)
        return Standardised(model).fit(task.X, task.y)


def fit_tabm(task: Task, settings: Settings) -> Any:
    """Fit TabM."""
    seconds = _TABM_TRIAL_SECONDS if task.trial else _TABM_SECONDS
    model = TabMModel(task.regression, task.seed, seconds, **settings)
    return model.fit(task.X, task.y, task.held_out)


class _RealMLP(BaseEstimator):
    """RealMLP with its authors' tuned defaults; they have no missing numbers, so we fill them."""

    def fit(self, task: Task) -> Any:
        from pytabkit import RealMLP_TD_Classifier, RealMLP_TD_Regressor

        kind = RealMLP_TD_Regressor if task.regression else RealMLP_TD_Classifier
        self.numbers = [c for c in task.X if pd.api.types.is_numeric_dtype(task.X[c])]
        self.middles = task.X[self.numbers].median().fillna(0.0)
        self.gaps = [c for c in self.numbers if task.X[c].isna().any()]
        held = np.flatnonzero(task.held_out)
        self.model = kind(
            device="cpu", n_threads=torch.get_num_threads(), random_state=task.seed, verbosity=0
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # lightning's, about a single core
            self.model.fit(self._read(task.X), task.y.to_numpy(), val_idxs=held)
        if not task.regression:
            self.classes_ = self.model.classes_
            self.predict_proba = lambda rows: self._quietly(self.model.predict_proba, rows)
        return self

    def predict(self, X: pd.DataFrame) -> Any:
        return self._quietly(self.model.predict, X)

    def _read(self, X: pd.DataFrame) -> pd.DataFrame:
        marks = {f"{c} missing": X[c].isna().astype(float) for c in self.gaps}
        return X.fillna(self.middles).assign(**marks)

    def _quietly(self, ask: Any, X: pd.DataFrame) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ask(self._read(X))


def fit_realmlp(task: Task, settings: Settings) -> Any:
    """Fit RealMLP; there is nothing to set."""
    del settings
    return _RealMLP().fit(task)
