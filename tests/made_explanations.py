"""Explanations of random numbers, and when two of them are the same."""

from __future__ import annotations

import numpy as np
import pandas as pd

from sasanet.explanation.explanation import Explanation

NAMES = ("age", "job", "flag", "income")
CLASSES = ("setosa", "versicolor", "virginica")


def table(n: int = 12) -> pd.DataFrame:
    """Numbers, text, categories and nullable integers, each with a missing cell."""
    frame = pd.DataFrame(
        {
            "age": np.arange(n) * 1.5,
            "job": [["clerk", "cook", "pilot"][i % 3] for i in range(n)],
            "flag": pd.Categorical([i % 2 for i in range(n)], categories=[2, 1, 0]),
            "income": pd.array([1000 * i for i in range(n)], dtype="Int64"),
        },
        index=[f"row{i}" for i in range(n)],
    )
    for column, row in enumerate((1, 2, 3, 4)):
        frame.iloc[row, column] = None
    return frame


def make(outputs: tuple[str, ...] = (), data: pd.DataFrame | None = None) -> Explanation:
    """An explanation of random numbers in which missing cells get no attribution."""
    data = table() if data is None else data
    tail = (len(outputs),) if outputs else ()
    values = np.random.default_rng(0).normal(size=data.shape + tail)
    values[data.isna().to_numpy()] = 0.0
    base = np.broadcast_to(np.arange(len(outputs)) if outputs else 0.5, (len(data), *tail))
    return Explanation(values, base, data, tuple(data.columns), outputs)


def one_kind_of_missing(column: pd.Series) -> pd.Series:
    """None and NaN among Python objects mean the same, and files do not tell them apart."""
    return column.where(column.notna(), None) if column.dtype == object else column


def assert_same(a: Explanation, b: Explanation) -> None:
    np.testing.assert_array_equal(a.values, b.values, strict=True)
    np.testing.assert_array_equal(a.base_values, b.base_values, strict=True)
    pd.testing.assert_frame_equal(*(e.data.apply(one_kind_of_missing) for e in (a, b)))
    assert (a.error_std is None) == (b.error_std is None)
    if a.error_std is not None and b.error_std is not None:
        np.testing.assert_array_equal(a.error_std, b.error_std, strict=True)
    for name in ("feature_names", "output_names", "units", "complete"):
        assert getattr(a, name) == getattr(b, name)
