"""Open a table by its path, and read it whole.

What cannot be read is refused in one sentence that names the place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from reprlib import repr as short

import numpy as np
import pandas as pd

from sasanet.cli.files.csv_table import CsvTable
from sasanet.cli.files.parquet_table import ParquetTable
from sasanet.cli.files.tables import Chunk, Table
from sasanet.errors import InvalidInputError

_ROWS_AT_ONCE = 10_000


def open_table(path: Path, encoding: str = "utf-8") -> Table:
    """Return the table in a file, by its content, or in a folder; no rows are read yet."""
    if not path.exists():
        raise InvalidInputError(f"There is no file {path}; check its name and the directory.")
    if path.is_dir():
        return _checked(ParquetTable(path))
    with path.open("rb") as file:
        start = file.read(4)
    if not start:
        raise InvalidInputError(f"A table must have a header and rows, got the empty file {path}.")
    if start == b"PAR1":
        return _checked(ParquetTable(path))
    return _checked(CsvTable(path, start, encoding))


def _checked(table: Table) -> Table:
    """Refuse a table in which two columns have one name."""
    repeated = [name for name, count in Counter(table.names).items() if count > 1]
    if repeated:
        raise InvalidInputError(
            f"Column names must be unique, got {short(repeated)} twice in {table.path}; rename one "
            "of each."
        )
    return table


def read_whole(table: Table, columns: Sequence[str], tick: Callable[[float], None]) -> Chunk:
    """Return all rows of a table, with some of its columns."""
    parts = []
    for part in table.chunks(columns, _ROWS_AT_ONCE):
        parts.append(part)
        tick(table.share_read())
    if not parts:
        raise no_rows(table)
    frame = pd.concat([part.frame for part in parts], ignore_index=True)
    places = np.concatenate([part.places for part in parts])
    return Chunk(frame, places, parts[0].typed, table.path)


def no_rows(table: Table) -> InvalidInputError:
    """Return the error for a table that ends after its header."""
    return InvalidInputError(f"A table must have rows below its header, got none in {table.path}.")
