"""Explanations as shap has them, so that its plots draw them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from sasanet.errors import need_package
from sasanet.explanation.explanation import Explanation
from sasanet.explanation.wording import MISSING


def to_shap(e: Explanation) -> Any:
    """Return a ``shap.Explanation``; see :meth:`Explanation.to_shap`."""
    shap = need_package("shap", "shap")
    codes, text = np.empty(e.shape[:2]), np.empty(e.shape[:2], dtype=object)
    for j, (_, column) in enumerate(e.data.items()):
        codes[:, j], text[:, j] = _codes_and_text(column)
    return shap.Explanation(
        values=e.values.copy(),
        base_values=e.base_values.copy() if e.complete else None,
        data=codes,
        display_data=text,
        feature_names=list(e.feature_names),
        output_names=list(e.output_names) or None,
        error_std=None if e.error_std is None else e.error_std.copy(),
    )


def _codes_and_text(column: pd.Series) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return numbers that shap can colour by (NaN: missing), and what its labels show."""
    column = column.infer_objects()
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        given = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return given, given
    if isinstance(column.dtype, pd.CategoricalDtype):
        codes = column.cat.codes.to_numpy()
    else:  # sorted as text: levels of mixed types have no order of their own
        codes, _ = pd.factorize(column.astype(str).where(column.notna()), sort=True)
    # shap looks at one arbitrary cell to decide whether a column is text, so every cell must be;
    # its bar plot cuts zeros off the end of a label ("A30" to "A3"), which the space prevents.
    text = [str(cell) + " " * str(cell).endswith("0") for cell in column]
    shown = np.where(codes < 0, MISSING, np.array(text, dtype=object))
    return np.where(codes < 0, np.nan, codes), shown
