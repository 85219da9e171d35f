"""Parquet files: their cells have types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from sasanet.cli.files.tables import Chunk
from sasanet.errors import InvalidInputError, need_package
from sasanet.table.reading import arrow_to_pandas


class ParquetTable:
    """A Parquet file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._rows_read = 0
        with self._open() as file:
            self._n_rows = file.metadata.num_rows
            names = map(str, file.schema_arrow.names)
            # pandas writes nameless row labels like this: not part of the table.
            self.names = tuple(name for name in names if not name.startswith("__index_level_"))

    @contextmanager
    def _open(self) -> Iterator[Any]:
        parquet = need_package("pyarrow.parquet", "parquet")
        try:
            with parquet.ParquetFile(self.path) as file:
                yield file
        except Exception as error:  # of a damaged file pyarrow raises errors of many kinds
            reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
            raise InvalidInputError(
                f"{self.path} must be a whole Parquet file, got: {reason}; fetch or write it again."
            ) from None

    def chunks(self, columns: Sequence[str], n_rows: int) -> Iterator[Chunk]:
        """Yield the rows in order."""
        self._rows_read = 0
        wanted = list(columns)
        with self._open() as file:
            for batch in file.iter_batches(n_rows, columns=wanted):
                # Without metadata no column is an index.
                frame = arrow_to_pandas(batch.replace_schema_metadata(None))[wanted]
                places = np.arange(self._rows_read, self._rows_read + len(frame)) + 1
                self._rows_read += len(frame)
                yield Chunk(frame, places, typed=True, path=self.path)

    def share_read(self) -> float:
        """Return how much of the file has been read, from 0 to 1."""
        return self._rows_read / self._n_rows if self._n_rows else 1.0
