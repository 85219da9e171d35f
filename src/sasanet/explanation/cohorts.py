"""Cohorts of rows, how the attributions of two of them differ, and whether beyond chance: drift.

Attributions drift where the values of a feature change in a way that matters to the model; what it
does not use may change without a trace. Every feature is tested by the two-sample
Kolmogorov–Smirnov test, and the p-values are adjusted for their number by Holm's method: where
nothing has changed, the chance that any feature is called drifted at all is at most the level,
however many there are. Attributions that repeat, as those of categories do, make the test cautious.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from sasanet.arrays import Floats
from sasanet.errors import InvalidInputError
from sasanet.explanation.wording import MISSING, cell_text
from sasanet.intervals import Z
from sasanet.table.bags.dates import expand, holds_dates, zone_of
from sasanet.validation import read_real

if TYPE_CHECKING:
    from sasanet.explanation.explanation import Explanation

_PARTS = 4  # of a column of many numbers
_LEVELS = 12  # different numbers, above which a column is cut into parts
_MOST = 100  # cohorts: more are no cohorts but rows


def cohort_labels(e: Explanation, by: Any) -> pd.Series:
    """Return the name of every row's cohort, in the order of the rows.

    A column of many numbers or dates is cut at its quartiles; missing cells are a cohort of their
    own.
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
    column = column.reset_index(drop=True)
    places = _places(column)
    if places is not None and places.nunique() > _LEVELS:
        column = _parts(column, places)
    named = column.map(cell_text).astype(object).where(column.notna().to_numpy(), MISSING)
    if named.nunique() > _MOST:
        raise InvalidInputError(
            f"by must make at most {_MOST} cohorts, got {named.nunique()}; join some of the levels"
        )
    return named


def _places(column: pd.Series) -> pd.Series | None:
    """Return numbers in the order of a column's values; ``None`` where these have no order."""
    if holds_dates(column):
        return expand(column, str(column.name), zone_of(column, str(column.name)))["time"]
    numbers = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    return column.astype(np.float64) if numbers else None


def _parts(column: pd.Series, places: pd.Series) -> pd.Series:
    """Cut a column at the quartiles of its places, and name the parts by their ends."""
    parts = pd.qcut(places, _PARTS, duplicates="drop")
    ends = places.groupby(parts, observed=True).agg(["idxmin", "idxmax"])
    names = {
        part: " to ".join(map(cell_text, column.iloc[line.to_list()]))
        for part, line in ends.iterrows()
    }
    return parts.astype(object).map(names)


def difference(one: Explanation, other: Explanation) -> pd.DataFrame:
    """Return how the attributions of two sets of rows differ, feature by feature.

    See :meth:`Explanation.compare`.
    """
    check_comparable(one, other)
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


def against_others(e: Explanation, by: Any) -> pd.DataFrame:
    """Return how the attributions of every cohort differ from those of all other rows.

    One line per cohort and feature: ``cohort``, its ``rows``, ``feature`` and the columns of
    :func:`difference`, the largest cohort and difference first. A cohort of one row, or of all but
    one, has no interval and is left out.
    """
    labels, found = cohort_labels(e, by), []
    for name, count in labels.value_counts().items():
        inside = (labels == name).to_numpy()
        if min(count, len(e) - count) > 1:
            lines = difference(e[inside], e[~inside]).reset_index()
            lines.insert(0, "cohort", str(name))
            lines.insert(1, "rows", int(count))
            found.append(lines)
    if not found:
        raise InvalidInputError(
            "by must divide the rows into cohorts of two or more, got "
            f"{labels.nunique()} of {len(e)} rows; choose a column that repeats and differs"
        )
    return pd.concat(found, ignore_index=True)


def check_comparable(one: Explanation, other: Explanation) -> None:
    """Refuse explanations whose attributions cannot be held against each other."""
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


def measure_drift(one: Explanation, other: Explanation, level: float) -> pd.DataFrame:
    """Return how the attributions of two tables differ: see :meth:`Explanation.drift`."""
    from scipy.stats import ks_2samp, wasserstein_distance  # slow to import

    check_comparable(one, other)
    level = read_real({"level": level}, "level", above=0, below=1)
    pairs = list(zip(one.values.T, other.values.T, strict=True))
    tests = [ks_2samp(a, b, method="asymp") for a, b in pairs]
    p_values = np.array([test.pvalue for test in tests])
    adjusted = holm(p_values)
    found = pd.DataFrame(
        {
            "mean": one.values.mean(axis=0),
            "other_mean": other.values.mean(axis=0),
            "shift": [wasserstein_distance(a, b) for a, b in pairs],
            "statistic": [test.statistic for test in tests],
            "p_value": p_values,
            "adjusted": adjusted,
            "drifted": adjusted <= level,
        },
        index=pd.Index(one.feature_names, name="feature"),
    )
    return found.sort_values("shift", ascending=False, kind="stable")


def holm(p_values: Floats) -> Floats:
    """Return p-values adjusted for their number, after Holm (1979): (m,) → (m,).

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.06, 0.06])
    """
    order = np.argsort(p_values, kind="stable")
    left = len(p_values) - np.arange(len(p_values))
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p_values[order] * left))
    return adjusted
