"""Columns as inputs of a graph, and the vectors of their cells.

Numbers come first, then categories: each kind is looked up at once. Sizes: B rows, N features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sasanet.arrays import Floats
from sasanet.errors import InvalidInputError
from sasanet.onnx.graph import Graph, Tensor
from sasanet.table.columns import Column

_LARGEST = np.finfo(np.float64).max
_SMALLEST = np.nextafter(0.0, 1.0)


@dataclass(frozen=True)
class Cells:
    """What the graph knows of the cells: entries of a table [B, N, width], and 1.0 if present."""

    entries: Tensor
    present: Tensor  # [B, N]


def columns_in_order(columns: Sequence[Column]) -> list[int]:
    """Return the positions of the columns in the order of the graph: numbers, then categories."""
    return sorted(range(len(columns)), key=lambda j: columns[j].kind != "number")


def read_cells(graph: Graph, columns: Sequence[Column], tables: Sequence[np.ndarray]) -> Cells:
    """Declare one input per column, and look every cell up in its column's table [places, width].

    Columns and tables must be in the order of :func:`columns_in_order`. Absent cells are 0.
    """
    starts = np.cumsum([0, *(len(table) for table in tables)])[:-1]
    table = graph.constant(np.concatenate(list(tables)))
    inputs = [graph.input(c.name, "STRING" if is_text(c) else "DOUBLE") for c in columns]
    n_numbers = sum(column.kind == "number" for column in columns)
    found = []
    if n_numbers:
        given = graph.concat([one.unsqueeze(1) for one in inputs[:n_numbers]], 1)
        found.append(_numbers(graph, given, columns[:n_numbers], table, starts[:n_numbers]))
    if n_numbers < len(columns):
        codes = [
            _code(one, column)
            for one, column in zip(inputs[n_numbers:], columns[n_numbers:], strict=True)
        ]
        code = graph.concat([one.unsqueeze(1) for one in codes], 1)
        entries = table.take(code.op("Max", 0) + starts[n_numbers:][None])
        found.append((entries, code.op("GreaterOrEqual", 0, kind="BOOL")))
    entries = graph.concat([part[0] for part in found], 1)
    present = graph.concat([part[1] for part in found], 1).cast("FLOAT")
    return Cells(entries * present.unsqueeze(2), present)


def is_text(column: Column) -> bool:
    """Tell whether the cells of a column are text; others are numbers, truths as 0 and 1."""
    plain = column.levels and not isinstance(column.levels[0], str)
    return column.kind != "number" and not plain


# --- numbers ------------------------------------------------------------------------------------


def _numbers(
    graph: Graph, given: Tensor, columns: Sequence[Column], table: Tensor, starts: np.ndarray
) -> tuple[Tensor, Tensor]:
    """Return the entries of numbers, interpolated between two knots, and which are present.

    Shape: given [B, n] → [B, n, width], [B, n].
    """
    seen = graph.constant(np.array([[column.seen for column in columns]]))
    present = given.op("IsNaN", kind="BOOL").op("Not").op("And", seen)
    zeros = present.cast("DOUBLE") * 0.0
    known = graph.where(present, given, zeros).clip(-_LARGEST, _LARGEST)
    place = _place(graph, known, columns)
    low = place.op("Floor")
    share = (place - low).unsqueeze(2)
    last = np.array([[len(column.knots) - 1 for column in columns]])
    below = low.cast("INT64")
    above = (below + 1).op("Min", last)
    entries = table.take(below + starts[None]) * (1.0 - share)
    return entries + table.take(above + starts[None]) * share, present


def _place(graph: Graph, given: Tensor, columns: Sequence[Column]) -> Tensor:
    """Return the position among the knots, flat beyond both ends: [B, n] → float32 [B, n]."""
    longest = max(len(column.knots) for column in columns)
    knots = np.full((len(columns), longest), np.inf)
    # Halved, because the distance between two finite numbers may exceed the largest one.
    gaps = np.full((len(columns), longest), np.inf)  # of a single knot: every share of it is 0
    for j, column in enumerate(columns):
        own = np.array(column.knots)
        knots[j, : len(own)] = own
        gaps[j, : len(own) - 1] = np.maximum(np.diff(own / 2), _SMALLEST)
    reached = given.unsqueeze(2).op("GreaterOrEqual", knots[None], kind="BOOL")
    count = reached.cast("FLOAT").sum(2).cast("INT64")
    last = np.array([[max(len(column.knots) - 2, 0) for column in columns]])
    low = (count - 1).clip(0, last)
    index = low + np.arange(len(columns))[None] * longest
    start, gap = (_flat(graph, array).take(index) for array in (knots, gaps))
    share = ((given * 0.5 - start * 0.5) / gap).clip(0.0, 1.0)
    return (low.cast("DOUBLE") + share).cast("FLOAT")


def _flat(graph: Graph, array: Floats) -> Tensor:
    return graph.constant(np.ascontiguousarray(array.ravel()))


# --- categories -----------------------------------------------------------------------------------


def _code(given: Tensor, column: Column) -> Tensor:
    """Return the place of each level, 0 where unknown, negative where absent: [B] → int64 [B]."""
    if not is_text(column):
        return _code_of_numbers(given, column)
    if "" in column.levels:
        raise InvalidInputError(
            f"The empty text means a missing cell in ONNX, got it as a level of {column.name!r}; "
            "give the level a name and fit anew"
        )
    return given.graph.node(
        "LabelEncoder",
        given,
        kind="INT64",
        keys_strings=["", *column.levels],
        values_int64s=[-1, *range(1, len(column.levels) + 1)],
        default_int64=0,
    )


def _code_of_numbers(given: Tensor, column: Column) -> Tensor:
    levels = np.array([float(level) for level in column.levels])
    if len(set(levels.tolist())) < len(levels):
        raise InvalidInputError(
            f"Levels must differ as floats, got equal ones in {column.name!r}; make them text"
        )
    same = given.unsqueeze(1).equals(levels[None]).cast("INT64")
    absent = given.op("IsNaN", kind="BOOL").cast("INT64")
    return (same * np.arange(1, len(levels) + 1)[None]).sum(1) - absent
