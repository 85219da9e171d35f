"""Random tables: columns of every kind in a DataFrame, an array, a list, polars or Arrow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import polars
import pyarrow

from torture.draw import Draw
from torture.inputs.columns import BAD_NAMES, BAGS, ILLEGAL, LEGAL, TEXTS

NAMES = tuple(text for text in TEXTS if text not in BAD_NAMES)
CONTAINERS = ("frame", "frame", "frame", "numbers", "objects", "list", "polars", "arrow")

_BAG_SHARE = 0.05  # of the columns


@dataclass(frozen=True)
class Table:
    """Rows to learn from and others like them; ``illegal`` names what fit must refuse."""

    train: Any
    other: Any
    container: str
    illegal: str = ""


def draw_table(draw: Draw, n_train: int, n_other: int, illegal: bool = False) -> Table:
    """Return a random table of one to six columns, with a column that must be refused if asked."""
    n = n_train + n_other
    container = "frame" if illegal else draw.one_of(CONTAINERS)
    if container == "numbers":
        return _split(_plain_numbers(draw, n), n_train, container)
    makers = [
        draw.one_of(list((BAGS if draw.happens(_BAG_SHARE) else LEGAL).values()))
        for _ in range(draw.between(1, 6))
    ]
    columns = [pd.Series(make(draw, n)).reset_index(drop=True) for make in makers]
    what = ""
    if illegal:
        what = draw.one_of(list(ILLEGAL))
        columns.append(pd.Series(ILLEGAL[what](draw, n)).reset_index(drop=True))
    frame = pd.concat(columns, axis=1, ignore_index=True)
    names = _draw_names(draw, len(columns))
    if illegal and draw.happens(0.3):
        what, names[0] = "a bad name", draw.one_of(("\ud800", names[-1], 1.5))
        names[-1] = str(names[-1])
    frame.columns = pd.Index(names, dtype=object)
    if draw.happens(0.2):
        frame.index = pd.Index(draw.numbers.integers(0, 5, n))  # row labels may repeat
    table = _split(frame, n_train, "frame")
    train, other = (convert(part, container) for part in (table.train, table.other))
    if train is None or other is None:  # that library cannot hold such a table
        train, other, container = table.train, table.other, "frame"
    return Table(train, other, container, what)


def _plain_numbers(draw: Draw, n: int) -> Any:
    table = draw.numbers.normal(size=(n, draw.between(1, 5)))
    table[draw.numbers.random(table.shape) < 0.2] = np.nan
    return table.astype(draw.one_of((np.float64, np.float32, np.float64)))


def _split(table: Any, n_train: int, container: str) -> Table:
    return Table(table[:n_train], table[n_train:], container)


def _draw_names(draw: Draw, count: int) -> list[Any]:
    """Return column names: plain, odd but different ones, or numbers."""
    form = draw.one_of(("plain", "plain", "odd", "numbers", "shuffled"))
    if form == "plain":
        return [f"x{j}" for j in range(count)]
    if form == "odd":
        return draw.random.sample(NAMES, count)
    numbers = list(range(count)) if form == "numbers" else draw.random.sample(range(50), count)
    return list(numbers)


def convert(frame: pd.DataFrame, container: str) -> Any:
    """Return a DataFrame as another kind of table, or None where that kind cannot hold it."""
    if container == "frame":
        return frame
    if container in ("objects", "list"):
        rows = frame.astype(object).to_numpy()
        cells = [cell for cell in rows.ravel() if isinstance(cell, str)]
        if "\ud800" in cells:
            return None
        return rows.tolist() if container == "list" else rows
    if any(_is_mixture(column) for _, column in frame.items()):
        return None
    try:
        named = frame.set_axis([str(name) for name in frame.columns], axis=1)
        if container == "polars":
            table: Any = polars.from_pandas(named.reset_index(drop=True))
        else:
            table = pyarrow.Table.from_pandas(named, preserve_index=False)
        back = pyarrow.table(table).to_pandas()  # intervals have no way back
        return table if list(back.columns) == list(named.columns) else None  # polars renames ""
    except Exception:  # their refusals are no matter of ours
        return None


def _is_mixture(column: pd.Series) -> bool:
    """Tell whether other libraries would have to choose a type: they make 1 of True."""
    return column.dtype == object and len({type(cell) for cell in column.dropna()}) > 1


def with_holes(draw: Draw, frame: pd.DataFrame) -> pd.DataFrame:
    """Return rows with more cells missing, types as they are where pandas can."""
    holes = draw.numbers.random(frame.shape) < draw.one_of((0.2, 0.6, 1.0))
    return frame.mask(holes)
