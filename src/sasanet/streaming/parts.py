"""The rows of a source, part by part: features, labels and weights, until its time is over."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd

from sasanet.arrays import Floats
from sasanet.errors import InvalidInputError
from sasanet.progress import Progress
from sasanet.streaming.scratch import full_disk
from sasanet.table.quantities import per_exposure
from sasanet.table.sources import Source, check_has_columns

_CELLS_AT_ONCE = 2**22  # read at once: 32 MB
_MOST_ROWS = 2**17


@dataclass(frozen=True)
class Roles:
    """Which columns are the target, the weights and the exposure; all others are features."""

    target: Any
    weight: Any = None
    exposure: Any = None

    @property
    def names(self) -> list[Any]:
        """The columns that are no features."""
        return [n for n in (self.target, self.weight, self.exposure) if n is not None]

    def split(self, frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series, Floats]:
        """Return features, labels and weights [n] of a table; with an exposure labels are rates."""
        named = self.names
        columns = list(frame.columns)
        check_has_columns(named, columns, "The table")
        labels = frame.iloc[:, columns.index(self.target)]
        weights = np.ones(len(frame))
        if self.weight is not None:
            weights = _read_weights(frame.iloc[:, columns.index(self.weight)], self.weight)
        if self.exposure is not None:
            exposure = frame.iloc[:, columns.index(self.exposure)]
            rates, weights = per_exposure(labels, weights, exposure)
            labels = pd.Series(rates, labels.index, name=self.target)
        return frame.drop(columns=named), labels, weights


def _read_weights(series: pd.Series, name: str) -> Floats:
    try:
        weights = series.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        weights = np.array([np.nan])
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise InvalidInputError(
            f"sample_weight must name a column of finite numbers of at least 0, got {name!r} with "
            "other cells; mend or drop these rows"
        )
    return weights


@dataclass
class Reader:
    """The frames of a source that can be read as often as needed, in an order of its own.

    Parts come in random order where they can be read alone, so that those that time allows are a
    fair sample. ``chosen`` lists the parts of the first reading, once it is over: the next ones
    read the same. What can be read only once is kept in ``folder``.
    """

    source: Source
    folder: Path
    seed: int
    columns: Sequence[str] | None = None
    chosen: list[int] | None = None
    verbose: bool = False
    n_read: int = 0  # rows of the first reading

    def frames(self, what: str, end: float) -> Iterator[tuple[int, pd.DataFrame]]:
        """Yield tables and the numbers of their first rows until ``end``, but at least one."""
        first_time = self.chosen is None
        done: list[int] = []
        total = self.source.n_rows if first_time else self.n_read
        with Progress(what, total, self.verbose, end) as bar:
            for number, frames in self._parts():
                done.append(number)
                for first, frame in frames:
                    yield first, frame
                    bar.add(len(frame))
                    self.n_read += len(frame) if first_time else 0
                    if time.monotonic() > end:
                        break
                if time.monotonic() > end:
                    break
        if first_time:
            self.chosen = done

    def _parts(self) -> Iterator[tuple[int, Iterator[tuple[int, pd.DataFrame]]]]:
        if self.source.once and self.chosen is not None:
            yield from ((number, self._spooled(number)) for number in self.chosen)
        elif self.source.n_parts is None:
            most = len(self.chosen) if self.chosen is not None else None
            for number, part in enumerate(self.source.parts()):
                if number == most:
                    break
                yield number, self._read(part, number)
        else:
            order = np.random.RandomState(self.seed).permutation(self.source.n_parts).tolist()
            parts = list(self.source.parts())
            for number in order if self.chosen is None else self.chosen:
                yield number, self._read(parts[number], number)

    def _read(self, part: Any, number: int) -> Iterator[tuple[int, pd.DataFrame]]:
        first = part.first_row
        for piece, frame in enumerate(part.frames(self.columns, self._rows_at_once(part))):
            if self.source.once:
                self._spool(frame, first, number, piece)
            yield first, frame
            first += len(frame)

    def _rows_at_once(self, part: Any) -> int:
        """Return how many rows to read between two looks at the clock: few of a wide table."""
        names = self.columns if self.columns is not None else self.source.names
        if names is None:  # tables in memory, of which one row costs nothing
            names = [name for frame in islice(part.frames(None, 1), 1) for name in frame.columns]
        return max(1, min(_CELLS_AT_ONCE // max(1, len(names)), _MOST_ROWS))

    def _spool(self, frame: pd.DataFrame, first: int, number: int, piece: int) -> None:
        """Keep a table that will not come again."""
        try:
            joblib.dump((first, frame), self.folder / f"read-{number:06d}-{piece:06d}")
        except OSError as error:
            raise full_disk(self.folder, error) from None

    def _spooled(self, number: int) -> Iterator[tuple[int, pd.DataFrame]]:
        for file in sorted(self.folder.glob(f"read-{number:06d}-*")):
            yield joblib.load(file)  # written by this very fit, in a folder of its own
