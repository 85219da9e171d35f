"""SASANet and the models users would choose instead, with one interface.

Each has its own defaults and its own feature importances. Optional packages are imported where they
are used.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from sasanet.arrays import Floats
from sasanet.comparison.split import Split
from sasanet.errors import need_package
from sasanet.estimator.sasanet import SASANetClassifier, SASANetRegressor

OTHERS = ("LightGBM", "linear", "EBM")  # the models that ours is compared with
_EXPLAINED = 2_000  # test rows whose attributions give the importances


@dataclass(frozen=True)
class FittedModel:
    """What a comparison needs of a model: its scores of rows, and its feature importances."""

    score: Callable[[pd.DataFrame], Floats]
    importance: Callable[[pd.DataFrame], Floats]


def chosen_models(
    rows: Split, others: Sequence[str], time_limit: float, preset: str
) -> dict[str, Callable[[], FittedModel]]:
    """Return the models by name, each as the function that fits it; ours is the first."""
    linear = "ridge regression" if rows.regression else "logistic regression"
    known = {
        "LightGBM": ("LightGBM", fit_lightgbm),
        "linear": (linear, fit_linear),
        "EBM": ("EBM", fit_ebm),
    }
    found = {known[name][0]: partial(known[name][1], rows) for name in others}
    return {"SASANet": partial(fit_sasanet, rows, time_limit, preset), **found}


def fit_sasanet(rows: Split, time_limit: float, preset: str) -> FittedModel:
    """SASANet; importance is the mean absolute attribution."""
    kind = SASANetRegressor if rows.regression else SASANetClassifier
    model = kind(preset=preset, time_limit=time_limit, random_state=rows.seed)
    model.fit(rows.X_train, rows.y_train)

    def importance(X: pd.DataFrame) -> Floats:
        found = np.abs(model.explain(X[:_EXPLAINED]).values)
        return np.asarray(found.mean(axis=(0, *range(2, found.ndim))))

    return FittedModel(_scores(model), importance)


def fit_lightgbm(rows: Split) -> FittedModel:
    """LightGBM with native categories; importance is the mean absolute value of its own SHAP."""
    lightgbm = need_package("lightgbm", "compare")
    kind = lightgbm.LGBMRegressor if rows.regression else lightgbm.LGBMClassifier
    model = kind(verbose=-1, random_state=rows.seed, n_jobs=0)  # as many threads as OpenMP allows
    model.fit(_numbered(rows.X_train), rows.y_train)  # it refuses some characters in names

    def importance(X: pd.DataFrame) -> Floats:
        found = model.predict(_numbered(X[:_EXPLAINED]), pred_contrib=True)
        by_class = np.abs(found).reshape(len(found), -1, X.shape[1] + 1)  # the last is the base
        return by_class.mean(axis=(0, 1))[:-1]

    score = _scores(model)
    return FittedModel(lambda X: score(_numbered(X)), importance)


def fit_linear(rows: Split) -> FittedModel:
    """Logistic (or ridge) regression; importance is Σ|coefficient × standard deviation|."""
    reader = _make_linear_encoder()
    X = _numbered(rows.X_train)
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
    return FittedModel(lambda X: score(reader.transform(_numbered(X))), lambda _: total)


def _make_linear_encoder() -> Any:
    """Return what turns a table into numbers for a linear model: imputed, scaled, one-hot."""
    numbers = make_pipeline(
        SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler()
    )
    levels = OneHotEncoder(handle_unknown="ignore", min_frequency=5)
    return make_column_transformer(
        (levels, make_column_selector(dtype_include=["category", "bool"])),
        (numbers, make_column_selector(dtype_include="number")),
    )


def _numbered(X: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose columns are named by their positions, which are easy to find again."""
    return X.set_axis([str(j) for j in range(X.shape[1])], axis=1)


def fit_ebm(rows: Split) -> FittedModel:
    """Explainable boosting machine: its term importances, a pair's shared by its two features."""
    glassbox = need_package("interpret.glassbox", "compare")
    name = "Regressor" if rows.regression else "Classifier"
    model = getattr(glassbox, f"ExplainableBoosting{name}")(random_state=rows.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of missing cells in every fold
        model.fit(rows.X_train, rows.y_train)
    total = np.zeros(rows.X_train.shape[1])
    for features, strength in zip(model.term_features_, model.term_importances(), strict=True):
        for feature in features:
            total[feature] += strength / len(features)
    return FittedModel(_scores(model), lambda _: total)


def _scores(model: Any) -> Callable[[Any], Floats]:
    """Return the function that scores rows: (n,), or (n, C) for more than two classes."""
    if not hasattr(model, "predict_proba"):
        return lambda X: np.asarray(model.predict(X), dtype=np.float64)

    def probabilities(X: Any) -> Floats:
        shares = np.asarray(model.predict_proba(X))
        return shares[:, 1] if shares.shape[1] == 2 else shares

    return probabilities
