"""Validate and split the report's inputs: features, labels, group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from sasanet.arrays import Floats
from sasanet.errors import InvalidInputError
from sasanet.estimator.sasanet import SASANetModel
from sasanet.table.quantities import read_exposure
from sasanet.table.reading import read_table


@dataclass(frozen=True)
class ReportInputs:
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
        Name of what is predicted.
    group : Series (n,) or None
        Column to group rows by.
    exposure : ndarray (n,) or None
        How much of each row was observed; labels are then rates.
    """

    X: pd.DataFrame
    y: Any
    labels: Floats | None
    target: str
    group: pd.Series | None
    exposure: Floats | None = None


def read_inputs(
    model: SASANetModel, table: Any, target: Any, group: str | None, exposure: Any = None
) -> ReportInputs:
    """Check a table with its labels, group and exposure against the model."""
    check_is_fitted(model)
    frame = read_table(table)
    if isinstance(target, str):
        y: Any = _column(frame, target, "target")
        name = target
    else:
        y = target
        name = str(getattr(target, "name", None) or "target")
    amounts = None if exposure is None else _read_exposure(model, frame, y, exposure)
    labels = None if y is None else _read_labels(model, y, len(frame))
    if labels is not None and amounts is not None:
        labels = labels / amounts
    series = None if group is None else _column(frame, group, "group")
    return ReportInputs(_features(model, frame), y, labels, name, series, amounts)


def _read_exposure(model: SASANetModel, frame: pd.DataFrame, y: Any, exposure: Any) -> Floats:
    """Return how much of each row was observed; refuse it where no rate is judged."""
    if not model.target_.has_log_link or y is None:
        what = "no target" if y is None else f"a model of objective={model.target_.objective!r}"
        raise InvalidInputError(
            f"exposure must go with the labels of a model of rates, got it with {what}; leave it "
            "out"
        )
    given = _column(frame, exposure, "exposure") if isinstance(exposure, str) else exposure
    return read_exposure(given, frame)


def _read_labels(model: SASANetModel, y: Any, n_rows: int) -> Floats:
    """Return labels as class indices, or as numbers in the target's own units."""
    if np.shape(y) != (n_rows,):
        raise InvalidInputError(
            f"target must hold one label for each of the {n_rows:,} rows, "
            f"got the shape {np.shape(y)}; give a column's name or an array of labels"
        )
    numbers = model.target_.read(y)
    return model.target_.to_labels(numbers) if model.target_.task == "regression" else numbers


def _column(frame: pd.DataFrame, name: str, what: str) -> pd.Series:
    labels = [str(label) for label in frame.columns]
    if name not in labels:
        raise InvalidInputError(
            f"{what} must name a column of the table, got {name!r}; its columns are {labels[:9]}"
        )
    return frame.iloc[:, labels.index(name)]


def _features(model: SASANetModel, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the model's own columns, without labels, groups and other extra columns."""
    labels = [str(label) for label in frame.columns]
    names = model.encoder_.names
    if model.encoder_.named and set(names) <= set(labels):
        return frame.set_axis(labels, axis=1)[list(names)]
    return frame  # if its columns are wrong, the encoder raises the error
