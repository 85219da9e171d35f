"""CSV files: plain or gzipped; separated by comma, semicolon, tab or bar; in any text encoding.

Every cell stays the text it is, so that nothing is lost before
:mod:`sasanet.cli.files.column_types` decides what it means.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from reprlib import repr as short
from typing import IO, Any

import numpy as np
import pandas as pd

from sasanet.cli.files.tables import Chunk
from sasanet.errors import InvalidInputError

_SEPARATORS = (",", ";", "\t", "|")
# Of one cell. Python's own limit of 131,072 is less than some headers and notes have; a bound there
# must be, or a missing quotation mark would take the rest of a large file into memory.
_MOST_CHARACTERS = 1 << 24
# Of one line, for the same reason: a small gzip file may hold a line of gigabytes.
_LONGEST_LINE = 1 << 25
_FOREIGN = {  # how files of other kinds begin, and what to do with them
    b"PK\x03\x04": "a spreadsheet or a zip archive; save the table as CSV",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet; save the table as CSV",
    b"\xff\xfe": "text in UTF-16; add --encoding utf-16 or save it as UTF-8",
    b"\xfe\xff": "text in UTF-16; add --encoding utf-16 or save it as UTF-8",
    b"%PDF": "a PDF; save the table as CSV",
    b"\x89HDF": "an HDF5 file; save the table as CSV or Parquet",
}


class CsvTable:
    """A CSV file: its cells are text."""

    def __init__(self, path: Path, start: bytes, encoding: str) -> None:
        csv.field_size_limit(_MOST_CHARACTERS)
        self.path = path
        self.encoding = _check_encoding(encoding)
        if self.encoding == "utf-8-sig":
            _refuse_foreign(path, start)
        self._gzipped = start[:2] == b"\x1f\x8b"
        self._size = path.stat().st_size
        self._raw: IO[bytes] | None = None
        self.separator, self._header = self._read_header()
        # A column without a name holds the row labels of another program: not part of the table.
        self.names = tuple(name for name in self._header if name.strip())

    def _read_header(self) -> tuple[str, list[str]]:
        """Return the separator that gives the most names, and the names."""
        with self._lines() as lines:
            first = next((line for line in lines if line.strip()), None)
            if first is None:
                raise InvalidInputError(
                    f"A table must have a header and rows, got only blank lines in {self.path}."
                )
            headers = _parse_header(first, lines)
        if not headers:
            raise self._not_csv("a header that cannot be parsed", 1)
        separator = max(headers, key=lambda mark: len(headers[mark]))
        names = headers[separator]
        if all(_is_number(name) for name in names):
            raise InvalidInputError(
                f"The first line of {self.path} must name the columns, got the numbers "
                f"{short(names)}; add a line with names."
            )
        return separator, names

    def chunks(self, columns: Sequence[str], n_rows: int) -> Iterator[Chunk]:
        """Yield the rows in order; a row with too many or too few cells is refused."""
        wanted = [self._header.index(name) for name in columns]
        rows: list[list[str]] = []
        places: list[int] = []
        for place, row in self._rows():
            rows.append(row)
            places.append(place)
            if len(rows) == n_rows:
                yield self._chunk(rows, places, columns, wanted)
                rows, places = [], []
        if rows:
            yield self._chunk(rows, places, columns, wanted)

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the line and the cells of every row below the header."""
        with self._lines() as lines:
            reader = csv.reader(lines, delimiter=self.separator, strict=True)
            try:
                filled = (row for row in reader if not _is_blank(row))
                next(filled)  # the header
                for row in filled:
                    if len(row) != len(self._header):
                        raise self._ragged(reader.line_num, len(row))
                    yield reader.line_num, row
            except csv.Error as error:
                raise self._not_csv(str(error), reader.line_num) from None

    def _chunk(
        self, rows: list[list[str]], places: list[int], columns: Sequence[str], wanted: list[int]
    ) -> Chunk:
        by_column = list(zip(*rows, strict=True))
        cells = {name: by_column[j] for name, j in zip(columns, wanted, strict=True)}
        frame = pd.DataFrame(cells, dtype="str", index=range(len(rows)))
        return Chunk(frame, np.array(places), typed=False, path=self.path)

    def _ragged(self, line: int, n_cells: int) -> InvalidInputError:
        return InvalidInputError(
            f"Every row of {self.path} must have {len(self._header)} cells, as its header has, "
            f"got {n_cells} in line {line}; add or remove a separator there."
        )

    def _not_csv(self, what: str, line: int) -> InvalidInputError:
        return InvalidInputError(
            f"{self.path} must be CSV, got {what} in line {line}; "
            "a quotation mark may be missing there."
        )

    @contextmanager
    def _lines(self) -> Iterator[Iterator[str]]:
        """Open the file and yield its decoded lines."""
        with self.path.open("rb") as raw:
            self._raw = raw
            unpacked: Any = gzip.GzipFile(fileobj=raw) if self._gzipped else raw
            try:
                with io.TextIOWrapper(unpacked, encoding=self.encoding, newline="") as text:
                    yield self._decoded(text)
            finally:
                self._raw = None

    def _decoded(self, lines: IO[str]) -> Iterator[str]:
        number = 0
        try:
            for number, line in enumerate(_whole_lines(lines), start=1):
                if len(line) > _LONGEST_LINE:
                    raise InvalidInputError(
                        f"{self.path} must have lines of at most {_LONGEST_LINE:,} characters, got "
                        f"a longer one in line {number}; a line end may be missing there."
                    )
                if "\0" in line:
                    raise InvalidInputError(
                        f"{self.path} must be CSV or Parquet, got a zero byte in line {number}; "
                        "save the table as CSV."
                    )
                yield line
        except UnicodeError as error:
            raise self._not_decoded(error, number) from None
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise InvalidInputError(
                f"{self.path} must be a whole gzip file, got damaged data after line {number}; "
                "fetch it again."
            ) from None

    def _not_decoded(self, error: UnicodeError, number: int) -> InvalidInputError:
        found = "other bytes"
        if isinstance(error, UnicodeDecodeError) and error.start < len(error.object):
            found = f"byte {error.object[error.start]:#04x}"
        return InvalidInputError(
            f"{self.path} must be text in {self.encoding.removesuffix('-sig')}, got {found} after "
            f"line {number}; save it as UTF-8, or name its encoding, such as --encoding latin-1."
        )

    def share_read(self) -> float:
        """Return how much of the file has been read, from 0 to 1."""
        return self._raw.tell() / self._size if self._raw and self._size else 1.0


def _whole_lines(lines: IO[str]) -> Iterator[str]:
    """Yield lines; of one that is too long, only as much as shows it."""
    while line := lines.readline(_LONGEST_LINE + 1):
        yield line


def _check_encoding(encoding: str) -> str:
    """Return the encoding to open files with."""
    try:
        "a".encode(encoding)
        b"".decode(encoding)
        if codecs.lookup(encoding).name in ("idna", "punycode"):
            raise LookupError("made for names of domains, of which case does not matter")
    except (LookupError, ValueError):  # unknown, or made for other things than text
        raise InvalidInputError(
            f"--encoding must name an encoding of text, such as utf-8 or latin-1, got {encoding!r}."
        ) from None
    if codecs.lookup(encoding).name in ("utf-8", "ascii"):
        return "utf-8-sig"  # a byte order mark is no part of the first name
    return encoding


def _refuse_foreign(path: Path, start: bytes) -> None:
    for foreign, what in _FOREIGN.items():
        if start.startswith(foreign):
            raise InvalidInputError(f"{path} must be CSV or Parquet, got {what}.")


def _parse_header(first: str, rest: Iterator[str]) -> dict[str, list[str]]:
    """Return the names that each separator gives; a quoted name may hold line breaks."""
    seen = [first]

    def lines() -> Iterator[str]:
        yield from seen
        for line in rest:
            seen.append(line)
            yield line

    found = {}
    for mark in _SEPARATORS:
        try:
            found[mark] = next(csv.reader(lines(), delimiter=mark, strict=True))
        except (csv.Error, StopIteration):
            continue
    return found


def _is_blank(row: list[str]) -> bool:
    return not row or (len(row) == 1 and not row[0].strip())


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
