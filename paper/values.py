"""AUC by the number of present features: one SASANet against models trained for that number.

"sep" models see training rows of which only so many random cells are left, and are judged on test
rows of the same kind; the one SASANet was trained on everything.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from bench.runner import Job
from paper import data
from paper.explainers import fitted
from paper.settings import jobs_of, read_settings
from sasanet import SASANetClassifier
from sasanet.baselines import MLPClassifier
from sasanet.errors import UnknownLevelWarning


def value_curve(name: str, seed: int) -> dict[str, Any]:
    """Return AUC of the three kinds of model at every number of features."""
    settings = read_settings("values")
    split = data.one_split(name, seed, settings["rows"])
    limit, d = settings["time_limit"], split.X_train.shape[1]
    whole = fitted(name, seed, split, settings["default_limit"])
    curve = []
    for share in settings["shares"]:
        size = max(1, round(share * d))
        kept = some_cells(split.X_test.shape, size, seed)
        train = split.X_train.where(some_cells(split.X_train.shape, size, seed + 1))
        test = split.X_test.where(kept)
        point: dict[str, Any] = {"features": size}
        point["SASANet"] = roc_auc_score(split.y_test, whole.value(split.X_test, kept))
        for label, kind in (("SASANet (sep)", SASANetClassifier), ("MLP (sep)", MLPClassifier)):
            model = kind(random_state=seed, time_limit=limit).fit(_levels(train), split.y_train)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UnknownLevelWarning)  # some lost all their cells
                point[label] = roc_auc_score(split.y_test, model.predict_proba(_levels(test))[:, 1])
        curve.append(point)
    share = len(split.X_test) / len(split.X_train)
    return {"data": name, "test_share": share, "curve": curve}


def some_cells(shape: tuple[int, ...], size: int, seed: int) -> NDArray[np.bool_]:
    """Return which cells are left: ``size`` random ones of every row."""
    noise = np.random.RandomState(seed).random_sample(shape)
    found: NDArray[np.bool_] = np.argsort(np.argsort(noise, axis=1), axis=1) < size
    return found


def _levels(X: pd.DataFrame) -> pd.DataFrame:
    """Turn categories into words: levels that no cell has any more must not stay behind."""
    words = X.columns[X.dtypes == "category"]
    return X.astype(dict.fromkeys(words, object))


def jobs() -> dict[str, Job]:
    """Return one job for each data set and seed."""
    return jobs_of("values", value_curve)
