"""Parquet files, and folders of them: their cells have types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from sasanet.cli.files.tables import Chunk
from sasanet.table.sources import open_source


class ParquetTable:
    """A Parquet file, or all those in a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.source = open_source(path)
        self._rows_read = 0
        self.names = self.source.names or ()

    def chunks(self, columns: Sequence[str], n_rows: int) -> Iterator[Chunk]:
        """Yield the rows in order."""
        self._rows_read = 0
        for frame in self.source.frames(columns, n_rows):
            places = np.arange(self._rows_read, self._rows_read + len(frame)) + 1
            self._rows_read += len(frame)
            yield Chunk(frame, places, typed=True, path=self.path)

    def share_read(self) -> float:
        """Return how much of the file has been read, from 0 to 1."""
        return self._rows_read / self.source.n_rows if self.source.n_rows else 1.0
