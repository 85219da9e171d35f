"""A table's rows to choose from on the live page, and which of them are like a given one.

Sizes: n rows, d columns, C classes.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from sasanet.explanation.explanation import Explanation
from sasanet.explanation.players import read_players
from sasanet.explanation.wording import cell_text
from sasanet.serve.reading import Cell
from sasanet.table.reading import plain_level, read_table

if TYPE_CHECKING:
    from sasanet.serve.registry import Served

_MOST_ROWS = 5_000


@dataclass(frozen=True)
class _Explained:
    """The rows as one version of a model explains them."""

    version: str
    predictions: list[Any]
    explanation: Explanation


class Explored:
    """Rows for the live page to choose from, and groups of columns for it to begin with.

    Parameters
    ----------
    table : table (n, d)
        Rows with the columns of the model; more columns are left out. Of more than 5,000 rows the
        page has 5,000, drawn with a fixed seed. Whoever may ask the server can read them.
    groups : mapping of str to sequence of str, optional
        Groups of columns, as ``model.explain`` takes them.

    Examples
    --------
    >>> from sasanet.datasets import load_penguins
    >>> X, y = load_penguins()
    >>> rows = Explored(X, groups={"bill": ["bill_length_mm", "bill_depth_mm"]})
    >>> len(rows), rows.labels[0]
    (344, '0')
    """

    def __init__(self, table: Any, groups: Mapping[str, Sequence[str]] | None = None) -> None:
        frame = read_table(table)
        if len(frame) > _MOST_ROWS:
            drawn = np.random.default_rng(0).choice(len(frame), _MOST_ROWS, replace=False)
            frame = frame.iloc[np.sort(drawn)]
        if groups is not None:
            read_players(groups, [str(name) for name in frame.columns])
        self.table = frame.rename(columns=str)
        self.groups = {name: [*members] for name, members in (groups or {}).items()}
        self.labels = [cell_text(label) for label in frame.index]
        self.records = _records(self.table)
        self._texts = [
            "\n".join([label, *(str(cell) for cell in record.values())]).lower()
            for label, record in zip(self.labels, self.records, strict=True)
        ]
        self._explained: _Explained | None = None

    def __len__(self) -> int:
        return len(self.records)

    def find(self, words: str) -> list[int]:
        """Return the positions of the rows that contain all of some words."""
        wanted = words.lower().split()
        return [i for i, text in enumerate(self._texts) if all(word in text for word in wanted)]

    def line(self, served: Served, row: int) -> dict[str, Any]:
        """Return a row: its position, label, cells, and the model's prediction."""
        explained = self._of(served)
        names = [column.name for column in served.columns]
        return {
            "row": row,
            "label": self.labels[row],
            "cells": {name: self.records[row].get(name) for name in names},
            "prediction": explained.predictions[row],
            "raw": explained.explanation.prediction[row].tolist(),
        }

    def like(self, served: Served, values: Any, count: int) -> list[dict[str, Any]]:
        """Return the rows that the model explains most alike: the nearest attributions.

        The distance is the sum of absolute differences of attributions, in their units. Shape:
        values [d] or [d, C].
        """
        found = self._of(served).explanation.values
        distances = np.abs(found - values).reshape(len(found), -1).sum(axis=1)
        nearest = np.argsort(distances, kind="stable")[:count].tolist()
        return [self.line(served, i) | {"distance": float(distances[i])} for i in nearest]

    def cells_of(self, name: str) -> list[Cell]:
        """Return what the rows hold in a column, missing cells left out."""
        return [record[name] for record in self.records if record.get(name) is not None]

    def _of(self, served: Served) -> _Explained:
        """Return the rows explained by this version of a model; computed once."""
        if self._explained is None or self._explained.version != served.version:
            lacking = {
                column.name: pd.Series(None, index=self.table.index, dtype=object)
                for column in served.columns
                if column.name not in self.table
            }
            X = self.table.assign(**lacking)[[column.name for column in served.columns]]
            predictions = served.model.predict(X).tolist()
            self._explained = _Explained(served.version, predictions, served.model.explain(X))
        return self._explained


def _records(table: pd.DataFrame) -> list[dict[str, Cell]]:
    """Return rows as JSON has them; a missing cell is null."""
    columns = {
        name: [_cell(value) for value in table[name].astype(object)] for name in table.columns
    }
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def _cell(value: Any) -> Cell:
    if pd.isna(value):
        return None
    if isinstance(value, dt.date):  # times too
        return value.isoformat()
    found = plain_level(value) if not isinstance(value, str) else value
    return None if isinstance(found, float) and not math.isfinite(found) else found
