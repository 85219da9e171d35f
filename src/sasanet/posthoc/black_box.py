"""A predict function and two tables in, predictions of rows mixed from their cells out.

Sizes: n rows to explain, B background rows, d features, m mixed rows, K outputs. What perturbs the
inputs of a model (the marginal game, LIME) only says from which row each cell comes; numbers,
words and missing cells then need no codes, and the model sees the kind of table it knows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sasanet.arrays import Floats
from sasanet.errors import InvalidInputError
from sasanet.table.reading import check_unique_names, read_table

Predict = Callable[[Any], Any]
CELLS_AT_ONCE = 1 << 20  # of a mixed table: 8 MB of numbers, or of references to words


class BlackBox:
    """A model known by its predictions only, and the cells its inputs are made of.

    Rows of both tables are numbered: 0 … n − 1 are the rows to explain, n … n + B − 1 the
    background.

    Parameters
    ----------
    predict : callable
        Table → (m,) or (m, K). It gets DataFrames if X is a table with column names, else arrays.
    X : table (n, d)
        Rows to explain.
    background : table (B, d)
        Rows whose cells stand in for hidden ones; the same columns.
    """

    def __init__(self, predict: Predict, X: Any, background: Any) -> None:
        if not callable(predict):
            raise InvalidInputError(
                f"predict must be a function of a table, got {type(predict).__name__}; "
                "give a method such as model.predict"
            )
        self.table = read_table(X).infer_objects()
        check_unique_names(self.table)
        other = _with_columns_of(self.table, read_table(background).infer_objects())
        self.n_rows, self.n_features, self.n_background = *self.table.shape, len(other)
        self.one_output = True
        self._predict, self._named = predict, hasattr(X, "columns")
        pairs = ((self.table.iloc[:, j], other.iloc[:, j]) for j in range(self.n_features))
        self._columns = [_stacked(above, below) for above, below in pairs]

    def mixed(self, picks: NDArray[np.intp]) -> pd.DataFrame:
        """Return the table whose cell (r, j) is column j of row picks[r, j]: (m, d)."""
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
                f"m = {len(picks)}; give one prediction, or one row of them, per row"
            )
        if not np.isfinite(found).all():
            raise InvalidInputError(
                "predict must return finite numbers, got NaN or infinite for "
                f"{int((~np.isfinite(found)).sum())} of {found.size}; clip them or fill them"
            )
        self.one_output = found.ndim == 1
        return found.reshape(len(found), -1)


def _with_columns_of(table: pd.DataFrame, background: pd.DataFrame) -> pd.DataFrame:
    """Return the background in the order of the table's columns."""
    wanted, came = list(table.columns), list(background.columns)
    if wanted != came and set(wanted) == set(came) and len(wanted) == len(came):
        return background[wanted]
    if wanted != came:
        raise InvalidInputError(
            f"background must have the columns of X, {wanted}, got {came}; "
            "take it from the table the model was trained on"
        )
    return background


def _stacked(above: pd.Series, below: pd.Series) -> pd.Series:
    """Return two columns as one; two categories with different levels get all levels of both."""
    up, down = above.dtype, below.dtype
    both_levels = isinstance(up, pd.CategoricalDtype) and isinstance(down, pd.CategoricalDtype)
    if up != down and both_levels:
        levels = below.cat.categories.append(above.cat.categories).unique()
        joint = pd.CategoricalDtype(levels, ordered=below.cat.ordered)
        above, below = above.astype(joint), below.astype(joint)
    return pd.concat([above, below], ignore_index=True)
