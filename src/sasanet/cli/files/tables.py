"""What the rest of the command line knows of a table on disk, whatever its format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray


@dataclass(frozen=True)
class Chunk:
    """Some rows of a file: their cells, and the line (CSV) or row (Parquet) of each."""

    frame: pd.DataFrame
    places: NDArray[np.int64]
    typed: bool  # whether the cells have types of their own; otherwise they are text
    path: Path

    def where(self, position: int) -> str:
        """Return the place of a row in words."""
        kind = "row" if self.typed else "line"
        return f"in {kind} {self.places[position]} of {self.path.name}"


class Table(Protocol):
    """A table on disk."""

    path: Path
    names: tuple[str, ...]

    def chunks(self, columns: Sequence[str], n_rows: int) -> Iterator[Chunk]:
        """Yield the rows in order, at most ``n_rows`` at once, with some of the columns."""

    def share_read(self) -> float:
        """Return how much of the file has been read, from 0 to 1."""
