"""One split of a table for all models, and the task that its labels suggest."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from sasanet.errors import InvalidInputError

_FEW_NUMBERS = 10  # whole numbers with at most so many different values are taken for classes


@dataclass(frozen=True)
class Split:
    """Training and test rows of a table; texts are categories, classes are numbered from 0."""

    X_train: pd.DataFrame
    X_test: pd.DataFrame
    y_train: NDArray[Any]
    y_test: NDArray[Any]
    regression: bool
    seed: int


def suggests_regression(y: pd.Series) -> bool:
    """Tell whether labels look like quantities: numbers with fractions or many different values."""
    numbers = y.dtype.kind in "iuf"
    few = numbers and bool((y % 1 == 0).all()) and y.nunique() <= _FEW_NUMBERS
    return numbers and not few


def split(
    X: pd.DataFrame,
    y: pd.Series,
    regression: bool,
    test_share: float,
    seed: int,
    codes: Collection[str] = (),
) -> Split:
    """Split a table once for all models; texts and codes become categories, classes numbers."""
    labels, strata = y.to_numpy(), None
    if not regression:
        labels, _ = pd.factorize(y, sort=True)
        strata = labels
    X = X.copy()
    texts = X.columns[[dtype.kind not in "iufb" for dtype in X.dtypes]]
    for name in dict.fromkeys([*texts, *codes]):
        X[name] = X[name].astype("category")
    try:
        parts = train_test_split(
            X, labels, test_size=test_share, random_state=seed, stratify=strata
        )
    except ValueError as error:
        raise InvalidInputError(
            f"Both parts of the table must have rows of every class, got: {error}"
        ) from None
    X_train, X_test, y_train, y_test = parts
    return Split(X_train, X_test, y_train, y_test, regression, seed)
