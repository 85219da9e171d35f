"""What an exported file answers in onnxruntime, beside what its model answers in Python.

Every file is run before it is written: one that predicts anything else than the model is refused,
and how far its attributions are from the model's own explanation is written into it.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from sasanet.arrays import Floats
from sasanet.errors import InvalidInputError, UnknownLevelWarning, need_package
from sasanet.onnx.cells import is_text
from sasanet.table.columns import Column
from sasanet.table.reading import read_table

if TYPE_CHECKING:
    from sasanet.estimator.sasanet import SASANetModel

_DRAWN = 128  # rows, if none are given
_MOST = 1024  # of those that are given, evenly spaced
_CLOSE = 1e-5  # of a prediction, in units of the network's output


def compare(model: SASANetModel, content: bytes, X: Any = None) -> dict[str, Any]:
    """Return the errors of a file against the model; one whose predictions differ is refused.

    Rows that are not given are drawn from the knots and levels of the columns, half of them with
    missing cells and unknown levels.
    """
    columns = model.encoder_.columns
    rows = draw_rows(columns, _DRAWN) if X is None else model.encoder_.align(read_table(X))
    rows = rows.iloc[:: max(1, -(-len(rows) // _MOST))]
    found = run(content, to_inputs(columns, rows))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownLevelWarning)
        own = model.explain(rows) if "attributions" in found else None
        raw = (
            model.value(rows, np.ones(len(columns), dtype=bool)) if own is None else own.prediction
        )
    scale = model.target_.scale
    raw = np.reshape(raw, found["raw"].shape)
    gap = np.abs(found["raw"] - raw) / scale
    if (gap > _CLOSE * np.maximum(1, np.abs(raw) / scale)).any():
        raise InvalidInputError(
            f"An exported file must predict what the model predicts to {_CLOSE:g}, got a "
            f"difference of {gap.max():.2g}; this network cannot be exported"
        )
    errors = {"rows": len(rows), "drawn": X is None, "prediction": float(gap.max() * scale)}
    if own is None:
        return errors
    return errors | _errors_of(
        found["attributions"], np.reshape(own.values, found["attributions"].shape)
    )


def _errors_of(found: Floats, own: Floats) -> dict[str, float]:
    """Return how far attributions are from the model's own: [n, N, K]."""
    gap, spread = found - own, own - own.mean()
    return {
        "rmse": float(np.sqrt(np.mean(gap**2))),
        "largest": float(np.abs(gap).max()),
        "r2": float(1 - np.sum(gap**2) / max(np.sum(spread**2), np.finfo(float).tiny)),
    }


def run(content: bytes, inputs: dict[str, Any]) -> dict[str, Any]:
    """Return the outputs of a file by name."""
    runtime = need_package("onnxruntime", "onnx")
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    session = runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs), strict=True))


def to_inputs(columns: Sequence[Column], rows: pd.DataFrame) -> dict[str, Any]:
    """Return a table's cells as the graph reads them: text or float64, "" or NaN where missing.

    Examples
    --------
    >>> column = Column("city", "category", levels=("Oslo", "Rome"))
    >>> to_inputs([column], pd.DataFrame({"city": ["Rome", None]}))
    {'city': array(['Rome', ''], dtype=object)}
    """
    found = {}
    for j, column in enumerate(columns):
        cells = rows.iloc[:, j].astype(object)
        missing = cells.isna().to_numpy()
        if is_text(column):
            text = ["" if gone else str(cell) for cell, gone in zip(cells, missing, strict=True)]
            found[column.name] = np.array(text, dtype=object)
        else:
            found[column.name] = np.array(cells.where(~missing, np.nan), dtype=np.float64)
    return found


def draw_rows(columns: Sequence[Column], n_rows: int, seed: int = 0) -> pd.DataFrame:
    """Return rows of cells that are independent of each other; the second half has missing cells.

    Numbers are drawn evenly along their knots, which are quantiles of the training table.
    """
    random = np.random.default_rng(seed)
    share = np.repeat([0.0, 1.0], [n_rows - n_rows // 2, n_rows // 2]) * random.random(n_rows)
    drawn = {}
    for column in columns:
        cells = _draw_cells(column, n_rows, random)
        cells[random.random(n_rows) < share] = None
        drawn[column.name] = pd.Series(cells, dtype=object)
    return pd.DataFrame(drawn)


def _draw_cells(column: Column, n_rows: int, random: np.random.Generator) -> np.ndarray:
    cells = np.empty(n_rows, dtype=object)
    if column.kind == "number":
        places = random.random(n_rows) * (len(column.knots) - 1)
        cells[:] = np.interp(places, np.arange(len(column.knots)), column.knots).tolist()
        return cells
    levels = np.empty(len(column.levels) + 1, dtype=object)
    levels[:] = [*column.levels, _unknown(column)]
    cells[:] = levels[random.integers(0, len(levels), n_rows)]
    return cells


def _unknown(column: Column) -> Any:
    """Return a level that training never had."""
    if is_text(column):
        return "".join(map(str, column.levels[:2])) + "?"
    return float(max(column.levels)) + 1
