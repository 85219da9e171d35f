"""Predictions of a model on rows whose cells come from the explained rows or the background.

Sizes: n rows to explain, B background rows, d features, m mixed rows, K outputs. The marginal game
and LIME only choose the row that each cell is taken from. So numbers, words and missing cells need
no codes, and the model is called with the kind of table it was trained on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sasanet.arrays import Floats
from sasanet.errors import InvalidInputError
from sasanet.table.reading import check_names, read_table

Predict = Callable[[Any], Any]
CELLS_AT_ONCE = 1 << 20  # of a mixed table: 8 MB of numbers or references


class BlackBox:
    """A predict function and the rows that its inputs are composed from.

    Row numbers 0 … n − 1 are the rows to explain, n … n + B − 1 the background.

    Parameters
    ----------
    predict : callable
        Table → (m,) or (m, K). It is called with DataFrames if X has column names, else with
        arrays.
    X : table (n, d)
        Rows to explain.
    background : table (B, d)
        Rows whose cells replace hidden ones; the same columns.
    """

    def __init__(self, predict: Predict, X: Any, background: Any) -> None:
        if not callable(predict):
            raise InvalidInputError(
                f"predict must be a function of a table, got {type(predict).__name__}; "
                "give a method such as model.predict"
            )
        self.table = read_table(X).infer_objects()
        check_names(self.table)
        other = _with_columns_of(self.table, read_table(background).infer_objects())
        self.n_rows, self.n_features, self.n_background = *self.table.shape, len(other)
        self.one_output = True
        self._predict, self._named = predict, hasattr(X, "columns")
        pairs = ((self.table.iloc[:, j], other.iloc[:, j]) for j in range(self.n_features))
        self._columns = [_stacked(above, below) for above, below in pairs]

    def mixed(self, picks: NDArray[np.intp]) -> pd.DataFrame:
        """Return the table whose cell (r, j) is column j of row ``picks[r, j]``: (m, d)."""
        columns = [column.take(picks[:, j]) for j, column in enumerate(self._columns)]
        frame = pd.concat([column.reset_index(drop=True) for column in columns], axis=1)
        return frame.set_axis(self.table.columns, axis=1)

    def __call__(self, picks: NDArray[np.intp]) -> Floats:
        """Return the predictions for mixed rows: (m, d) row numbers → (m, K)."""
        frame = self.mixed(picks)
        given = self._predict(frame if self._named else frame.to_numpy())
        found = np.asarray(given, dtype=np.float64)
        if found.ndim not in (1, 2) or len(found) != len(picks):
            raise InvalidInputError(
                f"predict must return shape (m,) or (m, K), got {found.shape} for "
                f"m = {len(picks)}; return one prediction, or one row of them, per row"
            )
        if not np.isfinite(found).all():
            n_bad = int((~np.isfinite(found)).sum())
            raise InvalidInputError(
                f"predict must return finite numbers, got {n_bad} NaN or infinite of {found.size}; "
                "clip or fill them"
            )
        self.one_output = found.ndim == 1
        return found.reshape(len(found), -1)


def _with_columns_of(table: pd.DataFrame, background: pd.DataFrame) -> pd.DataFrame:
    """Return the background with its columns in the order of the table."""
    wanted, given = list(table.columns), list(background.columns)
    if wanted != given and set(wanted) == set(given) and len(wanted) == len(given):
        return background[wanted]
    if wanted != given:
        raise InvalidInputError(
            f"background must have the columns of X, {wanted}, got {given}; "
            "take it from the table the model was trained on"
        )
    return background


def _stacked(above: pd.Series, below: pd.Series) -> pd.Series:
    """Concatenate two columns; categories with different levels get the levels of both."""
    up, down = above.dtype, below.dtype
    both_levels = isinstance(up, pd.CategoricalDtype) and isinstance(down, pd.CategoricalDtype)
    if up != down and both_levels:
        levels = below.cat.categories.append(above.cat.categories).unique()
        joint = pd.CategoricalDtype(levels, ordered=below.cat.ordered)
        above, below = above.astype(joint), below.astype(joint)
    return pd.concat([above, below], ignore_index=True)
