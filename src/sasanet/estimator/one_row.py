"""One row at a time, as a service gets them: no table is built around it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from sasanet.arrays import Floats
from sasanet.estimator.continuing import ContinuingClassifier
from sasanet.estimator.tabular import TabularModel
from sasanet.explanation.one_row import RowExplanation
from sasanet.network import inference
from sasanet.table.encoder import EncodedTable

_NO_TABLE = pd.DataFrame()


class OneRowModel(TabularModel):
    """A model that predicts and explains single rows in about a millisecond."""

    def predict_one(self, row: Any) -> Any:
        """Return the prediction of one row: its class, or its number.

        Parameters
        ----------
        row : mapping or sequence
            Cells by column name, all columns of training, or a sequence of cells in their order.
            ``None`` and NaN are missing cells.

        Returns
        -------
        label or float
            What ``predict`` returns for a table of this one row.

        Examples
        --------
        >>> from sasanet import SASANetRegressor
        >>> model = SASANetRegressor(max_epochs=1).fit([[0, 1], [1, 1], [2, 5]], [1.0, 2.0, 3.0])
        >>> bool(model.predict_one([1, None]) == model.predict([[1, None]])[0])
        True
        """
        return self.predict(self._encode_one(row))[0]

    def explain_one(self, row: Any) -> RowExplanation:
        """Return the attributions of one row's prediction.

        Parameters
        ----------
        row : mapping or sequence
            As in :meth:`predict_one`.

        Returns
        -------
        RowExplanation
            The values are those of ``explain`` for a table of this one row.

        Examples
        --------
        >>> from sasanet.datasets import load_german_credit
        >>> from sasanet import SASANetClassifier
        >>> X, y = load_german_credit()
        >>> model = SASANetClassifier(max_epochs=1, teacher_weight=0, random_state=0).fit(X, y)
        >>> row = {name: X[name].iloc[0] for name in X}
        >>> bool((model.explain_one(row).values == model.explain(X[:1]).values[0]).all())
        True
        """
        cells, base = self._encode_one(row).cells, self.base_value_
        values = self.explain_cells(cells)[0][0]
        single = len(base) == 1
        return RowExplanation(
            values=values[:, 0] if single else values,
            base_value=base[0] if single else base,
            data=self.encoder_.row_values(row),
            feature_names=self.encoder_.names,
            output_names=self.target_.output_names,
            units=self.target_.units,
            words=self._words(self._table_of(row), torch.from_numpy(cells)),
        )

    def explain_cells(self, cells: NDArray[np.float32]) -> tuple[Floats, Floats]:
        """Return what ``explain`` and ``predict`` compute, of encoded rows without a table.

        Parameters
        ----------
        cells : ndarray (n, d)
            As ``encoder_.transform`` returns them.

        Returns
        -------
        values : ndarray (n, d, K)
            Attributions.
        raw : ndarray (n, K)
            Raw predictions: ``base_value_ + values.sum(axis=1)``.

        Examples
        --------
        >>> from sasanet import SASANetRegressor
        >>> model = SASANetRegressor(max_epochs=1).fit([[0, 1], [1, 1], [2, 5]], [1.0, 2.0, 3.0])
        >>> values, raw = model.explain_cells(model.encoder_.transform_row([1, None]))
        >>> values.shape, bool(raw[0, 0] == model.predict([[1, None]])[0])
        ((1, 2, 1), True)
        """
        self._check_explains()
        rows, quickly = torch.from_numpy(cells), self._explains_quickly("auto")
        found, totals = inference.attributions_and_outputs(self.network_, rows, quickly)
        return found.numpy() * self.target_.scale, self.target_.to_raw(totals.numpy())

    def _table_of(self, row: Any) -> pd.DataFrame:
        """Return a row as a table where its words are to be read, else an empty one."""
        if not self.encoder_.has_text:
            return _NO_TABLE
        named = zip(self.encoder_.names, self.encoder_.row_values(row), strict=True)
        return pd.DataFrame({name: pd.Series([cell], dtype=object) for name, cell in named})

    def _encode_one(self, row: Any) -> EncodedTable:
        """Return a row that the methods for tables take; they read nothing but its cells."""
        if not self.__sklearn_is_fitted__():
            check_is_fitted(self)
        return EncodedTable(_NO_TABLE, self.encoder_.transform_row(row))


class OneRowClassifier(ContinuingClassifier, OneRowModel):
    """The same for classes, which have probabilities too."""

    def predict_proba_one(self, row: Any) -> Floats:
        """Return the probability of every class for one row (see :meth:`predict_one`): (C,)."""
        found: Floats = self.predict_proba(self._encode_one(row))[0]
        return found
