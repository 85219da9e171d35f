"""A temporary folder that is gone afterwards: also after an error, and after a kill by the next."""

from __future__ import annotations

import contextlib
import math
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from sasanet.errors import FileWriteError, InvalidInputError
from sasanet.whole_files import HOST, check_can_make, is_running, read_path

_PREFIX = f"sasanet-{HOST}"


@contextlib.contextmanager
def scratch_folder(place: str | Path | None) -> Iterator[Path]:
    """Yield a new folder in a place, by default the system's for temporary files."""
    parent = Path(tempfile.gettempdir()) if place is None else read_path(place)
    if parent.exists() and not parent.is_dir():
        raise InvalidInputError(f"scratch must be a folder, got the file {parent}.")
    check_can_make(parent)
    parent.mkdir(parents=True, exist_ok=True)
    _remove_stale(parent)
    with tempfile.TemporaryDirectory(prefix=f"{_PREFIX}-{os.getpid()}-", dir=parent) as folder:
        yield Path(folder)


def check_room(folder: Path, needed: int) -> None:
    """Refuse a disk without room, before anything is written."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise FileWriteError(
            f"Fitting needs {math.ceil(needed / 1e6):,} MB of disk for encoded rows, got "
            f"{free // 10**6:,} MB free in {folder.parent}; make room, or name another folder with "
            "scratch."
        )


def full_disk(folder: Path, error: OSError) -> FileWriteError:
    """Return the error for a disk that filled up meanwhile."""
    return FileWriteError(
        f"Encoded rows must be written to {folder.parent}, got {error.strerror or error}; make "
        "room, or name another folder with scratch."
    )


def _remove_stale(parent: Path) -> None:
    """Remove folders whose process on this machine was killed."""
    mark = re.compile(rf"{_PREFIX}-(\d+)-\w+")
    with contextlib.suppress(OSError):
        for other in parent.iterdir():
            found = mark.fullmatch(other.name)
            if found and not is_running(int(found[1])):
                shutil.rmtree(other, ignore_errors=True)
