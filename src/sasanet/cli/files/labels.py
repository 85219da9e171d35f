"""The table to learn from: its features, its labels, and the task that the labels suggest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from sasanet.cli.files.column_types import (
    infer_column,
    infer_columns,
    pick,
    pick_one,
    refuse_unlabelled,
)
from sasanet.cli.files.parquet_table import ParquetTable
from sasanet.cli.files.reading import read_whole
from sasanet.cli.files.tables import Chunk, Table
from sasanet.cli.options import Task
from sasanet.cli.terminal import Terminal
from sasanet.comparison.split import suggests_regression
from sasanet.errors import InvalidInputError
from sasanet.estimator.fitting.given import MOST_CELLS
from sasanet.table.sources import Source

_MOST_CLASSES = 100
_ROWS_SHOWN = 10_000  # of a large table: they tell the columns' types


@dataclass(frozen=True)
class TrainingTable:
    """A table to learn from: features, labels, and the task.

    ``source`` holds all rows of a table that is too large for memory, ``X`` the first of them.
    """

    X: pd.DataFrame
    y: pd.Series
    task: Task
    why: str  # this task, in words
    notes: tuple[str, ...]
    codes: tuple[str, ...]  # columns of numbers to be read as categories
    exposure: pd.Series | None = None
    source: Source | None = None

    @property
    def is_regression(self) -> bool:
        """Whether numbers are predicted."""
        return self.task is Task.regression


@dataclass(frozen=True)
class Labels:
    """The target column, the task, and why it is that one."""

    y: pd.Series
    task: Task
    why: str


def read_training_table(  # noqa: PLR0913 - the options of a command
    terminal: Terminal,
    table: Table,
    target: str,
    task: Task,
    exclude: list[str] | None,
    categorical: list[str] | None,
    exposure: str | None = None,
    in_parts: bool = False,
) -> TrainingTable:
    """Read a table to learn from: whole, or where ``in_parts`` is allowed and it is large, not."""
    [target] = pick_one(table, target, "--target")
    amount = pick_one(table, exposure, "--exposure")
    left_out = {target, *amount, *pick(table, exclude or (), "--exclude")}
    codes = [n for n in pick(table, categorical or (), "--categorical") if n not in left_out]
    names = [name for name in table.names if name not in left_out]
    if not names:
        raise InvalidInputError(
            f"A table must have a column to learn from beside the target {target!r}, got none in "
            f"{table.path}."
        )
    large = in_parts and isinstance(table, ParquetTable) and _is_large(table, len(names))
    with terminal.progress(f"reading {table.path.name}") as tick:
        chunk = read_whole(table, [*([] if large else names), target, *amount], tick)
    labels = read_labels(chunk, target, task)
    if large:
        assert isinstance(table, ParquetTable)
        source = table.source.select([*names, target, *amount])
        first = next(iter(table.chunks(names, _ROWS_SHOWN))).frame
        codes = [name for name in codes if first[name].dtype.kind in "iufb"]
        amounts = chunk.frame[amount[0]] if amount else None
        about = labels.y, labels.task, labels.why, (), tuple(codes), amounts
        return TrainingTable(first, *about, source)
    features = infer_columns(chunk, names, codes)
    numbers = tuple(name for name in codes if features.frame[name].dtype.kind in "iufb")
    return TrainingTable(
        features.frame,
        labels.y,
        labels.task,
        labels.why,
        features.notes,
        numbers,
        infer_column(chunk, amount[0])[0] if amount else None,
    )


def _is_large(table: ParquetTable, n_columns: int) -> bool:
    """Tell whether a table is learned from in parts."""
    return (table.source.n_rows or 0) * (n_columns + 1) > MOST_CELLS


def read_labels(chunk: Chunk, target: str, task: Task) -> Labels:
    """Return the labels, and the task that is asked for or that they suggest."""
    cells, _ = infer_column(chunk, target)
    refuse_unlabelled(chunk, target, cells)
    if cells.nunique() < 2:
        raise InvalidInputError(
            f"The target {target!r} must have at least two different values, got "
            f"{cells.iloc[0]!r} in every row; choose another --target, or more rows."
        )
    inferred = task is Task.auto
    if inferred:
        task = Task.regression if suggests_regression(cells) else Task.classification
    if task is Task.regression:
        _refuse_words(chunk, target, cells)
        why = f"{cells.nunique():,} different numbers"
    else:
        _refuse_many_classes(cells, target)
        cells = _as_classes(cells)
        why = _count_classes(cells)
    return Labels(cells, task, why if inferred else "as asked")


def _are_numbers(cells: pd.Series) -> bool:
    return cells.dtype.kind in "iuf"


def _are_whole(cells: pd.Series) -> bool:
    return _are_numbers(cells) and bool((cells % 1 == 0).all())


def _as_classes(cells: pd.Series) -> pd.Series:
    """Return labels as integers or text; 1.0 is 1, and 1.5 is a name."""
    if _are_whole(cells):
        return cells.astype(np.int64)
    return cells.astype("str") if _are_numbers(cells) else cells


def _refuse_words(chunk: Chunk, target: str, cells: pd.Series) -> None:
    if not _are_numbers(cells):
        raise InvalidInputError(
            f"The target {target!r} must hold numbers for --task regression, got "
            f"{cells.iloc[0]!r} {chunk.where(0)}; use --task classification."
        )


def _refuse_many_classes(cells: pd.Series, target: str) -> None:
    n_classes = cells.nunique()
    if n_classes > min(_MOST_CLASSES, len(cells) // 2):
        raise InvalidInputError(
            f"The target {target!r} must have at most {_MOST_CLASSES} classes and several rows of "
            f"each, got {n_classes:,} different values in {len(cells):,} rows; choose another "
            "--target, or --task regression if they are numbers."
        )


def _count_classes(labels: pd.Series) -> str:
    """Return the classes with their numbers of rows, in words."""
    counts = labels.value_counts().sort_index()
    shown = [f"{name!r} in {count:,} rows" for name, count in counts.head(5).items()]
    return f"{len(counts)} classes: {', '.join(shown)}{', …' if len(counts) > 5 else ''}"
