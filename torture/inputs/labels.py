"""Random targets and weights, right and wrong ones."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from torture.draw import Draw

CLASSES: tuple[tuple[Any, ...], ...] = (
    (0, 1), (False, True), ("no", "yes"), ("", "é"), (0, 1, 2), ("a", "b", "c", "d"), (-1, 1),
    (1.0, 2.0), (10**15, 10**15 + 1), tuple("abcde"), (2**53, 2**53 + 1), ("x\ny", "<b>"),
)  # fmt: skip


@dataclass(frozen=True)
class Labels:
    """Labels of all rows, and whether fit must refuse them."""

    y: Any
    illegal: bool = False


def draw_classes(draw: Draw, n: int) -> Labels:
    """Return labels of two to five classes."""
    classes = draw.one_of(CLASSES)
    y = np.array(classes)[draw.numbers.integers(0, len(classes), n)]
    y[: len(classes)] = classes  # each of them occurs
    form = draw.one_of(("array", "array", "list", "series", "category", "object", "column"))
    if form == "list":
        return Labels(y.tolist())
    if form == "series":
        return Labels(pd.Series(y))
    if form == "category":
        return Labels(pd.Series(pd.Categorical(y)))
    if form == "object":
        return Labels(y.astype(object))
    return Labels(y[:, None] if form == "column" else y)


def draw_bad_classes(draw: Draw, n: int) -> Labels:
    """Return labels that no classifier can learn."""
    good = draw.numbers.integers(0, 2, n)
    bad: tuple[Any, ...] = (
        None,
        np.zeros(n),
        np.array(["a" if label else None for label in good], dtype=object),
        np.where(good == 1, np.nan, 1.0),
        np.where(good == 1, np.inf, 1.0),
        draw.numbers.normal(size=n),
        good[:-1],
        np.column_stack([good, 1 - good]),
        "yes",
        5,
        pd.date_range("2020-01-01", periods=n),
        np.zeros((n, 1, 1)),
        [],
        [[0]] * (n - 1) + [[1, 2]],
        [{"a": 1}] * n,
        pd.Series([pd.NA, 1] * n, dtype="Int64")[:n],
        np.array([1j, 2] * n)[:n],
        {"a": 1},
    )
    return Labels(draw.one_of(bad), illegal=True)


def draw_quantities(draw: Draw, n: int) -> Labels:
    """Return numbers of any scale."""
    y = draw.numbers.normal(size=n)
    form = draw.one_of(
        ("plain", "plain", "scaled", "outlier", "constant", "whole", "nullable", "decimal", "texts")
    )
    if form == "scaled":
        y = y * 10.0 ** draw.between(-300, 300)
    elif form == "outlier":
        y[0] = draw.one_of((1e10, -1e100, 1e200, 1e307))
    elif form == "constant":
        y[:] = draw.one_of((0.0, 3.5, 1e300, -1e-300))
    if form == "whole":
        return Labels(draw.numbers.integers(-5, 5, n))
    if form == "nullable":
        return Labels(pd.Series(y, dtype="Float64"))
    if form == "decimal":
        return Labels(np.array([Decimal(repr(float(value))) for value in y], dtype=object))
    if form == "texts":
        return Labels([repr(float(value)) for value in y])
    return Labels(draw.one_of((y, y.tolist(), pd.Series(y), y[:, None], y.astype(np.float32)))
                  if form == "plain" else y)  # fmt: skip


def draw_bad_quantities(draw: Draw, n: int) -> Labels:
    """Return targets that no regressor can learn."""
    good = draw.numbers.normal(size=n)
    bad: tuple[Any, ...] = (
        None,
        np.where(good > 0, np.nan, good),
        np.where(good > 0, np.inf, good),
        np.array(["a", "b"] * n)[:n],
        good[:-1],
        np.column_stack([good, good]),
        "yes",
        5.0,
        [None] * n,
        pd.Series([pd.NA, 1.0] * n, dtype="Float64")[:n],
        np.array([1j, 2] * n)[:n],
        [[0.0]] * (n - 1) + [[1.0, 2.0]],
        [10**400] * n,
        np.sign(good) * 1e308,
        [],
    )
    return Labels(draw.one_of(bad), illegal=True)


def draw_weights(draw: Draw, n: int) -> Labels:
    """Return weights of the rows, or none."""
    w = draw.numbers.random(n)
    form = draw.one_of(
        ("none", "none", "none", "plain", "zeros", "huge", "tiny", "whole", "one row")
    )
    if form == "none":
        return Labels(None)
    if form == "zeros":
        w[draw.numbers.random(n) < 0.8] = 0
        w[0] = 1.0
    elif form == "huge":
        w = w * draw.one_of((1e100, 1e300, 1e307))
    elif form == "tiny":
        w = (w + 0.1) * draw.one_of((1e-100, 1e-300))
    elif form == "one row":
        w[1:] = 0
        w[0] = 1.0
    elif form == "whole":
        return Labels(draw.numbers.integers(1, 4, n))
    return Labels(w)


def draw_bad_weights(draw: Draw, n: int) -> Labels:
    """Return weights that must be refused."""
    w = draw.numbers.random(n)
    bad: tuple[Any, ...] = (
        w - 0.9,
        np.zeros(n),
        np.where(w > 0.5, np.nan, w),
        np.where(w > 0.5, np.inf, w),
        w[:-1],
        np.column_stack([w, w]),
        "heavy",
        ["a"] * n,
        [None] * n,
        [],
        {"a": 1},
    )
    return Labels(draw.one_of(bad), illegal=True)
