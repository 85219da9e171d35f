"""Boosted trees: LightGBM, XGBoost, CatBoost, and EBM's additive ones.

Each reads categories and missing cells the way its makers intend, and stops early by rows it does
not learn from.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import torch
from lightgbm import LGBMClassifier, LGBMRegressor, early_stopping
from sklearn.base import BaseEstimator

from bench.accuracy.rivals.task import Settings, Task

_EBM_BAGS, _EBM_TRIAL_BAGS = 14, 2  # 14 is its makers' choice
_EBM_MANY, _EBM_FEWER_BAGS = 5_000, 8  # from so many rows on 14 bags take long


def fit_lightgbm(task: Task, settings: Settings) -> Any:
    """Fit LightGBM."""
    kind, held = (LGBMRegressor if task.regression else LGBMClassifier), task.held_out
    fixed: Settings = {"n_estimators": 3_000, "subsample": 0.8, "subsample_freq": 1}
    if task.rare:  # with so few of one class its leaves run wild without restraint
        fixed["reg_lambda"] = 10
    threads = torch.get_num_threads()
    model = kind(**fixed, **settings, n_jobs=threads, random_state=task.seed, verbose=-1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the name of the validation argument differs by version
        return model.fit(
            task.X[~held],
            task.y[~held],
            eval_set=[(task.X[held], task.y[held])],
            callbacks=[early_stopping(100, verbose=False)],
        )


class _XGBoost(BaseEstimator):
    """XGBoost with its categories, and labels it can read."""

    def __init__(self, settings: Settings, regression: bool, seed: int) -> None:
        self.settings, self.regression, self.seed = settings, regression, seed

    def fit(self, task: Task) -> Any:
        from xgboost import XGBClassifier, XGBRegressor

        kind, held = (XGBRegressor if self.regression else XGBClassifier), task.held_out
        y = task.y.to_numpy()
        if not self.regression:
            self.classes_, y = np.unique(y, return_inverse=True)
        self.model = kind(
            n_estimators=3_000,
            tree_method="hist",
            enable_categorical=True,
            early_stopping_rounds=100,
            reg_lambda=10 if task.rare else 1,
            n_jobs=torch.get_num_threads(),
            random_state=self.seed,
            **self.settings,
        )
        self.model.fit(task.X[~held], y[~held], eval_set=[(task.X[held], y[held])], verbose=False)
        if not self.regression:
            self.predict_proba = self.model.predict_proba
        return self

    def predict(self, X: pd.DataFrame) -> Any:
        return self.model.predict(X)


def fit_xgboost(task: Task, settings: Settings) -> Any:
    """Fit XGBoost."""
    return _XGBoost(settings, task.regression, task.seed).fit(task)


def fit_ebm(task: Task, settings: Settings) -> Any:
    """Fit EBM."""
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

    kind = ExplainableBoostingRegressor if task.regression else ExplainableBoostingClassifier
    bags = _EBM_BAGS if len(task.X) < _EBM_MANY else _EBM_FEWER_BAGS
    model = kind(
        outer_bags=_EBM_TRIAL_BAGS if task.trial else bags,
        n_jobs=torch.get_num_threads(),
        random_state=task.seed,
        **settings,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # missing cells are announced for every fold
        return model.fit(task.X, task.y)


class _CatBoost(BaseEstimator):
    """CatBoost with its own encoding of categories; a missing level is a level."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def fit(self, task: Task) -> Any:
        from catboost import CatBoostClassifier, CatBoostRegressor

        kind, held = (CatBoostRegressor if task.regression else CatBoostClassifier), task.held_out
        self.levels = [str(c) for c in task.X if not pd.api.types.is_numeric_dtype(task.X[c])]
        X, y = self._read(task.X), task.y.to_numpy()
        self.model = kind(
            iterations=3_000,
            early_stopping_rounds=100,
            cat_features=self.levels,
            thread_count=torch.get_num_threads(),
            random_seed=task.seed,
            allow_writing_files=False,
            verbose=False,
            **self.settings,
        )
        self.model.fit(X[~held], y[~held], eval_set=(X[held], y[held]))
        if not task.regression:
            self.classes_ = self.model.classes_
            self.predict_proba = lambda rows: self.model.predict_proba(self._read(rows))
        return self

    def predict(self, X: pd.DataFrame) -> Any:
        return self.model.predict(self._read(X))

    def _read(self, X: pd.DataFrame) -> pd.DataFrame:
        read = X.copy()
        for c in self.levels:
            read[c] = X[c].astype(object).where(X[c].notna(), "missing").astype(str)
        return read


def fit_catboost(task: Task, settings: Settings) -> Any:
    """Fit CatBoost."""
    return _CatBoost(settings).fit(task)
