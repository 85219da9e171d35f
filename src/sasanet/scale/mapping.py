"""Predictions and explanations as a function of DataFrames, for engines that map one over a table.

Ray, Dask and Spark divide a table, send the function to their workers and gather what it returns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from sasanet.errors import InvalidInputError
from sasanet.network.refinement.effort import read_effort
from sasanet.persistence import load
from sasanet.scale.parts import read_keep
from sasanet.scale.work import Explaining, Predicting, Work, rows_at_once
from sasanet.table.sources import check_has_columns


@dataclass(frozen=True)
class FrameMap:
    """A function of a DataFrame: what is written of its rows, in their order and with their index.

    It can be pickled, and carries the model.

    Attributes
    ----------
    columns : list of str
        What it returns beside the columns to keep.
    """

    model: Any
    work: Work
    keep: tuple[str, ...] = ()

    @property
    def columns(self) -> list[str]:
        """The names of the columns beside those to keep; of explanations all are numbers."""
        return self.work.columns(self.model)

    def __call__(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return one line for every row."""
        names = list(self.model.encoder_.names)
        check_has_columns([*names, *self.keep], list(map(str, frame.columns)), "The table")
        if not len(frame):
            return self.empty(frame)
        size, found = rows_at_once(self.model), []
        for start in range(0, len(frame), size):
            rows = frame.iloc[start : start + size].reset_index(drop=True)
            found.append(self.work.frame(self.model, rows[names], rows[list(self.keep)]))
        return pd.concat(found, ignore_index=True).set_axis(frame.index, axis=0)

    def each(self, frames: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        """Yield what is written of each of several DataFrames: for Spark's ``mapInPandas``."""
        return map(self, frames)

    def empty(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return a table without rows, with the columns and dtypes of what is written of others."""
        return pd.concat([frame[list(self.keep)].iloc[:0], self._written], axis=1)

    @cached_property
    def _written(self) -> pd.DataFrame:
        names = list(self.model.encoder_.names)
        nothing = pd.DataFrame(np.full((1, len(names)), np.nan), columns=names)
        return self.work.frame(self.model, nothing, pd.DataFrame(index=[0])).iloc[:0]


def explainer(
    model: Any, *, keep: Sequence[str] = (), n_orders: int = 0, max_error: float | None = None
) -> FrameMap:
    """Return a function that explains the rows of a DataFrame, for engines that map one.

    It returns the columns of :func:`explain_batches` but for ``row``.

    Parameters
    ----------
    model : fitted estimator, or path of a saved one
    keep : sequence of str, default=()
        Columns to copy, such as the rows' ids.
    n_orders : int, default=0
        As in ``model.explain``.
    max_error : float, optional
        As in ``model.explain``.

    Returns
    -------
    FrameMap

    Examples
    --------
    >>> from sasanet import SASANetRegressor
    >>> X = pd.DataFrame({"a": [0, 1, 2], "b": [1, 1, 5]})
    >>> model = SASANetRegressor(max_epochs=1).fit(X, [1.0, 2.0, 3.0])
    >>> explainer(model, keep=["b"])(X).columns.tolist()
    ['b', 'prediction', 'base_value', 'phi_a', 'phi_b']
    """
    read_effort(n_orders, max_error)
    return _made(model, Explaining(n_orders, max_error), keep)


def predictor(model: Any, *, keep: Sequence[str] = ()) -> FrameMap:
    """Return a function that predicts the rows of a DataFrame, for engines that map one.

    It returns the columns of :func:`predict_batches` but for ``row``.

    Parameters
    ----------
    model : fitted estimator, or path of a saved one
    keep : sequence of str, default=()
        Columns to copy, such as the rows' ids.

    Returns
    -------
    FrameMap

    Examples
    --------
    >>> from sasanet import SASANetRegressor
    >>> X = pd.DataFrame({"a": [0, 1, 2], "b": [1, 1, 5]})
    >>> model = SASANetRegressor(max_epochs=1).fit(X, [1.0, 2.0, 3.0])
    >>> predictor(model)(X).columns.tolist()
    ['prediction']
    """
    return _made(model, Predicting(), keep)


def _made(model: Any, work: Work, keep: Sequence[str]) -> FrameMap:
    fitted = load(model) if isinstance(model, str | Path) else model
    check_is_fitted(fitted)
    kept = read_keep(keep)
    if hidden := set(kept) & set(work.columns(fitted)):
        raise InvalidInputError(
            f"keep must not name columns that are written, got {min(hidden)!r}; rename it first."
        )
    return FrameMap(fitted, work, kept)
