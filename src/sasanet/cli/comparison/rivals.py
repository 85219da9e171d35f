"""Training rows in, fitted models with one face out: scores of other rows, and a ranking.

SASANet and the models users would pick instead, each with its own defaults and its own way to say
which features matter. Optional packages are imported where they are used.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from sasanet import SASANetClassifier, SASANetRegressor
from sasanet.arrays import Floats
from sasanet.errors import MissingPackageError

_EXPLAINED = 2_000  # test rows whose attributions make a ranking


@dataclass(frozen=True)
class Rows:
    """One split of a table; texts are categories, classes are numbered from 0."""

    X_train: pd.DataFrame
    X_test: pd.DataFrame
    y_train: NDArray[Any]
    y_test: NDArray[Any]
    regression: bool
    seed: int


@dataclass(frozen=True)
class Fitted:
    """What a comparison needs of a model: how it scores rows, and how much each feature matters."""

    score: Callable[[pd.DataFrame], Floats]
    rank: Callable[[pd.DataFrame], Floats]


def fit_sasanet(rows: Rows, time_limit: float, preset: str) -> Fitted:
    """Ours: features rank by their mean absolute attribution."""
    kind = SASANetRegressor if rows.regression else SASANetClassifier
    model = kind(preset=preset, time_limit=time_limit, random_state=rows.seed)
    model.fit(rows.X_train, rows.y_train)

    def rank(X: pd.DataFrame) -> Floats:
        importance = model.explain(X[:_EXPLAINED]).importance()
        return importance[list(X.columns)].to_numpy()

    return Fitted(_scores(model), rank)


def fit_lightgbm(rows: Rows) -> Fitted:
    """LightGBM with native categories: features rank by its own Shapley values."""
    lightgbm = _need("lightgbm")
    kind = lightgbm.LGBMRegressor if rows.regression else lightgbm.LGBMClassifier
    model = kind(verbose=-1, random_state=rows.seed, n_jobs=0)  # threads as OpenMP is told
    names = [str(j) for j in range(rows.X_train.shape[1])]  # it refuses some characters in names
    model.fit(rows.X_train.set_axis(names, axis=1), rows.y_train)

    def rank(X: pd.DataFrame) -> Floats:
        found = model.predict(X[:_EXPLAINED].set_axis(names, axis=1), pred_contrib=True)
        by_class = np.abs(found).reshape(len(found), -1, len(names) + 1)  # the last is the base
        return by_class.mean(axis=(0, 1))[:-1]

    score = _scores(model)
    return Fitted(lambda X: score(X.set_axis(names, axis=1)), rank)


def fit_linear(rows: Rows) -> Fitted:
    """Logistic (or ridge) regression: features rank by Σ|coefficient × standard deviation|."""
    numbers = make_pipeline(
        SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler()
    )
    levels = OneHotEncoder(handle_unknown="ignore", min_frequency=5)
    reader = make_column_transformer(
        (levels, make_column_selector(dtype_include=["category", "bool"])),
        (numbers, make_column_selector(dtype_include="number")),
    )
    X = rows.X_train.set_axis([str(j) for j in range(rows.X_train.shape[1])], axis=1)
    cells = reader.fit_transform(X)
    model = Ridge() if rows.regression else LogisticRegression(max_iter=1_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a thousand steps are enough for a comparison
        model.fit(cells, rows.y_train)
    spread = np.sqrt(StandardScaler(with_mean=False).fit(cells).var_)
    strength = np.abs(np.atleast_2d(model.coef_) * spread).mean(axis=0)
    owners = [int(name.split("__")[1].split("_")[0]) for name in reader.get_feature_names_out()]
    total: Any = np.bincount(owners, weights=strength, minlength=X.shape[1])
    score = _scores(model)
    return Fitted(
        lambda X: score(reader.transform(X.set_axis([str(j) for j in range(X.shape[1])], axis=1))),
        lambda _: total,
    )


def fit_ebm(rows: Rows) -> Fitted:
    """Explainable boosting machine: its term importances, a pair's shared by its two features."""
    glassbox = _need("interpret.glassbox")
    name = "Regressor" if rows.regression else "Classifier"
    model = getattr(glassbox, f"ExplainableBoosting{name}")(random_state=rows.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # missing cells are announced for every fold
        model.fit(rows.X_train, rows.y_train)
    total = np.zeros(rows.X_train.shape[1])
    for features, strength in zip(model.term_features_, model.term_importances(), strict=True):
        for feature in features:
            total[feature] += strength / len(features)
    return Fitted(_scores(model), lambda _: total)


def _scores(model: Any) -> Callable[[Any], Floats]:
    """Return the function that gives numbers: (n,), or (n, C) for more than two classes."""
    if not hasattr(model, "predict_proba"):
        return lambda X: np.asarray(model.predict(X), dtype=np.float64)

    def probabilities(X: Any) -> Floats:
        shares = np.asarray(model.predict_proba(X))
        return shares[:, 1] if shares.shape[1] == 2 else shares

    return probabilities


def _need(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingPackageError(module.split(".")[0], "compare") from None
