"""Explained rows in, what to be careful about out: errors, strangers, gaps, far-away values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sasanet.table.columns import Column
from sasanet.table.reading import read_numbers

Mask = NDArray[np.bool_]
_LARGE_ERROR = 0.05  # the share of rows
_LISTED, _COLUMNS = 10, 8


@dataclass(frozen=True)
class Doubt:
    """One kind of doubt: which cells or rows, in words.

    Parameters
    ----------
    key, title, text : str
        Its name in the page, its heading, and what it means for a prediction.
    rows : ndarray (n,) of bool
        Which rows it is about.
    columns : list of (str, int, str)
        The columns it is about, how many rows each, and a note.
    worst : list of int
        Rows to look at first.
    """

    key: str
    title: str
    text: str
    rows: Mask
    columns: list[tuple[str, int, str]]
    worst: list[int]

    def to_dict(self) -> dict[str, Any]:
        """Return what the page shows."""
        shown = self.columns[:_COLUMNS]
        return {
            "key": self.key,
            "title": self.title,
            "text": self.text,
            "count": int(self.rows.sum()),
            "columns": [dict(zip(("name", "rows", "note"), one, strict=True)) for one in shown],
            "more_columns": len(self.columns) - len(shown),
            "worst": self.worst,
        }


def find_doubts(
    data: pd.DataFrame,
    cells: NDArray[np.float32],
    columns: tuple[Column, ...],
    errors: NDArray[np.float64] | None,
) -> list[Doubt]:
    """Return the doubts about rows: data and cells (n, d), errors (n,) where labels are known."""
    missing = np.isnan(cells)
    strange = (cells == 0) & [column.kind == "category" for column in columns]
    beyond = _beyond(data, columns)
    ranges = [_range(column) for column in columns]
    unseen = [_examples(data.iloc[:, j], strange[:, j]) for j in range(len(columns))]
    nothing = [""] * len(columns)
    found = [
        _by_cell("unknown", strange, columns, unseen),
        _by_cell("beyond", beyond, columns, ranges),
        _by_cell("missing", missing, columns, nothing),
    ]
    return found if errors is None else [_large_errors(errors), *found]


_WORDS = {
    "unknown": (
        "Levels never seen in training",
        "Such a cell counts as no information: the model has no opinion about it.",
    ),
    "beyond": (
        "Numbers beyond the training range",
        "The model treats such a number like the nearest one it knew.",
    ),
    "missing": (
        "Missing cells",
        "A missing cell is an absent feature: it adds nothing, and the others speak for it.",
    ),
}


def _large_errors(errors: NDArray[np.float64]) -> Doubt:
    n_rows = max(1, round(_LARGE_ERROR * len(errors)))
    order = np.argsort(-errors, kind="stable")
    rows = np.zeros(len(errors), dtype=bool)
    rows[order[:n_rows]] = True
    return Doubt(
        "error",
        "Largest errors",
        f"The {100 * _LARGE_ERROR:g} % of rows where prediction and label differ most.",
        rows,
        [],
        order[: min(_LISTED, n_rows)].tolist(),
    )


def _by_cell(key: str, cells: Mask, columns: tuple[Column, ...], notes: list[str]) -> Doubt:
    """Return a doubt about single cells: (n, d)."""
    counts = cells.sum(axis=0)
    order = [j for j in np.argsort(-counts, kind="stable") if counts[j]]
    listed = [(columns[j].name, int(counts[j]), notes[j]) for j in order]
    by_row = cells.sum(axis=1)
    worst = [int(i) for i in np.argsort(-by_row, kind="stable")[:_LISTED] if by_row[i]]
    return Doubt(key, *_WORDS[key], by_row > 0, listed, worst)


def _beyond(data: pd.DataFrame, columns: tuple[Column, ...]) -> Mask:
    """Return which numbers lie outside what training showed: (n, d)."""
    found = np.zeros(data.shape, dtype=bool)
    for j, column in enumerate(columns):
        if column.kind == "number":
            values = read_numbers(data.iloc[:, j], column.name)
            found[:, j] = (values < column.knots[0]) | (values > column.knots[-1])
    return found


def _range(column: Column) -> str:
    if column.kind != "number":
        return ""
    return f"training: {column.knots[0]:.6g} to {column.knots[-1]:.6g}"


def _examples(series: pd.Series, strange: Mask) -> str:
    names = [str(level) for level in series[strange].unique()]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more
