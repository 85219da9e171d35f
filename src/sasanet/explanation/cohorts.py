"""Cohorts of rows, and how the attributions of two of them differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from sasanet.errors import InvalidInputError
from sasanet.explanation.wording import MISSING, cell_text
from sasanet.intervals import Z

if TYPE_CHECKING:
    from sasanet.explanation.explanation import Explanation

_PARTS = 4  # of a column of many numbers
_LEVELS = 12  # different numbers, above which a column is cut into parts
_MOST = 100  # cohorts: more are no cohorts but rows


def cohort_labels(e: Explanation, by: Any) -> pd.Series:
    """Return the name of every row's cohort, in the order of the rows.

    A column of many numbers is cut at its quartiles; missing cells are a cohort of their own.
    """
    if isinstance(by, str):
        column = e[:, by].data.iloc[:, 0]
    else:
        column = pd.Series(list(by) if hasattr(by, "__iter__") else [by], dtype=object)
        column = column.infer_objects()
    if len(column) != len(e):
        raise InvalidInputError(
            f"by must be a feature's name or one label for each of {len(e)} rows, got "
            f"{len(column)} labels"
        )
    numbers = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    known = column.dropna()
    if numbers and known.nunique() > _LEVELS:
        column = _parts(column)
    named = column.map(cell_text).astype(object).where(column.notna().to_numpy(), MISSING)
    if named.nunique() > _MOST:
        raise InvalidInputError(
            f"by must make at most {_MOST} cohorts, got {named.nunique()}; join some of the levels"
        )
    return named.reset_index(drop=True)


def _parts(column: pd.Series) -> pd.Series:
    """Cut numbers at their quartiles, and name the parts by their ends."""
    parts = pd.qcut(column.astype(np.float64), _PARTS, duplicates="drop")
    ends = column.astype(np.float64).groupby(parts, observed=True).agg(["min", "max"])
    names = {
        part: f"{cell_text(line['min'])} to {cell_text(line['max'])}"
        for part, line in ends.iterrows()
    }
    return parts.astype(object).map(names)


def difference(one: Explanation, other: Explanation) -> pd.DataFrame:
    """Return how the attributions of two sets of rows differ, feature by feature.

    See :meth:`Explanation.compare`.
    """
    _check_comparable(one, other)
    a, b = one.values, other.values
    gap = a.mean(axis=0) - b.mean(axis=0)
    squares = sum(part.var(axis=0, ddof=1) / len(part) for part in (a, b))
    half = Z * np.sqrt(squares)
    found = pd.DataFrame(
        {
            "mean": a.mean(axis=0),
            "other_mean": b.mean(axis=0),
            "difference": gap,
            "low": gap - half,
            "high": gap + half,
            "importance": np.abs(a).mean(axis=0),
            "other_importance": np.abs(b).mean(axis=0),
        },
        index=pd.Index(one.feature_names, name="feature"),
    )
    return found.sort_values("difference", key=lambda column: -column.abs(), kind="stable")


def _check_comparable(one: Explanation, other: Explanation) -> None:
    if one.values.ndim != 2 or other.values.ndim != 2:
        raise InvalidInputError(
            "Explanations of one output are compared, got several; choose one with output(name)"
        )
    if one.feature_names != other.feature_names or one.units != other.units:
        raise InvalidInputError(
            "Explanations must have the same features and units to be compared, got "
            f"{one!r} and {other!r}"
        )
    if min(len(one), len(other)) < 2:
        raise InvalidInputError(
            f"Two rows or more are needed on each side, got {len(one)} and {len(other)}; "
            "an interval needs a spread"
        )
