"""Tables in, files out: whole or not at all, and never over an existing one unless told to.

A file is written under a temporary name beside its place and takes its place at the end, so that
whatever goes wrong leaves nothing half-written and everything that was there as it was.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from sasanet.errors import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd

FORMATS = (".csv", ".csv.gz", ".parquet", ".jsonl", ".jsonl.gz")


class Sink(Protocol):
    """Takes a table in parts."""

    def write(self, part: pd.DataFrame) -> None:
        """Add rows; every part has the same columns."""


def check_free(path: Path, force: bool, source: Path | None = None) -> None:
    """Refuse a place that cannot or must not be written, before any work is done."""
    if path.is_dir():
        raise InvalidInputError(f"--out must be a file, got {path} is a directory.")
    if not path.absolute().parent.is_dir():
        raise InvalidInputError(f"There is no directory {path.parent} for --out; make it first.")
    if source is not None and path.exists() and path.samefile(source):
        raise InvalidInputError(f"--out must not be the table that is read, got {path}.")
    if path.exists() and not force:
        raise InvalidInputError(
            f"{path} exists already; choose another --out, or add --force to replace it."
        )


def check_free_for_model(folder: Path, force: bool) -> None:
    """Refuse a directory that holds something, unless it is a model that may be replaced."""
    if folder.exists() and not folder.is_dir():
        raise InvalidInputError(f"--out must be a directory, got {folder} is a file.")
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    if not (folder / "model.json").exists():
        raise InvalidInputError(
            f"--out must be a new or empty directory, got {folder} holds other files."
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
    raise InvalidInputError(f"--out must end in {', '.join(FORMATS)}, got {path.name!r}.")


@contextmanager
def open_sink(path: Path) -> Iterator[Sink]:
    """Yield something to write tables to; the file appears when the block ends well."""
    ending = check_format(path)
    with replacing(path) as draft:
        if ending == ".parquet":
            sink = _ParquetSink(draft)
            try:
                yield sink
            finally:
                sink.close()
            return
        with _open_text(draft, ending.endswith(".gz")) as file:
            yield _JsonLinesSink(file) if ending.startswith(".jsonl") else _CsvSink(file)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary name beside a file; what is there at the end takes the file's place."""
    draft = path.with_name(f".{os.getpid()}.draft.{path.name}")  # the ending may matter
    try:
        yield draft
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _open_text(path: Path, packed: bool) -> Any:
    if packed:
        return gzip.open(path, "wt", compresslevel=3, encoding="utf-8", newline="")
    return path.open("w", encoding="utf-8", newline="")


class _CsvSink:
    def __init__(self, file: IO[str]) -> None:
        self._file, self._begun = file, False

    def write(self, part: pd.DataFrame) -> None:
        part.to_csv(self._file, index=False, header=not self._begun)
        self._begun = True


class _JsonLinesSink:
    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, part: pd.DataFrame) -> None:
        part.to_json(
            self._file, orient="records", lines=True, double_precision=15, force_ascii=False
        )


class _ParquetSink:
    """One row group per part; the first part decides the types."""

    def __init__(self, path: Path) -> None:
        from sasanet.errors import need_package

        self._pa = need_package("pyarrow", "parquet")
        self._pq = need_package("pyarrow.parquet", "parquet")
        self._path = path
        self._writer: Any = None

    def write(self, part: pd.DataFrame) -> None:
        schema = self._writer.schema if self._writer else None
        table = self._pa.Table.from_pandas(part, schema=schema, preserve_index=False)
        if self._writer is None:
            self._writer = self._pq.ParquetWriter(self._path, table.schema)
        self._writer.write_table(table)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
