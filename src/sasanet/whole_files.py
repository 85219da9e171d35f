"""Files that are written whole or not at all.

A file is written under a temporary name beside its place and takes its place in one step at the
end: whatever goes wrong, a full disk or a killed process, what was there before stays as it was.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

from sasanet.errors import FileWriteError, InvalidInputError, SasanetError

HOST = re.sub(r"[^A-Za-z0-9]", "_", socket.gethostname())[:32]


def read_path(given: object) -> Path:
    """Return a path that the system can name."""
    named = isinstance(given, str | os.PathLike) and not isinstance(os.fspath(given), bytes)
    if not named or "\0" in str(given) or str(given) == "":  # often a variable that was not set
        raise InvalidInputError(
            f"A path must be text that is not empty, or a pathlib.Path, got {given!r:.200}"
        )
    return Path(str(given))


@contextlib.contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Yield a temporary name beside a file; what is written there takes the file's place.

    Drafts that killed processes left are removed first.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "a.txt") as draft:
    ...         _ = draft.write_text("all of it")
    ...     [file.name for file in Path(folder).iterdir()]
    ['a.txt']
    """
    path = _file(path)
    remove_stale_drafts(path.parent, path.name)
    # The name keeps its ending, which may matter to whoever writes.
    draft = path.with_name(f".draft-{HOST}-{os.getpid()}-{secrets.token_hex(4)}.{path.name}")
    try:
        yield draft
        _flush_to_disk(draft)
        draft.replace(path)
    except OSError as error:
        if isinstance(error, SasanetError) or error.filename not in (None, str(draft)):
            raise  # not about this file
        raise FileWriteError(
            f"{path} must be a file that can be written, got {error.strerror or error}; make room "
            "or choose another place. What was there before is unchanged."
        ) from error
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()


def write_whole(path: str | Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    with replacing(path) as draft:
        draft.write_bytes(content)


def _file(path: str | Path) -> Path:
    """Return a path that is no directory's."""
    path = read_path(path)
    if path.is_dir():
        raise InvalidInputError(f"The file to write must have a name, got the directory {path}.")
    return path


def check_can_write(path: str | Path) -> None:
    """Refuse a place where no file can be written, before any work is done for it."""
    path = _file(path)
    if not path.absolute().parent.is_dir():
        raise InvalidInputError(f"There is no directory {path.parent}; make it first.")
    check_can_make(path.parent)


def check_can_make(folder: str | Path) -> None:
    """Refuse a directory that cannot be written or, where it does not exist yet, made."""
    folder = read_path(folder).absolute()
    existing = next(place for place in (folder, *folder.parents) if place.exists())
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        raise InvalidInputError(
            f"{existing} must be a directory that can be written to, got {error.strerror}; "
            "choose another place."
        ) from None


def remove_stale_drafts(folder: Path, name: str | None = None) -> None:
    """Remove drafts, of one file or of all, whose process on this machine is gone."""
    of_file = ".*" if name is None else re.escape(name)
    mark = re.compile(rf"\.draft-{HOST}-(\d+)-[0-9a-f]+\.{of_file}")
    with contextlib.suppress(OSError):
        for other in folder.iterdir():
            found = mark.fullmatch(other.name)
            if found and not is_running(int(found[1])):
                with contextlib.suppress(OSError):
                    other.unlink()


def _flush_to_disk(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def is_running(process: int) -> bool:
    """Tell whether a process of this machine is there; where asking is not safe, say that it is."""
    if os.name != "posix":  # elsewhere asking is not safe: leave the draft
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
