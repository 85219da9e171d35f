"""What the user gave to ``fit``: a table and its labels in memory, or a source to be read in parts.

A source that is small is read into memory, so that it gives the model that ``fit(X, y)`` gives. A
table in memory that is very large is read in parts, so that a fit takes little memory beside it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sasanet.arrays import Floats
from sasanet.errors import InvalidInputError
from sasanet.estimator.fitting.checks import check_table
from sasanet.estimator.fitting.in_memory import TableInMemory
from sasanet.estimator.fitting.streamed import READING_TIME, StreamedTable, warn_of_unread
from sasanet.streaming.parts import Reader, Roles
from sasanet.streaming.scratch import scratch_folder
from sasanet.table.bags.text import N_BUCKETS, holds_text
from sasanet.table.encoder import TableEncoder
from sasanet.table.quantities import per_exposure
from sasanet.table.reading import check_width, read_table
from sasanet.table.sources import Source, check_has_columns, is_source, open_source
from sasanet.training.hyperparameters import Hyperparameters

MOST_CELLS = 2**24  # of a table that is learned from in memory: 128 MB as float64
_ROWS_AT_ONCE = 2**17
_ROWS_PER_PART = 2**14  # of a table in memory, whose parts are read in random order
_TARGET, _WEIGHT = "\0target", "\0weight"  # columns that join a table in memory

TrainingTable = TableInMemory | StreamedTable


@dataclass(frozen=True)
class Given:
    """The arguments of ``fit``."""

    X: Any
    y: Any
    sample_weight: Any
    target: str | None
    scratch: str | Path | None
    exposure: Any = None

    def per_exposure(self) -> Given:
        """Return a table's labels as rates, with the weights that rates have."""
        if self.exposure is None or self.target is not None or self.y is None:
            return self
        y, weights = per_exposure(self.y, self.sample_weight, self.exposure)
        return replace(self, y=y, sample_weight=weights, exposure=None)


@dataclass(frozen=True)
class Maker:
    """What a table must know of the estimator that learns from it."""

    name: str
    encoder: Callable[[], TableEncoder]
    resolve: Callable[[int], Hyperparameters]  # settings for so many rows


@contextmanager
def training_table(given: Given, maker: Maker, seed: Any, start: float) -> Iterator[TrainingTable]:
    """Yield what is to be learned from; a temporary folder is gone afterwards."""
    name, given = maker.name, given.per_exposure()
    number = int(seed) % 2**31 if isinstance(seed, int | np.integer) else 0
    if given.target is None and not is_source(given.X):
        table = read_table(given.X)
        check_width(table.shape[1])
        if n_cells(table) <= MOST_CELLS:
            yield TableInMemory(name, given.X, given.y, given.sample_weight, start)
            return
        source, roles = _join(name, table, given)
    else:
        source, roles = _open(name, given)
        limit = maker.resolve(2).time_limit
        source, whole = _read_small(source, number, start + READING_TIME * limit)
        if whole is not None:
            if source.n_rows is not None:
                warn_of_unread(len(whole), source.n_rows, limit)
            X, y, weights = roles.split(whole)
            plain = roles.weight is None and roles.exposure is None
            given_weights = None if plain else weights
            yield TableInMemory(name, X, y, given_weights, start)
            return
    settings = maker.resolve(2)  # what is wrong with them is said before anything is read
    with scratch_folder(given.scratch) as folder:
        reader = Reader(source, folder, number, verbose=settings.verbose)
        yield StreamedTable(reader, roles, maker.encoder(), settings.time_limit, start)


def _open(estimator: str, given: Given) -> tuple[Source, Roles]:
    """Return a source and the names of its target and weights, or refuse what is missing."""
    if given.y is not None or not isinstance(given.target, str):
        raise InvalidInputError(
            f"{estimator} requires y to be passed with a table in memory, and the name of a column "
            f"as target with a source, got y={type(given.y).__name__} and target={given.target!r}"
        )
    for what in ("sample_weight", "exposure"):
        named = getattr(given, what)
        if named is not None and not isinstance(named, str):
            raise InvalidInputError(
                f"{what} must name a column where target does, got {type(named).__name__}"
            )
    source = open_source(given.X, rows_per_part=2**62)  # a row group is read in one go
    roles = Roles(given.target, given.sample_weight, given.exposure)
    if source.names is not None:
        check_has_columns(roles.names, source.names, "The source")
        check_width(len(source.names) - len(roles.names))
    return source, roles


def _read_small(source: Source, seed: int, end: float) -> tuple[Source, pd.DataFrame | None]:
    """Return the whole table where it is small, else a source of all its rows.

    Of a table whose length is known random parts are returned where not all are read by ``end``.
    """
    if source.n_rows and source.names and source.n_rows * len(source.names) > MOST_CELLS:
        return source, None
    frames, cells = _frames(source, seed), 0
    read: list[tuple[int, pd.DataFrame]] = []
    for number, frame in frames:
        read.append((number, frame))
        cells += n_cells(frame)
        if cells > MOST_CELLS:
            whole = (one for _, one in chain(read, frames)) if source.once else None
            return (source if whole is None else replace(open_source(whole), once=True)), None
        if source.n_rows is not None and time.monotonic() > end:
            break
    return source, _concatenated([one for _, one in sorted(read, key=itemgetter(0))])


def _frames(source: Source, seed: int) -> Iterator[tuple[int, pd.DataFrame]]:
    """Yield tables and the numbers of their parts, which come in random order if all are known."""
    parts = source.parts()
    if source.n_rows is None:
        for number, part in enumerate(parts):
            yield from ((number, frame) for frame in part.frames(None, _ROWS_AT_ONCE))
        return
    known = list(parts)
    for number in np.random.RandomState(seed).permutation(len(known)).tolist():
        yield from ((number, frame) for frame in known[number].frames(None, _ROWS_AT_ONCE))


def _concatenated(frames: list[pd.DataFrame]) -> pd.DataFrame:
    if not frames:
        raise InvalidInputError("A source must have rows, got Found array with 0 sample(s).")
    return pd.concat(frames, ignore_index=True)


def _join(estimator: str, table: pd.DataFrame, given: Given) -> tuple[Source, Roles]:
    """Return a large table in memory as a source, with its labels and weights as columns."""
    table, weights = check_table(estimator, table, given.y, given.sample_weight)
    labels = pd.Series(np.asarray(given.y) if not hasattr(given.y, "dtype") else given.y)
    labels = labels.reset_index(drop=True)
    counted = None if given.sample_weight is None else weights
    starts = range(0, len(table), _ROWS_PER_PART)
    parts = [
        _Rows(table, labels, counted, start, min(_ROWS_PER_PART, len(table) - start))
        for start in starts
    ]
    found = Source(lambda: iter(parts), None, len(table), len(parts))
    return found, Roles(_TARGET, None if counted is None else _WEIGHT)


def n_cells(table: pd.DataFrame) -> int:
    """Return about how many cells a table is encoded in: a text has one for each bucket."""
    texts = sum(holds_text(table.iloc[:, j]) for j in range(table.shape[1]))
    return table.size + len(table) * N_BUCKETS * texts


@dataclass(frozen=True)
class _Rows:
    """Some rows of a table in memory, with their labels and weights."""

    table: pd.DataFrame
    labels: pd.Series
    weights: Floats | None
    first_row: int
    n_rows: int

    def frames(self, columns: Sequence[str] | None, n_rows: int) -> Iterator[pd.DataFrame]:
        """Yield all columns, at most so many rows at once."""
        del columns
        end = self.first_row + self.n_rows
        for start in range(self.first_row, end, n_rows):
            rows = slice(start, min(start + n_rows, end))
            part = self.table.iloc[rows].reset_index(drop=True)
            part[_TARGET] = self.labels.iloc[rows].to_numpy()
            if self.weights is not None:
                part[_WEIGHT] = self.weights[rows]
            yield part
