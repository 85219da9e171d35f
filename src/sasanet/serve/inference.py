"""The models' own ``predict`` and ``explain``, on the rows of several requests at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from sasanet.arrays import Floats
from sasanet.explanation.explanation import Explanation
from sasanet.explanation.wording import cell_text, compact
from sasanet.serve.metrics import Metrics
from sasanet.serve.reading import Cell, Rows, shown
from sasanet.table.bags.parts import beyond, training_range
from sasanet.table.encoder import EncodedTable

if TYPE_CHECKING:
    from sasanet.serve.registry import Served


@dataclass(frozen=True)
class Query:
    """One request: rows for a model, and what to compute of them."""

    served: Served
    rows: Rows
    explain: bool
    n_orders: int = 0
    n_reasons: int = 5
    counted: bool = True  # whether its rows are part of what is watched for drift

    @property
    def group(self) -> tuple[object, ...]:
        """What must be equal for two requests to be computed together."""
        return (id(self.served), self.explain, self.n_orders, self.n_reasons, self.counted)


@dataclass(frozen=True)
class Answer:
    """What was computed for one request of n rows.

    ``arrays`` has, of what was asked for: probabilities [n, C], raw and base_value [n] or [n, C],
    attributions and error_std [n, d] or [n, d, C].
    """

    served: Served
    predictions: list[Any]  # [n] labels or numbers
    arrays: dict[str, Floats]
    reasons: list[list[str]]
    warnings: list[list[str]]


def answer(queries: Sequence[Query], metrics: Metrics) -> list[Answer]:
    """Answer requests of one group in one pass through the model."""
    served, first = queries[0].served, queries[0]
    columns = zip(*(query.rows.cells for query in queries), strict=True)
    encoded = encode(served, [[*chain.from_iterable(parts)] for parts in columns])
    predictions, arrays = _predicted(served, encoded)
    reasons, explanation = [], None
    if first.explain:
        explanation = served.model.explain(encoded, n_orders=first.n_orders)
        arrays |= _explained(explanation)
        reasons = explanation.all_reasons(first.n_reasons)
    strange = find_warnings(served, encoded)
    if first.counted:
        cells = encoded.cells[:, : len(served.columns)]
        metrics.observe_rows(served, strange, cells, explanation)
    warnings = [strange.sentences(row) for row in range(len(encoded))]
    whole = Answer(served, predictions, arrays, reasons, warnings)
    return _split(whole, [query.rows.n_rows for query in queries])


def encode(served: Served, cells: Sequence[Sequence[Cell]]) -> EncodedTable:
    """Return rows, given as one list per column, as the model's methods take them.

    Cells stay as they were sent, for the sentences about them.
    """
    names, encoder = [column.name for column in served.columns], served.model.encoder_
    if served.reader is None:
        columns = zip(names, cells, strict=True)
        table = pd.DataFrame({name: pd.Series([*own], dtype=object) for name, own in columns})
        return EncodedTable(table, encoder.transform(table, warn=False))
    grid = np.empty((len(names), len(cells[0])), dtype=object)
    for j, own in enumerate(cells):
        grid[j] = own
    return EncodedTable(pd.DataFrame(grid.T, columns=names), served.reader.read_columns(cells))


def _predicted(served: Served, encoded: EncodedTable) -> tuple[list[Any], dict[str, Floats]]:
    """Return the predictions of rows, and of a classifier the probabilities behind them."""
    if not served.labels:
        return served.model.predict(encoded).tolist(), {}
    shares = served.model.predict_proba(encoded)
    return [served.labels[best] for best in shares.argmax(axis=1)], {"probabilities": shares}


def _explained(explanation: Explanation) -> dict[str, Floats]:
    """Return the numbers of an explanation by name."""
    found = {
        "raw": explanation.prediction,
        "base_value": explanation.base_values,
        "attributions": explanation.values,
    }
    errors = explanation.error_std
    return found if errors is None else found | {"error_std": errors}


def _split(whole: Answer, sizes: Sequence[int]) -> list[Answer]:
    """Return each request's part of a batch."""
    found, start = [], 0
    for size in sizes:
        part = slice(start, start := start + size)
        arrays = {name: array[part] for name, array in whole.arrays.items()}
        rows = (whole.predictions[part], arrays, whole.reasons[part], whole.warnings[part])
        found.append(Answer(whole.served, *rows))
    return found


@dataclass(frozen=True)
class Strange:
    """Cells unlike those of training: two masks [n, d], and sentences about them."""

    unknown_level: np.ndarray[Any, np.dtype[np.bool_]]
    out_of_range: np.ndarray[Any, np.dtype[np.bool_]]
    served: Served
    table: pd.DataFrame

    def sentences(self, row: int) -> list[str]:
        """Return one sentence for each strange cell of a row."""
        found = []
        for j in np.flatnonzero(self.unknown_level[row] | self.out_of_range[row]).tolist():
            column, cell = self.served.columns[j], self.table.iat[row, j]
            if self.unknown_level[row, j]:
                what = f"has the level {shown(cell)}, which training never had; it tells nothing"
            else:
                low, high = map(_end, training_range(column) or ())
                told = cell_text(cell) if column.parts else shown(cell)
                what = f"is {told}, outside {low} to {high}; it counts as the nearer end"
            found.append(f"Column {shown(column.name)} {what}.")
        return found


def _end(value: Any) -> str:
    """Return one end of a column's range."""
    return compact(value) if isinstance(value, float) else cell_text(value)


def find_warnings(served: Served, encoded: EncodedTable) -> Strange:
    """Return which cells are levels or numbers that training did not have."""
    unknown = np.zeros((len(encoded), len(served.columns)), dtype=bool)
    outside = np.zeros_like(unknown)
    for j, column in enumerate(served.columns):
        if column.kind == "category":
            unknown[:, j] = encoded.cells[:, j] == 0
        else:
            outside[:, j] = beyond(encoded.table.iloc[:, j], column)
    return Strange(unknown, outside, served, encoded.table)
