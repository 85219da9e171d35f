"""The models users would pick instead, behind one small interface: settings to try, how to fit one.

Each gets the same training rows and threads, reads categories and missing cells the way its makers
intend, and holds out its own part of the training rows to stop early. Judging a setting may cost
less than fitting the chosen one (``Task.trial``): fewer bags, epochs or seconds.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import torch
from lightgbm import LGBMClassifier, LGBMRegressor, early_stopping
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, QuantileTransformer, StandardScaler

from bench.accuracy.tabm_model import TabMModel
from sasanet import SASANetClassifier, SASANetRegressor

Settings = dict[str, Any]
SMALL = 10_000  # training rows below which a fifth is held out, else a tenth
_EBM_BAGS, _EBM_TRIAL_BAGS = 14, 2  # 14 is its makers' choice
_EBM_MANY, _EBM_FEWER_BAGS = 5_000, 8  # from so many rows on 14 bags take long
_MLP_EPOCHS, _MLP_TRIAL_EPOCHS = 200, 20
_MLP_MANY, _MLP_FEWER = 100_000, 5  # rows from which it has a fifth of these epochs
_TABM_SECONDS, _TABM_TRIAL_SECONDS = 300.0, 60.0


@dataclass(frozen=True)
class Task:
    """Training rows and what kind of target they have."""

    X: pd.DataFrame
    y: pd.Series
    regression: bool
    seed: int
    trial: bool = False  # only to judge a setting: a system may spend less on it

    def divided(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the places of rows to learn from, and of a tenth or a fifth to judge by."""
        share = 0.2 if len(self.X) < SMALL else 0.1
        strata, rows = None if self.regression else self.y, np.arange(len(self.X))
        learn, judge = train_test_split(
            rows, test_size=share, random_state=self.seed, stratify=strata
        )
        return learn, judge

    @property
    def rare(self) -> bool:
        """Whether one class has less than a hundredth of the rows."""
        return not self.regression and self.y.value_counts(normalize=True).min() < 0.01

    @property
    def held_out(self) -> NDArray[np.bool_]:
        """Which rows decide when to stop."""
        return np.isin(np.arange(len(self.X)), self.divided()[1])


@dataclass(frozen=True)
class System:
    """A model: how to fit it, and the settings its search may choose from (none: its defaults)."""

    fit: Callable[[Task, Settings], Any]
    search: tuple[Settings, ...] = ({},)
    classes_only: bool = False


def grid(**choices: tuple[Any, ...]) -> tuple[Settings, ...]:
    """Return every combination of the choices."""
    return tuple(dict(zip(choices, found, strict=True)) for found in product(*choices.values()))


# --- ours ------------------------------------------------------------------------------------


def _sasanet(preset: str) -> Callable[[Task, Settings], Any]:
    def fit(task: Task, settings: Settings) -> Any:
        kind = SASANetRegressor if task.regression else SASANetClassifier
        return kind(preset=preset, random_state=task.seed, **settings).fit(task.X, task.y)

    return fit


# --- trees -----------------------------------------------------------------------------------


def _lightgbm(task: Task, settings: Settings) -> Any:
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


def _xgboost(task: Task, settings: Settings) -> Any:
    return _XGBoost(settings, task.regression, task.seed).fit(task)


def _ebm(task: Task, settings: Settings) -> Any:
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


# --- networks --------------------------------------------------------------------------------


def _mlp(task: Task, settings: Settings) -> Any:
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
        return _Standardised(model).fit(task.X, task.y)


def one_hot() -> ColumnTransformer:
    """Return a reader for models that want numbers: levels one by one, numbers made normal."""
    numbers = make_pipeline(
        SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True),
        QuantileTransformer(n_quantiles=200, output_distribution="normal", random_state=0),
    )
    levels = OneHotEncoder(handle_unknown="ignore", min_frequency=5, sparse_output=False)
    return make_column_transformer(
        (levels, make_column_selector(dtype_include=["category", bool, object])),
        (numbers, make_column_selector(dtype_include="number")),
    )


class _Standardised(BaseEstimator):
    """A regressor that sees its target with mean 0 and deviation 1."""

    def __init__(self, model: Pipeline) -> None:
        self.model = model

    def fit(self, X: pd.DataFrame, y: pd.Series) -> Any:
        self.mean, self.scale = float(y.mean()), float(y.std())
        self.model.fit(X, (y - self.mean) / self.scale)
        return self

    def predict(self, X: pd.DataFrame) -> Any:
        return self.model.predict(X) * self.scale + self.mean


def _tabm(task: Task, settings: Settings) -> Any:
    seconds = _TABM_TRIAL_SECONDS if task.trial else _TABM_SECONDS
    model = TabMModel(task.regression, task.seed, seconds, **settings)
    return model.fit(task.X, task.y, task.held_out)


SYSTEMS: dict[str, System] = {
    "sasanet": System(_sasanet("default")),
    "sasanet best": System(_sasanet("best")),
    "lightgbm": System(
        _lightgbm,
        grid(learning_rate=(0.03, 0.1), num_leaves=(15, 31, 63), colsample_bytree=(0.5, 1.0)),
    ),
    "xgboost": System(
        _xgboost,
        grid(learning_rate=(0.03, 0.1), max_depth=(4, 6, 9), colsample_bytree=(0.5, 1.0)),
    ),
    "ebm": System(_ebm, grid(interactions=(0, 20), max_leaves=(2, 3))),
    "mlp": System(
        _mlp,
        grid(hidden_layer_sizes=((256, 128), (128,)), learning_rate_init=(3e-4, 2e-3)),
    ),
    "tabm": System(_tabm, grid(learning_rate=(2e-3, 7e-4), dropout=(0.1, 0.3))),
}
