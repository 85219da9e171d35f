"""A folder of Parquet files, one for each part of a source, that is filled by all cores.

Each file is written whole or not at all, so a folder whose work was interrupted is finished by the
same call: parts that are there are left as they are. ``_sasanet.json`` says what the folder is
made from, and ``_SUCCESS`` appears when nothing is missing.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import joblib
import numpy as np
import pandas as pd

from sasanet.checksums import pack_weights, read_json, seal
from sasanet.errors import InvalidInputError, need_package, warn_user
from sasanet.scale.output_columns import ROW
from sasanet.scale.work import Work, rows_at_once
from sasanet.table.parquet_writer import ParquetWriter
from sasanet.table.sources import Part, Source, check_has_columns
from sasanet.whole_files import check_can_make, remove_stale_drafts, replacing, write_whole

FORMAT = 1
NOTE, DONE = "_sasanet.json", "_SUCCESS"
_FEW_ROWS = 20_000  # done before another process has started
_KEPT_WARNINGS = 3  # of one kind: every batch may have its own


@dataclass(frozen=True)
class WrittenParts:
    """What a call has written, and what it found already written."""

    folder: Path
    n_rows: int
    n_parts: int
    n_resumed: int  # parts of an earlier call, left as they were


@dataclass(frozen=True)
class Job:
    """What is to be done with every part of a source."""

    model: Any
    work: Work
    keep: tuple[str, ...]  # columns of the source to copy
    folder: Path

    def path(self, index: int) -> Path:
        """Return the file of a part."""
        return self.folder / f"part-{index:06d}.parquet"


def write_parts(
    job: Job, source: Source, n_jobs: int, tick: Callable[[int], object] = int
) -> WrittenParts:
    """Write every part that is not there yet; ``tick`` gets the rows done so far."""
    _check_columns(job, source)
    _begin(job, source)
    n_rows = n_parts = n_resumed = 0
    for rows, resumed in _finished(job, source, n_jobs):
        n_rows, n_parts, n_resumed = n_rows + rows, n_parts + 1, n_resumed + resumed
        tick(n_rows)
    if not n_rows:
        raise InvalidInputError("A source must have rows, got none; check what it was made from.")
    write_whole(job.folder / DONE, b"")
    return WrittenParts(job.folder, n_rows, n_parts, n_resumed)


def _finished(job: Job, source: Source, n_jobs: int) -> Iterator[tuple[int, bool]]:
    """Yield for every part how many rows it has, and whether it was there already."""
    resumed: list[int] = []

    def missing() -> Iterator[tuple[int, Part]]:
        for index, part in enumerate(source.parts()):
            if _is_there(job.path(index), part):
                resumed.append(part.n_rows)
            else:
                yield index, part

    written = _alone(job, missing()) if n_jobs == 1 else _together(job, missing(), n_jobs)
    for rows in written:
        yield rows, False
    yield from ((rows, True) for rows in resumed)


def _alone(job: Job, parts: Iterator[tuple[int, Part]]) -> Iterator[int]:
    for index, part in parts:
        yield _write_part(job, index, part)


def _together(job: Job, parts: Iterator[tuple[int, Part]], n_jobs: int) -> Iterator[int]:
    """Write parts in processes of one thread each, which load the model once."""
    seen: dict[str, None] = {}
    with TemporaryDirectory(prefix="sasanet-") as folder:
        file = Path(folder) / "job"
        joblib.dump(job, file)
        with joblib.parallel_config("loky", inner_max_num_threads=1):
            pool = joblib.Parallel(
                n_jobs, return_as="generator_unordered", pre_dispatch=2 * n_jobs, max_nbytes=None
            )
            calls = (joblib.delayed(_write_apart)(file, *part) for part in parts)
            for rows, noted in pool(calls):
                for kind, text in noted:
                    if text not in seen and len(seen) < _KEPT_WARNINGS:
                        seen[text] = None
                        warn_user(text, kind)
                yield rows


def _write_apart(file: Path, index: int, part: Part) -> tuple[int, list[tuple[type[Warning], str]]]:
    """Write one part in a process of its own; warnings are handed back to the caller's."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rows = _write_part(_load_job(file), index, part)
    ours = [note for note in caught if note.category.__module__ == "sasanet.errors"]
    return rows, [(note.category, str(note.message)) for note in ours]


@lru_cache(maxsize=1)
def _load_job(file: Path) -> Job:
    job: Job = joblib.load(file)  # written by this very call, in a folder of its own
    return job


def _write_part(job: Job, index: int, part: Part) -> int:
    names = list(job.model.encoder_.names)
    wanted = list(dict.fromkeys([*names, *job.keep]))
    done = part.first_row
    with replacing(job.path(index)) as draft:
        writer = ParquetWriter(draft)
        try:
            for frame in part.frames(wanted, rows_at_once(job.model)):
                rows = pd.DataFrame({ROW: np.arange(done + 1, done + len(frame) + 1)})
                rows = pd.concat([rows, frame[list(job.keep)]], axis=1)
                writer.write(job.work.frame(job.model, frame[names], rows))
                done += len(frame)
        finally:
            writer.close()
    return part.n_rows


def _is_there(path: Path, part: Part) -> bool:
    """Tell whether a part was written before, and refuse one of other rows."""
    if not path.exists():
        return False
    parquet, pa = need_package("pyarrow.parquet", "parquet"), need_package("pyarrow", "parquet")
    try:
        n_rows = parquet.read_metadata(path).num_rows
    except (pa.ArrowException, OSError):  # damaged since: write it anew
        return False
    if n_rows != part.n_rows:
        raise InvalidInputError(
            f"{path.name} must have the {part.n_rows} rows of its part of the source, got "
            f"{n_rows}: the folder was made from another source; choose another one."
        )
    return True


def _check_columns(job: Job, source: Source) -> None:
    """Refuse a source without the model's columns, and copies that would hide what is written."""
    if source.names is not None:
        check_has_columns([*job.model.encoder_.names, *job.keep], source.names, "The source")
    if hidden := set(job.keep) & {ROW, *job.work.columns(job.model)}:
        raise InvalidInputError(
            f"keep must not name columns that are written, got {min(hidden)!r}; rename it first."
        )


def _begin(job: Job, source: Source) -> None:
    """Note in the folder what it is made from, or refuse one made from something else."""
    note = json.loads(json.dumps(_describe(job, source)))
    if job.folder.exists() and not job.folder.is_dir():
        raise InvalidInputError(f"out must be a folder, got the file {job.folder}.")
    check_can_make(job.folder)
    job.folder.mkdir(parents=True, exist_ok=True)
    remove_stale_drafts(job.folder, NOTE)  # of a call that was killed before it noted anything
    if (job.folder / NOTE).exists():
        _compare(note, job.folder)
    elif any(job.folder.iterdir()):
        raise InvalidInputError(
            f"out must be a new or empty folder, or one to go on with, got other files in "
            f"{job.folder}; choose another one."
        )
    else:
        write_whole(job.folder / NOTE, json.dumps(note, indent=1).encode())


def _compare(note: dict[str, Any], folder: Path) -> None:
    try:
        before = dict(read_json((folder / NOTE).read_text("utf-8")))
    except (ValueError, TypeError):
        before = {}  # damaged: nothing can be said for it
    other = [key for key in note if note[key] != before.get(key)]
    if other:
        raise InvalidInputError(
            f"{folder} must have been begun with the same {', '.join(note)} to go on with it, got "
            f"another {' and '.join(other)}; choose another folder."
        )


def _describe(job: Job, source: Source) -> dict[str, Any]:
    learned = seal({"columns": job.model.encoder_.to_dict(), "scale": job.model.target_.scale})
    return {
        "format": FORMAT,
        "work": {**job.work.to_dict(), "keep": job.keep},
        "model": [pack_weights(job.model.network_)[1], learned],
        "source": source.identity,
    }


def clear(folder: Path) -> None:
    """Empty a folder that an earlier call began; other folders are left as they are."""
    if (folder / NOTE).exists():
        for path in (*folder.glob("part-*.parquet"), folder / DONE, folder / NOTE):
            path.unlink(missing_ok=True)


def count_jobs(given: int | None, source: Source) -> int:
    """Return how many processes to use: one per core, but for small tables only this one."""
    if given is not None and (isinstance(given, bool) or not isinstance(given, int) or given < 1):
        raise InvalidInputError(f"n_jobs must be a whole number of at least 1, got {given!r}")
    small = source.n_rows is not None and source.n_rows < _FEW_ROWS
    wanted: int = given or (1 if small else joblib.cpu_count())
    return wanted if source.n_parts is None else min(wanted, source.n_parts)


def read_keep(given: Sequence[str]) -> tuple[str, ...]:
    """Return the columns to copy."""
    if isinstance(given, str) or not all(isinstance(name, str) for name in given):
        raise InvalidInputError(f"keep must be a list of column names, got {given!r}")
    return tuple(dict.fromkeys(given))
