"""What the user gave in, checked and told apart out: features, labels, group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from sasanet.arrays import Floats
from sasanet.errors import InvalidInputError
from sasanet.estimator.sasanet import SASANetModel
from sasanet.table.reading import read_table


@dataclass(frozen=True)
class Given:
    """The table of a report.

    Attributes
    ----------
    X : DataFrame (n, d)
        The model's features.
    y : array-like (n,) or None
        Labels as given.
    labels : ndarray (n,) or None
        The same as class indices, or as numbers for regression.
    target : str
        What is predicted, by name.
    group : Series (n,) or None
        What to tell rows apart by.
    """

    X: pd.DataFrame
    y: Any
    labels: Floats | None
    target: str
    group: pd.Series | None


def read_given(model: SASANetModel, table: Any, target: Any, group: str | None) -> Given:
    """Check a table with its labels and group against the model."""
    check_is_fitted(model)
    frame = read_table(table)
    y, name = _read_target(frame, target)
    if y is not None and np.shape(y) != (len(frame),):
        raise InvalidInputError(
            f"target must hold one label for each of the {len(frame):,} rows, "
            f"got its shape is {np.shape(y)}; give a column's name or an array of labels"
        )
    labels = None
    if y is not None:
        regression = model.target_.task == "regression"
        found = model.target_.read(y)
        labels = model.target_.to_raw(found) if regression else found
    series = None if group is None else _column(frame, group, "group")
    return Given(_features(model, frame), y, labels, name, series)


def _read_target(frame: pd.DataFrame, target: Any) -> tuple[Any, str]:
    if isinstance(target, str):
        return _column(frame, target, "target"), target
    return target, str(getattr(target, "name", None) or "target")


def _column(frame: pd.DataFrame, name: str, what: str) -> pd.Series:
    labels = [str(label) for label in frame.columns]
    if name not in labels:
        raise InvalidInputError(
            f"{what} must name a column of the table, got {name!r}; there are {labels[:9]}"
        )
    return frame.iloc[:, labels.index(name)]


def _features(model: SASANetModel, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the model's own columns; labels, groups and other extra columns stay outside."""
    labels = [str(label) for label in frame.columns]
    names = model.encoder_.names
    if model.encoder_.named and set(names) <= set(labels):
        return frame.set_axis(labels, axis=1)[list(names)]
    return frame  # the encoder says what is wrong with it
