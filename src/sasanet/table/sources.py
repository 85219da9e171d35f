"""Tables that may be larger than memory: one reader, part by part.

A source is a Parquet file or folder, an Arrow dataset, table or record-batch reader, a DataFrame,
or an iterable of DataFrames. It is read in parts of bounded size; the same source gives the same
parts every time, so that work can go on where it stopped. A row group of a Parquet file is one
part, a very large one several.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

import pandas as pd

from sasanet.errors import InvalidInputError, SasanetError, need_package
from sasanet.table.reading import TableTypeError, arrow_to_pandas

ROWS_PER_PART = 131_072
_CELLS_AT_ONCE = 2**22  # 32 MB
_INDEX = "__index_level_"  # how pandas names row labels without a name: not part of the table
_KINDS = (
    "a Parquet file or folder, a pyarrow Dataset, Table or RecordBatchReader, a DataFrame, or an "
    "iterable of DataFrames"
)


class Part(Protocol):
    """A stretch of a source's rows, which can be read by itself, also in another process."""

    @property
    def first_row(self) -> int:
        """How many rows of the source come before it."""
        ...

    @property
    def n_rows(self) -> int:
        """How many rows it has."""
        ...

    def frames(self, columns: Sequence[str] | None, n_rows: int) -> Iterator[pd.DataFrame]:
        """Yield its rows in order, at most so many at once, with some or all of the columns."""
        ...


@dataclass(frozen=True)
class Source:
    """A table in parts.

    ``names`` are the columns, ``n_rows`` and ``n_parts`` count: ``None`` where only reading tells.
    ``identity`` is JSON-able and tells files apart by name and size; it is empty for tables in
    memory. A source that is ``once`` can be read a single time, as generators are.
    """

    parts: Callable[[], Iterator[Part]]
    names: tuple[str, ...] | None
    n_rows: int | None = None
    n_parts: int | None = None
    identity: tuple[Any, ...] = ()
    once: bool = False

    def frames(self, columns: Sequence[str] | None, n_rows: int) -> Iterator[pd.DataFrame]:
        """Yield all rows in order, at most so many at once, with some or all of the columns."""
        for part in self.parts():
            yield from part.frames(columns, n_rows)

    def select(self, columns: Sequence[str]) -> Source:
        """Return the same rows with some of the columns; no others are read."""

        def parts() -> Iterator[Part]:
            return (_Selected(part, tuple(columns)) for part in self.parts())

        return replace(self, parts=parts, names=tuple(columns))


@dataclass(frozen=True)
class _Selected:
    """Some columns of a part."""

    part: Part
    columns: tuple[str, ...]

    @property
    def first_row(self) -> int:
        return self.part.first_row

    @property
    def n_rows(self) -> int:
        return self.part.n_rows

    def frames(self, columns: Sequence[str] | None, n_rows: int) -> Iterator[pd.DataFrame]:
        return self.part.frames(self.columns if columns is None else columns, n_rows)


def frames_of(given: Any, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
    """Yield the rows of a source with some of its columns, part by part.

    Examples
    --------
    >>> parts = [pd.DataFrame({"age": [20], "y": [1]}), pd.DataFrame({"age": [30], "y": [0]})]
    >>> [frame["age"].tolist() for frame in frames_of(parts, ["age"])]
    [[20], [30]]
    """
    some, n_rows = False, max(1, min(ROWS_PER_PART, _CELLS_AT_ONCE // max(1, len(columns))))
    for frame in open_source(given).frames(columns, n_rows):
        some = True
        yield frame
    if not some:
        raise InvalidInputError("A source must have rows, got Found array with 0 sample(s).")


def is_source(given: Any) -> bool:
    """Tell whether this is read in parts only: a path, a dataset, a reader, several DataFrames."""
    if isinstance(given, Source | str | os.PathLike):
        return True
    if _arrow_kind(given) in ("Dataset", "Reader"):
        return True
    if isinstance(given, list | tuple):
        return bool(given) and isinstance(given[0], pd.DataFrame)
    return isinstance(given, Iterator)


def open_source(given: Any, rows_per_part: int | None = None) -> Source:
    """Return a table in parts, whatever it is; no rows are read yet.

    A row group of a file with more than ``rows_per_part`` rows is divided (by default 131,072).

    Examples
    --------
    >>> source = open_source([pd.DataFrame({"age": [20, 30]}), pd.DataFrame({"age": [40]})])
    >>> [part.n_rows for part in source.parts()]
    [2, 1]
    """
    rows_per_part = rows_per_part or ROWS_PER_PART
    if isinstance(given, Source):
        return given
    if isinstance(given, str | os.PathLike):
        return _open_path(Path(given), rows_per_part)
    kind = _arrow_kind(given)
    if kind == "Dataset":
        return _open_dataset(given, rows_per_part)
    if kind == "Table":
        names = tuple(map(str, given.column_names))
        return Source(lambda: _slices(_table_frames(given)), names, *_sizes(given.num_rows))
    if kind == "Reader":
        frames = (_to_frame(batch) for batch in given)
        return Source(lambda: _slices(frames), tuple(given.schema.names), once=True)
    if isinstance(given, pd.DataFrame):
        names = tuple(map(str, given.columns))
        return Source(lambda: _slices([given]), names, *_sizes(len(given)))
    if isinstance(given, Iterable) and not hasattr(given, "__array__"):
        once = isinstance(given, Iterator)
        return Source(lambda: _slices(map(_check_frame, given)), None, once=once)
    raise TableTypeError(f"A source must be {_KINDS}, got {type(given).__name__}.")


def _arrow_kind(given: Any) -> str:
    """Return what kind of Arrow object this is, or ''; pyarrow is not loaded for it."""
    names = {f"{cls.__module__}.{cls.__name__}" for cls in type(given).__mro__}
    homes = {"Dataset": "pyarrow._dataset.Dataset", "Table": "pyarrow.lib.Table"}
    homes["Reader"] = "pyarrow.lib.RecordBatchReader"
    return next((kind for kind, home in homes.items() if home in names), "")


def _check_frame(given: Any) -> pd.DataFrame:
    if not isinstance(given, pd.DataFrame):
        raise TableTypeError(
            f"A source must be {_KINDS}, got an iterable of {type(given).__name__}."
        )
    return given


# --- tables in memory ----------------------------------------------------------------------------


@dataclass(frozen=True)
class _FramePart:
    """Rows in memory."""

    frame: pd.DataFrame
    first_row: int

    @property
    def n_rows(self) -> int:
        return len(self.frame)

    def frames(self, columns: Sequence[str] | None, n_rows: int) -> Iterator[pd.DataFrame]:
        frame = self.frame
        if columns is not None:
            check_has_columns(columns, [str(label) for label in frame.columns], "the source")
            frame = frame.set_axis([str(label) for label in frame.columns], axis=1)[list(columns)]
        for start in range(0, len(frame), n_rows):
            yield frame.iloc[start : start + n_rows].reset_index(drop=True)


def _slices(frames: Iterable[pd.DataFrame]) -> Iterator[Part]:
    """Yield parts of bounded size; each table begins a new one."""
    first = 0
    for frame in frames:
        for start in range(0, len(frame), ROWS_PER_PART):
            part = _FramePart(frame.iloc[start : start + ROWS_PER_PART], first)
            yield part
            first += part.n_rows


def _sizes(n_rows: int) -> tuple[int, int]:
    """Return how many rows and parts a table in memory has."""
    return n_rows, math.ceil(n_rows / ROWS_PER_PART)


def _table_frames(table: Any) -> Iterator[pd.DataFrame]:
    for start in range(0, table.num_rows, ROWS_PER_PART):
        yield _to_frame(table.slice(start, ROWS_PER_PART))


def _to_frame(batch: Any) -> pd.DataFrame:
    # Without pandas' metadata no column is an index.
    return arrow_to_pandas(batch.replace_schema_metadata(None))


# --- files ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _FilePart:
    """Rows of one row group of a Parquet file, or of a whole file of another format."""

    fragment: Any
    schema: Any
    group: int | None
    first_row: int
    start: int  # rows of the group before it
    n_rows: int

    def frames(self, columns: Sequence[str] | None, n_rows: int) -> Iterator[pd.DataFrame]:
        names = list(columns if columns is not None else _names(self.schema))
        check_has_columns(names, _names(self.schema), self.fragment.path)
        skipped, left = 0, self.n_rows
        with _one_sentence(self.fragment.path):
            for batch in self._batches(names, n_rows):
                offset = min(max(0, self.start - skipped), batch.num_rows)
                skipped += offset
                piece = batch.slice(offset, left)
                left -= piece.num_rows
                if piece.num_rows:
                    yield _to_frame(piece)
                if not left:
                    return

    def _batches(self, names: list[str], n_rows: int) -> Iterator[Any]:
        if self.group is None:
            yield from self.fragment.to_batches(
                schema=self.schema, columns=names, batch_size=n_rows, fragment_readahead=0
            )
            return
        parquet = need_package("pyarrow.parquet", "parquet")
        with self.fragment.open() as opened, parquet.ParquetFile(opened) as file:
            stored = [name for name in names if name in file.schema_arrow.names]
            for batch in file.iter_batches(n_rows, [self.group], stored):
                yield _conform(batch, names, self)


def _conform(batch: Any, names: list[str], part: _FilePart) -> Any:
    """Return a batch in the dataset's types; the folders' names and nulls fill what it lacks."""
    pa, dataset = need_package("pyarrow", "parquet"), need_package("pyarrow.dataset", "parquet")
    keys = dataset.get_partition_keys(part.fragment.partition_expression)
    columns = []
    for name in names:
        kind = part.schema.field(name).type
        if name in batch.schema.names:
            found = batch.column(batch.schema.names.index(name))
            columns.append(found if found.type == kind else found.cast(kind))
        elif name in keys:
            columns.append(pa.repeat(pa.scalar(keys[name]), batch.num_rows).cast(kind))
        else:
            columns.append(pa.nulls(batch.num_rows, kind))
    return pa.RecordBatch.from_arrays(columns, names=names)


def _open_path(path: Path, rows_per_part: int) -> Source:
    if not path.exists():
        raise InvalidInputError(f"There is no file or folder {path}; check its name.")
    dataset = need_package("pyarrow.dataset", "parquet")
    files = [str(path)] if path.is_file() else _parquet_files(path)
    with _one_sentence(path):
        found = dataset.dataset(
            files, format="parquet", partitioning="hive", partition_base_dir=str(path)
        )
        _names(found.schema)  # damaged ones are found when they are read
    return _open_dataset(found, rows_per_part)


def _parquet_files(folder: Path) -> list[str]:
    """Return the Parquet files below a folder, but for hidden and unfinished ones."""
    found = [
        file
        for file in sorted(folder.rglob("*.parquet"))
        if not any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)
    ]
    if not found:
        raise InvalidInputError(
            f"A folder must hold Parquet files (*.parquet), got none in the directory {folder}."
        )
    return list(map(str, found))


def _open_dataset(dataset: Any, rows_per_part: int) -> Source:
    names = tuple(_names(dataset.schema))
    try:
        fragments = list(dataset.get_fragments())
    except ValueError:  # a filtered or projected dataset has none of its own
        return _scanned(dataset, names)
    if not all(hasattr(fragment, "path") for fragment in fragments):  # tables in memory
        return _scanned(dataset, names)
    fragments.sort(key=lambda fragment: fragment.path)
    parts = tuple(_file_parts(fragments, dataset.schema, rows_per_part))
    files = [fragment.filesystem.get_file_info(fragment.path) for fragment in fragments]
    identity = [(file.path, file.size) for file in files]
    n_rows = sum(part.n_rows for part in parts)
    return Source(lambda: iter(parts), names, n_rows, len(parts), tuple(identity))


def _scanned(dataset: Any, names: tuple[str, ...]) -> Source:
    def parts() -> Iterator[Part]:
        return _slices(_to_frame(batch) for batch in dataset.to_batches(columns=list(names)))

    return Source(parts, names)


def _file_parts(fragments: Iterable[Any], schema: Any, rows_per_part: int) -> Iterator[_FilePart]:
    first = 0
    for fragment in fragments:
        with _one_sentence(fragment.path):
            groups = getattr(fragment, "row_groups", None)
            sizes = [fragment.count_rows()] if groups is None else [g.num_rows for g in groups]
        for index, size in enumerate(sizes):
            group = None if groups is None else groups[index].id
            for start in range(0, size, rows_per_part):
                n_rows = min(rows_per_part, size - start)
                yield _FilePart(fragment, schema, group, first, start, n_rows)
                first += n_rows


def _names(schema: Any) -> list[str]:
    return [str(name) for name in schema.names if not str(name).startswith(_INDEX)]


def check_has_columns(wanted: Iterable[str], there: Sequence[str], where: object) -> None:
    """Refuse a table that lacks a column."""
    missing = [name for name in wanted if name not in there]
    if missing:
        some = ", ".join(map(repr, chain(there[:5], ["…"] if len(there) > 5 else [])))
        raise InvalidInputError(
            f"{where} must have the column {missing[0]!r}, got the columns {some}; name one of "
            "these, or add it."
        )


@contextmanager
def _one_sentence(path: object) -> Iterator[None]:
    """Say what is to be done about a damaged file, of which Arrow raises errors of many kinds."""
    try:
        yield
    except SasanetError:
        raise
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise InvalidInputError(
            f"{path} must be a whole Parquet file, got: {reason}; fetch or write it again."
        ) from None
