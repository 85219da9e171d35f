"""The target column in, what kind of question it asks out: guessed, and said why."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from sasanet.cli.files.column_types import Learned, learn, learn_column, pick, refuse_unlabelled
from sasanet.cli.files.reading import Chunk, Table, read_whole
from sasanet.cli.options import Task
from sasanet.cli.terminal import Terminal
from sasanet.errors import InvalidInputError

_MOST_CLASSES = 100
_FEW_NUMBERS = 10  # whole numbers with at most so many different values are taken for classes


@dataclass(frozen=True)
class Question:
    """A table to learn from: features, labels, and what kind of answer is wanted."""

    X: pd.DataFrame
    y: pd.Series
    task: Task
    why: str
    notes: tuple[str, ...]
    codes: tuple[str, ...]  # columns of numbers to be read as categories

    @property
    def is_regression(self) -> bool:
        """Whether the answer is a number."""
        return self.task is Task.regression


def read_question(
    terminal: Terminal,
    table: Table,
    target: str,
    task: Task,
    exclude: list[str] | None,
    categorical: list[str] | None,
) -> Question:
    """Read a whole table to learn from."""
    [target] = pick(table, [target], "--target")
    left_out = {target, *pick(table, exclude or (), "--exclude")}
    codes = [n for n in pick(table, categorical or (), "--categorical") if n not in left_out]
    names = [name for name in table.names if name not in left_out]
    if not names:
        raise InvalidInputError(
            f"A table must have a column beside the target {target!r}, got {table.path} has "
            "none left to learn from."
        )
    with terminal.progress(f"reading {table.path.name}") as tick:
        chunk = read_whole(table, [*names, target], tick)
    labels, task, why = read_labels(chunk, target, task)
    learned: Learned = learn(chunk, names, codes)
    numbers = tuple(name for name in codes if learned.frame[name].dtype.kind in "iufb")
    return Question(learned.frame, labels, task, why, learned.notes, numbers)


def read_labels(chunk: Chunk, target: str, task: Task) -> tuple[pd.Series, Task, str]:
    """Return the labels, what is asked about them, and why that was concluded."""
    labels, _ = learn_column(chunk, target, as_text=False)
    refuse_unlabelled(chunk, target, labels)
    numeric, distinct = labels.dtype.kind in "iuf", labels.nunique()
    whole = numeric and bool((labels % 1 == 0).all())
    if distinct < 2:
        raise InvalidInputError(
            f"The target {target!r} must have at least two different values, got every row "
            f"has {labels.iloc[0]!r}; choose another --target, or more rows."
        )
    given = "as asked" if task is not Task.auto else ""
    if task is Task.auto:
        classes = not numeric or (whole and distinct <= _FEW_NUMBERS)
        task = Task.classification if classes else Task.regression
    if task is Task.regression:
        if not numeric:
            raise InvalidInputError(
                f"The target {target!r} must hold numbers for --task regression, got "
                f"{labels.iloc[0]!r} {chunk.where(0)}; use --task classification."
            )
        return labels, task, given or f"{distinct:,} different numbers"
    _refuse_many_classes(labels, target, distinct)
    labels = labels.astype(np.int64) if whole else labels
    labels = labels.astype("str") if numeric and not whole else labels
    return labels, task, given or _count(labels)


def _refuse_many_classes(labels: pd.Series, target: str, distinct: int) -> None:
    if distinct > min(_MOST_CLASSES, len(labels) // 2):
        raise InvalidInputError(
            f"The target {target!r} must have at most {_MOST_CLASSES} classes and several rows of "
            f"each, got {distinct:,} different values in {len(labels):,} rows; choose another "
            "--target, or --task regression if they are numbers."
        )


def _count(labels: pd.Series) -> str:
    """Return the classes with their numbers of rows, in words."""
    counts = labels.value_counts().sort_index()
    shown = [f"{name!r} in {count:,} rows" for name, count in counts.head(5).items()]
    return f"{len(counts)} classes: {', '.join(shown)}{', …' if len(counts) > 5 else ''}"
