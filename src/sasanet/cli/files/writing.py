"""Tables to files: whole or not at all, and never over an existing file unless told to.

Text in CSV files is escaped where a spreadsheet would take it for a formula: cells come from
tables of unknown origin, and a formula can fetch and run things. Parquet and JSON Lines hold the
text as it is.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from sasanet.errors import InvalidInputError
from sasanet.table.formulas import escape_formula
from sasanet.table.parquet_writer import ParquetWriter
from sasanet.whole_files import check_can_make, check_can_write, replacing

if TYPE_CHECKING:
    import pandas as pd

FORMATS = (".csv", ".csv.gz", ".parquet", ".jsonl", ".jsonl.gz")


class TableWriter(Protocol):
    """Takes a table in parts."""

    def write(self, part: pd.DataFrame) -> None:
        """Add rows; every part has the same columns."""


def check_free(path: Path, force: bool, *sources: Path) -> None:
    """Refuse a place that cannot or must not be written, before any work is done."""
    check_can_write(path)
    if any(path.exists() and source.exists() and path.samefile(source) for source in sources):
        raise InvalidInputError(f"--out must not be the table that is read, got {path}.")
    if path.exists() and not force:
        raise InvalidInputError(
            f"{path} exists already; choose another --out, or add --force to replace it."
        )


def check_free_for_model(folder: Path, force: bool) -> None:
    """Refuse a directory that cannot be written, or that holds something else than a model."""
    if folder.exists() and not folder.is_dir():
        raise InvalidInputError(f"--out must be a directory, got the file {folder}.")
    check_can_make(folder)
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    if not (folder / "model.json").exists():
        raise InvalidInputError(
            f"--out must be a new or empty directory, got other files in {folder}."
        )
    if not force:
        raise InvalidInputError(
            f"{folder} holds a model already; choose another --out, or add --force to replace it."
        )


def check_format(path: Path) -> str:
    """Return which of the formats a file name asks for."""
    for ending in FORMATS:
        if path.name.lower().endswith(ending):
            return ending
    raise InvalidInputError(
        f"--out must end in {', '.join(FORMATS)}, or, for Parquet tables, name a folder, got "
        f"{path.name!r}."
    )


def is_folder(out: Path, table: Path) -> bool:
    """Tell whether --out names a folder of Parquet files, for a table that is one itself."""
    return not out.suffix and (table.is_dir() or table.name.lower().endswith(".parquet"))


@contextmanager
def open_writer(path: Path) -> Iterator[TableWriter]:
    """Yield a writer of tables; the file appears when the block ends without an error."""
    ending = check_format(path)
    with replacing(path) as draft:
        if ending == ".parquet":
            writer = ParquetWriter(draft)
            try:
                yield writer
            finally:
                writer.close()
            return
        with _open_text(draft, ending.endswith(".gz")) as file:
            yield _JsonLinesWriter(file) if ending.startswith(".jsonl") else _CsvWriter(file)


def _open_text(path: Path, compressed: bool) -> Any:
    if compressed:
        return gzip.open(path, "wt", compresslevel=3, encoding="utf-8", newline="")
    return path.open("w", encoding="utf-8", newline="")


class _CsvWriter:
    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._begun = False

    def write(self, part: pd.DataFrame) -> None:
        escaped = part.rename(columns=escape_formula)
        texts = [name for name, column in escaped.items() if column.dtype.kind not in "iufb"]
        for name in texts:
            escaped[name] = escaped[name].map(escape_formula, na_action="ignore")
        # Python before 3.13 leaves carriage returns unquoted, and readers take them for line ends.
        returns = any("\r" in str(name) for name in escaped) or any(
            escaped[name].astype(str).str.contains("\r", regex=False).any() for name in texts
        )
        quoting: Any = csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL
        escaped.to_csv(self._file, index=False, header=not self._begun, quoting=quoting)
        self._begun = True


class _JsonLinesWriter:
    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, part: pd.DataFrame) -> None:
        part.to_json(
            self._file, orient="records", lines=True, double_precision=15, force_ascii=False
        )
