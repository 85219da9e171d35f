"""A path in, the cells of its table out: whole, or in chunks that are forgotten one by one.

CSV (plain or gzipped; separated by comma, semicolon, tab or bar) keeps every cell as the text it
is, so that nothing is lost before :mod:`sasanet.cli.files.column_types` decides. Parquet keeps its own types.
What cannot be read is refused in one sentence that names the place.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from reprlib import repr as short
from typing import IO, Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sasanet.errors import InvalidInputError, need_package

_SEPARATORS = (",", ";", "\t", "|")
_ROWS_AT_ONCE = 10_000
_FOREIGN = {  # how files of other kinds begin, and what to do with them
    b"PK\x03\x04": "a spreadsheet or a zip archive; save the table as CSV",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet; save the table as CSV",
    b"\xff\xfe": "text in UTF-16; add --encoding utf-16 or save it as UTF-8",
    b"\xfe\xff": "text in UTF-16; add --encoding utf-16 or save it as UTF-8",
    b"%PDF": "a PDF; save the table as CSV",
    b"\x89HDF": "an HDF5 file; save the table as CSV or Parquet",
}


@dataclass(frozen=True)
class Chunk:
    """Some rows of a file: their cells, and the line (CSV) or row (Parquet) each stands in."""

    frame: pd.DataFrame
    places: NDArray[np.int64]
    typed: bool  # whether the cells have types of their own; otherwise they are text
    path: Path

    def where(self, position: int) -> str:
        """Say where a row stands."""
        kind = "row" if self.typed else "line"
        return f"in {kind} {self.places[position]} of {self.path.name}"


class Table(Protocol):
    """A table on disk."""

    path: Path
    names: tuple[str, ...]

    def chunks(self, columns: Sequence[str], n_rows: int) -> Iterator[Chunk]:
        """Yield the rows in order, at most so many at once, with some of the columns."""

    def share_read(self) -> float:
        """Return how much of the file is behind, from 0 to 1."""


def open_table(path: Path, encoding: str = "utf-8") -> Table:
    """Look at a file and return the table in it; no rows are read yet."""
    if not path.exists():
        raise InvalidInputError(f"There is no file {path}; check its name and the directory.")
    if not path.is_file():
        raise InvalidInputError(f"A table must be a file, got {path} is a directory.")
    with path.open("rb") as file:
        start = file.read(4)
    if not start:
        raise InvalidInputError(f"A table must have a header and rows, got {path} is empty.")
    table: Table = ParquetTable(path) if start == b"PAR1" else CsvTable(path, start, encoding)
    twice = [name for name, count in Counter(table.names).items() if count > 1]
    if twice:
        rename = "rename one of each"
        raise InvalidInputError(
            f"Column names must be unique, got twice in {path}: {short(twice)}; {rename}."
        )
    return table


def read_whole(table: Table, columns: Sequence[str], tick: Callable[[float], None]) -> Chunk:
    """Return all rows of a table, with some of its columns."""
    parts = []
    for part in table.chunks(columns, _ROWS_AT_ONCE):
        parts.append(part)
        tick(table.share_read())
    if not parts:
        raise InvalidInputError(
            f"A table must have rows below its header, got {table.path} has none."
        )
    frame = pd.concat([part.frame for part in parts], ignore_index=True)
    places = np.concatenate([part.places for part in parts])
    return Chunk(frame, places, parts[0].typed, table.path)


class CsvTable:
    """A CSV file: its cells are text."""

    def __init__(self, path: Path, start: bytes, encoding: str) -> None:
        self.path, self.encoding, self.gzipped = path, encoding, start[:2] == b"\x1f\x8b"
        try:
            standard = codecs.lookup(encoding).name in ("utf-8", "ascii")
        except LookupError:
            raise InvalidInputError(
                f"--encoding must name an encoding such as utf-8 or latin-1, got {encoding!r}."
            ) from None
        if standard:
            self.encoding = "utf-8-sig"  # a byte order mark is no part of the first name
            for foreign, what in _FOREIGN.items():
                if start.startswith(foreign):
                    raise InvalidInputError(f"{path} must be CSV or Parquet, got it is {what}.")
        self._size = path.stat().st_size
        self._raw: IO[bytes] | None = None
        self.separator, self._header = self._read_header()
        # A column without a name is the row labels of another program: not part of the table.
        self.names = tuple(name for name in self._header if name.strip())

    def _read_header(self) -> tuple[str, list[str]]:
        with self._lines() as lines:
            first = next((line for line in lines if line.strip()), "")
            if not first:
                raise InvalidInputError(
                    f"A table must have a header and rows, got {self.path} is blank."
                )
        rows = {mark: next(csv.reader([first], delimiter=mark)) for mark in _SEPARATORS}
        separator = max(_SEPARATORS, key=lambda mark: len(rows[mark]))
        if all(_is_number(name) for name in rows[separator]):
            raise InvalidInputError(
                f"The first line of {self.path} must name the columns, got it holds numbers "
                f"({short(rows[separator])}); add a line with names."
            )
        return separator, rows[separator]

    def chunks(self, columns: Sequence[str], n_rows: int) -> Iterator[Chunk]:
        """Yield the rows in order; a row with too many or too few cells is refused."""
        wanted = [self._header.index(name) for name in columns]
        rows: list[list[str]] = []
        places: list[int] = []
        with self._lines() as lines:
            reader = csv.reader(lines, delimiter=self.separator, strict=True)
            try:
                filled = (row for row in reader if not _is_blank(row))
                next(filled)  # the header
                for row in filled:
                    if len(row) != len(self._header):
                        raise self._ragged(reader.line_num, len(row))
                    rows.append(row)
                    places.append(reader.line_num)
                    if len(rows) == n_rows:
                        yield self._chunk(rows, places, columns, wanted)
                        rows, places = [], []
            except csv.Error as error:
                raise InvalidInputError(
                    f"{self.path} must be CSV, got {error} in line {reader.line_num}; "
                    "a quotation mark may be missing there."
                ) from None
        if rows:
            yield self._chunk(rows, places, columns, wanted)

    def _chunk(
        self, rows: list[list[str]], places: list[int], columns: Sequence[str], wanted: list[int]
    ) -> Chunk:
        by_column = list(zip(*rows, strict=True))
        cells = {name: by_column[j] for name, j in zip(columns, wanted, strict=True)}
        frame = pd.DataFrame(cells, dtype="str", index=range(len(rows)))
        return Chunk(frame, np.array(places), typed=False, path=self.path)

    def _ragged(self, line: int, cells: int) -> InvalidInputError:
        return InvalidInputError(
            f"Every row of {self.path} must have {len(self._header)} cells, as its header has, "
            f"got line {line} has {cells}; add or remove a separator there."
        )

    @contextmanager
    def _lines(self) -> Iterator[Iterator[str]]:
        """Open the file and yield its decoded lines."""
        with self.path.open("rb") as raw:
            self._raw = raw
            packed: Any = gzip.GzipFile(fileobj=raw) if self.gzipped else raw
            try:
                with io.TextIOWrapper(packed, encoding=self.encoding, newline="") as text:
                    yield self._checked(text)
            finally:
                self._raw = None

    def _checked(self, lines: IO[str]) -> Iterator[str]:
        number = 0
        try:
            for number, line in enumerate(lines, start=1):
                if "\0" in line:
                    raise InvalidInputError(
                        f"{self.path} must be CSV or Parquet, got line {number} holds "
                        "characters of no text; save the table as CSV."
                    )
                yield line
        except UnicodeError as error:
            byte = error.object[error.start] if isinstance(error, UnicodeDecodeError) else 0
            raise InvalidInputError(
                f"{self.path} must be text in {self.encoding.removesuffix('-sig')}, got byte "
                f"{byte:#04x} after line {number}; save it as UTF-8, or add --encoding latin-1 "
                "or what it was written in."
            ) from None
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise InvalidInputError(
                f"{self.path} must be a complete gzip file, got it is damaged after line "
                f"{number}; fetch it again."
            ) from None

    def share_read(self) -> float:
        """Return how much of the file is behind, from 0 to 1."""
        return self._raw.tell() / self._size if self._raw and self._size else 1.0


class ParquetTable:
    """A Parquet file: its cells have types."""

    def __init__(self, path: Path) -> None:
        self.path, self._done = path, 0
        with self._file() as file:
            self._rows = file.metadata.num_rows
            names = map(str, file.schema_arrow.names)
            # pandas writes nameless row labels like this: not part of the table.
            self.names = tuple(name for name in names if not name.startswith("__index_level_"))

    @contextmanager
    def _file(self) -> Iterator[Any]:
        pa, pq = need_package("pyarrow", "parquet"), need_package("pyarrow.parquet", "parquet")
        try:
            with pq.ParquetFile(self.path) as file:
                yield file
        except (pa.ArrowException, OSError) as error:
            raise InvalidInputError(
                f"{self.path} must be a Parquet file, got {str(error).splitlines()[0]}"
            ) from None

    def chunks(self, columns: Sequence[str], n_rows: int) -> Iterator[Chunk]:
        """Yield the rows in order."""
        self._done = 0
        with self._file() as file:
            for batch in file.iter_batches(n_rows, columns=list(columns)):
                frame = batch.to_pandas(ignore_metadata=True)[
                    list(columns)
                ]  # no column is an index
                places = np.arange(self._done, self._done + len(frame)) + 1
                self._done += len(frame)
                yield Chunk(frame, places, typed=True, path=self.path)

    def share_read(self) -> float:
        """Return how much of the file is behind, from 0 to 1."""
        return self._done / self._rows if self._rows else 1.0


def _is_blank(row: list[str]) -> bool:
    return not row or (len(row) == 1 and not row[0].strip())


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
