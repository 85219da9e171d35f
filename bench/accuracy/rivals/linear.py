"""A linear model, and the reader of tables that it shares with plain networks."""

from __future__ import annotations

import warnings
from typing import Any

import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, QuantileTransformer, StandardScaler

from bench.accuracy.rivals.task import Settings, Task


def fit_linear(task: Task, settings: Settings) -> Any:
    """Fit a ridge or a logistic regression; ``penalty`` is per row."""
    strength = settings["penalty"] * len(task.X)
    model = (
        Ridge(alpha=strength)
        if task.regression
        else LogisticRegression(C=1 / strength, max_iter=500)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the weakest penalty is one of twelve
        return make_pipeline(one_hot(), StandardScaler(), model).fit(task.X, task.y)


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


class Standardised(BaseEstimator):
    """A regressor that sees its target with mean 0 and deviation 1."""

    def __init__(self, model: Pipeline) -> None:
        self.model = model

    def fit(self, X: pd.DataFrame, y: pd.Series) -> Any:
        """Fit the model to standard scores."""
        self.mean, self.scale = float(y.mean()), float(y.std())
        self.model.fit(X, (y - self.mean) / self.scale)
        return self

    def predict(self, X: pd.DataFrame) -> Any:
        """Return predictions in the target's units."""
        return self.model.predict(X) * self.scale + self.mean
