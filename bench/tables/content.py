"""A table in, the checksum of its content out, whoever wrote the file it came from.

``python -m bench.tables.content FILE.parquet …`` prints the lines of ``data.sha256``.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import numpy as np
import pandas as pd

CHECKSUMS = Path(__file__).parent / "data.sha256"


def checksum(table: pd.DataFrame) -> str:
    """Return the SHA-256 of a table's row count, column names and cells.

    A parquet file's own bytes depend on the library that wrote it; its cells do not. Numbers count
    as float64, so the width of a column is not content.
    """
    found = hashlib.sha256(f"{len(table)}\n".encode())
    for name, column in table.items():
        if pd.api.types.is_numeric_dtype(column):
            found.update(f"number {name}\n".encode())
            found.update(_numbers(column))
        else:
            found.update(f"words {name}\n".encode())
            found.update(_words(column))
    return found.hexdigest()


def expected(name: str) -> str | None:
    """Return the committed checksum of a file, named without its ending."""
    return dict(line.split()[::-1] for line in CHECKSUMS.read_text().splitlines()).get(name)


def _numbers(column: pd.Series) -> bytes:
    values = column.to_numpy("<f8", na_value=np.nan) + 0.0  # -0.0 and 0.0 are one number,
    values[np.isnan(values)] = np.nan  # and so are all ways of writing NaN
    return values.tobytes()


def _words(column: pd.Series) -> bytes:
    """Write each level once, in the order of appearance, then the place of every cell's level."""
    places, levels = pd.factorize(column)  # a missing cell has place -1
    return "".join(f"{level}\0" for level in levels).encode() + places.astype("<i4").tobytes()


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]):
        print(f"{checksum(pd.read_parquet(path))}  {path.stem}")
