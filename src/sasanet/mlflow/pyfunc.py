"""What MLflow calls: predictions, or explained rows, of a table that may lack columns."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from reprlib import repr as short
from typing import Any

import numpy as np
import pandas as pd

from sasanet import load
from sasanet.errors import InvalidInputError
from sasanet.estimator.sasanet import SASANetModel

_PARAMS = ("explain", "n_orders", "n_reasons")


class PyFuncModel:
    """A fitted model as MLflow's generic Python function.

    Examples
    --------
    >>> import pandas as pd
    >>> from sasanet import SASANetRegressor
    >>> X = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0], "b": ["x", "y", "x", "y"]})
    >>> model = SASANetRegressor(random_state=0, max_epochs=1, teacher_weight=0).fit(X, X["a"])
    >>> explained = PyFuncModel(model).predict(X[["a"]], {"explain": True})  # "b" is absent
    >>> explained["attributions"][0]["b"]
    0.0
    """

    def __init__(self, model: SASANetModel) -> None:
        self.model = model

    def predict(self, table: Any, params: Mapping[str, Any] | None = None) -> Any:
        """Return predictions [n]; with ``{"explain": True}`` a table of explained rows.

        Its columns are those of the server's answers: prediction, probabilities (by label), raw,
        base_value, attributions (by column) and reasons.
        """
        asked = dict(params or {})
        if strange := [name for name in asked if name not in _PARAMS]:
            raise InvalidInputError(
                f"params must be among {', '.join(_PARAMS)}, got {short(strange[0])}"
            )
        rows = self._complete(table)
        if not asked.get("explain", False):
            return self.model.predict(rows)
        return self._explained(rows, asked.get("n_orders", 0), asked.get("n_reasons", 5))

    def _complete(self, table: Any) -> pd.DataFrame:
        """Return the columns of training; those that are not given are absent from every row."""
        columns = self.model.encoder_.columns
        if isinstance(table, np.ndarray):
            return pd.DataFrame(table, columns=list(self.model.encoder_.names))
        frame = pd.DataFrame(table)
        given = {str(name): name for name in frame.columns}
        cells = {}
        for column in columns:
            absent = pd.Series([None] * len(frame), index=frame.index, dtype=object)
            cells[column.name] = frame[given[column.name]] if column.name in given else absent
        return pd.DataFrame(cells)

    def _explained(self, rows: pd.DataFrame, n_orders: int, n_reasons: int) -> pd.DataFrame:
        found = self.model.explain(rows, n_orders=n_orders)
        names, labels = list(found.feature_names), [*map(str, self.model.target_.labels)]
        columns: dict[str, list[Any]] = {"prediction": self.model.predict(rows).tolist()}
        if labels:
            shares = self.model.predict_proba(rows).tolist()
            columns["probabilities"] = [dict(zip(labels, row, strict=True)) for row in shares]
        columns["raw"] = found.prediction.tolist()
        columns["base_value"] = found.base_values.tolist()
        columns["attributions"] = [
            dict(zip(names, row, strict=True)) for row in found.values.tolist()
        ]
        if found.error_std is not None:
            columns["error_std"] = [
                dict(zip(names, row, strict=True)) for row in found.error_std.tolist()
            ]
        columns["reasons"] = found.all_reasons(n_reasons)
        return pd.DataFrame(columns, index=rows.index)


def _load_pyfunc(path: str) -> PyFuncModel:
    """Read what MLflow stored: the name and the signature are MLflow's."""
    return PyFuncModel(load(Path(path)))
