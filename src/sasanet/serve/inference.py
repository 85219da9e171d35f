"""The models' own ``predict`` and ``explain``, on the rows of several requests at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sasanet.arrays import Floats
from sasanet.explanation.wording import Told, cell_text, compact, strongest_reasons
from sasanet.serve.metrics import Metrics
from sasanet.serve.reading import Cell, Rows, shown
from sasanet.table.bags.parts import beyond, training_range
from sasanet.table.encoder import EncodedTable
from sasanet.table.target import class_shares

if TYPE_CHECKING:
    from sasanet.serve.registry import Served

Places = NDArray[np.float32]  # encoded cells, [n, d] and the further parts of bags
Masks = NDArray[np.bool_]
_NO_TABLE = pd.DataFrame()
_STEPS = 8  # sizes of batches between one power of two and the next


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
    reasons: list[list[str]] = field(default_factory=list)
    warnings: list[list[str]] = field(default_factory=list)

    def first(self, n_rows: int) -> Answer:
        """Return the answer for the first of the rows."""
        arrays = {name: array[:n_rows] for name, array in self.arrays.items()}
        return Answer(self.served, self.predictions[:n_rows], arrays, self.reasons[:n_rows])


def few_sizes(n_rows: int) -> NDArray[np.intp]:
    """Return positions of rows, the last one repeated until their number is one of few.

    oneDNN makes code for every number of rows that it has not met and keeps it, about a megabyte
    each: a process that answers batches of all sizes for days would grow by hundreds. Up to 16 rows
    are computed as they are, and of more at most an eighth is computed for nothing.

    Examples
    --------
    >>> few_sizes(3), len(few_sizes(17)), len(few_sizes(100))
    (array([0, 1, 2]), 18, 104)
    """
    step = 2 ** max(0, (n_rows - 1).bit_length() - _STEPS.bit_length())
    return np.minimum(np.arange(-(-n_rows // step) * step), n_rows - 1)


def answer(queries: Sequence[Query], metrics: Metrics) -> list[Answer]:
    """Answer requests of one group in one pass through the model."""
    served, first = queries[0].served, queries[0]
    columns = zip(*(query.rows.cells for query in queries), strict=True)
    cells = [[*chain.from_iterable(parts)] for parts in columns]
    by_table = served.reader is None or first.n_orders
    whole, places = _by_table(first, cells) if by_table else _by_cells(first, cells)
    strange = find_warnings(served, places, cells)
    if first.counted:
        known = places[:, : len(served.columns)]
        metrics.observe_rows(served, strange, known, whole.arrays.get("attributions"))
    whole.warnings.extend(strange.sentences())
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


def _by_table(first: Query, cells: list[list[Cell]]) -> tuple[Answer, Places]:
    """Answer by the methods for tables: columns of several parts, and refined attributions."""
    served, n_rows = first.served, len(cells[0])
    encoded = encode(served, cells)
    if not first.n_orders:  # each row more would be refined too
        encoded = encoded.take(few_sizes(n_rows))
    predictions, arrays = _predicted(served, encoded)
    if not first.explain:
        return Answer(served, predictions, arrays).first(n_rows), encoded.cells[:n_rows]
    explanation = served.model.explain(encoded, n_orders=first.n_orders)
    arrays |= {
        "raw": explanation.prediction,
        "base_value": explanation.base_values,
        "attributions": explanation.values,
    }
    if explanation.error_std is not None:
        arrays["error_std"] = explanation.error_std
    reasons = explanation.all_reasons(first.n_reasons)
    return Answer(served, predictions, arrays, reasons).first(n_rows), encoded.cells[:n_rows]


def _by_cells(first: Query, cells: list[list[Cell]]) -> tuple[Answer, Places]:
    """Answer without a table, which takes longer to make than a few rows to explain."""
    served = first.served
    assert served.reader is not None
    places = served.reader.read_columns(cells)
    n_rows, batch = len(places), places[few_sizes(len(places))]
    if not first.explain:
        predicted = _predicted(served, EncodedTable(_NO_TABLE, batch))
        return Answer(served, *predicted).first(n_rows), places
    values, raw = (found[:n_rows] for found in served.model.explain_cells(batch))
    predictions, arrays = _labelled(served, raw)
    base, single = np.broadcast_to(served.model.base_value_, raw.shape), raw.shape[1] == 1
    told = Told(served.names, served.model.target_.units, served.model.target_.output_names)
    values = values[..., 0] if single else values
    reasons = strongest_reasons(told, cells, ~np.isnan(places), values, raw, first.n_reasons)
    arrays["raw"], arrays["base_value"] = (raw[:, 0], base[:, 0]) if single else (raw, base)
    return Answer(served, predictions, arrays | {"attributions": values}, reasons), places


def _predicted(served: Served, encoded: EncodedTable) -> tuple[list[Any], dict[str, Floats]]:
    """Return the predictions of rows, and of a classifier the probabilities behind them."""
    if not served.labels:
        return served.model.predict(encoded).tolist(), {}
    return _most_probable(served, served.model.predict_proba(encoded))


def _labelled(served: Served, raw: Floats) -> tuple[list[Any], dict[str, Floats]]:
    """Return the same from raw predictions."""
    if served.labels:
        return _most_probable(served, class_shares(raw))
    return served.model.target_.to_target(raw if raw.shape[1] > 1 else raw[:, 0]).tolist(), {}


def _most_probable(served: Served, shares: Floats) -> tuple[list[Any], dict[str, Floats]]:
    best = shares.argmax(axis=1).tolist()
    return [served.labels[one] for one in best], {"probabilities": shares}


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

    unknown_level: Masks
    out_of_range: Masks
    served: Served
    cells: Sequence[Sequence[Cell]]

    def sentences(self) -> list[list[str]]:
        """Return one sentence for each strange cell of every row."""
        found: list[list[str]] = [[] for _ in self.unknown_level]
        for row, column in np.argwhere(self.unknown_level | self.out_of_range).tolist():
            found[row].append(self._sentence(row, column))
        return found

    def _sentence(self, row: int, j: int) -> str:
        column, cell = self.served.columns[j], self.cells[j][row]
        if self.unknown_level[row, j]:
            what = f"has the level {shown(cell)}, which training never had; it tells nothing"
        else:
            low, high = map(_end, training_range(column) or ())
            told = cell_text(cell) if column.parts else shown(cell)
            what = f"is {told}, outside {low} to {high}; it counts as the nearer end"
        return f"Column {shown(column.name)} {what}."


def _end(value: Any) -> str:
    """Return one end of a column's range."""
    return compact(value) if isinstance(value, float) else cell_text(value)


def find_warnings(served: Served, places: Places, cells: Sequence[Sequence[Cell]]) -> Strange:
    """Return which cells are levels or numbers that training did not have."""
    unknown = np.zeros((len(places), len(served.columns)), dtype=bool)
    outside = np.zeros_like(unknown)
    for j, column in enumerate(served.columns):
        if column.kind == "category":
            unknown[:, j] = places[:, j] == 0
        elif column.kind == "number" and column.seen:
            numbers = np.array(cells[j], dtype=np.float64)  # None is NaN, which is not beyond
            outside[:, j] = (numbers < column.knots[0]) | (numbers > column.knots[-1])
        elif column.kind == "dates":
            outside[:, j] = beyond(pd.Series([*cells[j]], dtype=object), column)
    return Strange(unknown, outside, served, cells)
