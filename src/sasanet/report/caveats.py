"""What to be careful about in explained rows.

Large errors, levels never seen in training, numbers beyond the training range, missing cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sasanet.arrays import Masks
from sasanet.explanation.wording import cell_text
from sasanet.table.bags.parts import beyond, training_range
from sasanet.table.columns import Column

_LARGE_ERROR = 0.05  # the share of rows
_MOST_ROWS, _MOST_COLUMNS = 10, 8  # listed with each caveat


@dataclass(frozen=True)
class Caveat:
    """One kind of caveat: what it means, and which cells or rows it concerns.

    Parameters
    ----------
    key, title, text : str
        Its name in the page, its heading, and what it means for a prediction.
    rows : ndarray (n,) of bool
        Which rows it concerns.
    columns : list of (str, int, str)
        The columns it concerns, how many rows each, and a note.
    worst : list of int
        Rows to look at first.
    """

    key: str
    title: str
    text: str
    rows: Masks
    columns: list[tuple[str, int, str]]
    worst: list[int]

    def to_dict(self) -> dict[str, Any]:
        """Return what the page shows."""
        shown = self.columns[:_MOST_COLUMNS]
        return {
            "key": self.key,
            "title": self.title,
            "text": self.text,
            "count": int(self.rows.sum()),
            "columns": [dict(zip(("name", "rows", "note"), one, strict=True)) for one in shown],
            "more_columns": len(self.columns) - len(shown),
            "worst": self.worst,
        }


def find_caveats(
    data: pd.DataFrame,
    cells: NDArray[np.float32],
    columns: tuple[Column, ...],
    errors: NDArray[np.float64] | None,
) -> list[Caveat]:
    """Return the caveats of rows: data (n, d), cells (n, N), errors (n,) where labels are known."""
    cells = cells[:, : len(columns)]  # of bags the first part
    missing = np.isnan(cells)
    unseen = (cells == 0) & [column.kind == "category" for column in columns]
    examples = [_examples(data.iloc[:, j], unseen[:, j]) for j in range(len(columns))]
    ranges = [_range(column) for column in columns]
    found = [
        _by_cell("unknown", unseen, columns, examples),
        _by_cell("beyond", _beyond(data, columns), columns, ranges),
        _by_cell("missing", missing, columns, notes=[""] * len(columns)),
    ]
    return found if errors is None else [_large_errors(errors), *found]


_WORDS = {
    "unknown": (
        "Levels never seen in training",
        "The model has learned nothing about such a level: it treats all unseen levels alike.",
    ),
    "beyond": (
        "Numbers beyond the training range",
        "The model treats such a number like the nearest end of the training range.",
    ),
    "missing": (
        "Missing cells",
        "A missing cell is an absent feature: it adds 0, and the others make the prediction.",
    ),
}


def _large_errors(errors: NDArray[np.float64]) -> Caveat:
    n_rows = max(1, round(_LARGE_ERROR * len(errors)))
    order = np.argsort(-errors, kind="stable")
    rows = np.zeros(len(errors), dtype=bool)
    rows[order[:n_rows]] = True
    return Caveat(
        "error",
        "Largest errors",
        f"The {100 * _LARGE_ERROR:g} % of rows where prediction and label differ most.",
        rows,
        [],
        order[: min(_MOST_ROWS, n_rows)].tolist(),
    )


def _by_cell(key: str, cells: Masks, columns: tuple[Column, ...], notes: list[str]) -> Caveat:
    """Return a caveat about single cells: (n, d)."""
    counts = cells.sum(axis=0)
    order = [j for j in np.argsort(-counts, kind="stable") if counts[j]]
    listed = [(columns[j].name, int(counts[j]), notes[j]) for j in order]
    by_row = cells.sum(axis=1)
    worst = [int(i) for i in np.argsort(-by_row, kind="stable")[:_MOST_ROWS] if by_row[i]]
    return Caveat(key, *_WORDS[key], by_row > 0, listed, worst)


def _beyond(data: pd.DataFrame, columns: tuple[Column, ...]) -> Masks:
    """Return which numbers lie outside the range of training: (n, d)."""
    found = [beyond(data.iloc[:, j], column) for j, column in enumerate(columns)]
    return np.stack(found, axis=1)


def _range(column: Column) -> str:
    ends = training_range(column)
    return "" if ends is None else f"training: {cell_text(ends[0])} to {cell_text(ends[1])}"


def _examples(series: pd.Series, unseen: Masks) -> str:
    names = [str(level) for level in series[unseen].unique()]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more
