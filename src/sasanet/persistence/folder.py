"""One whole model in a directory at any time, however many write and read it at once.

``model.json`` describes the model and names its weights file, whose name is its SHA-256. Savers
take turns (a lock on the directory, which the system releases when a process dies). One writes the
weights beside the old ones, replaces ``model.json`` in one step, and only then removes what the new
description does not name. A reader who finds the weights gone reads the description again.

Beside them stands the model card, ``README.md``, unless somebody has written another one.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from sasanet.errors import InvalidInputError, SavedFileError
from sasanet.whole_files import remove_stale_drafts, write_whole

DESCRIPTION, AUDIT, CARD = "model.json", "audit.json", "README.md"
_WEIGHTS = "weights-*.safetensors"
_TRIES = 100  # of a reader whose files are replaced while it reads


def check_free(folder: Path) -> None:
    """Refuse a place that holds something else, before anything is written."""
    if folder.exists() and not folder.is_dir():
        raise InvalidInputError(
            f"save needs a directory, got {folder}, which is a file; name another place"
        )
    if not folder.is_dir() or (folder / DESCRIPTION).exists():
        return
    ours = [*folder.glob(_WEIGHTS), *folder.glob(".draft-*"), folder / AUDIT]
    if others := sorted({path.name for path in folder.iterdir()} - {path.name for path in ours}):
        raise InvalidInputError(
            "save needs an empty directory or a saved model to replace, got "
            f"{folder} with {others[0]!r}; name another place"
        )


def write_files(
    folder: Path, description: bytes, weights: bytes, digest: str, audit: bytes | None, card: bytes
) -> None:
    """Replace the model in a directory by a new one; the card begins with the line of all cards."""
    folder.mkdir(parents=True, exist_ok=True)
    name = weights_name(digest)
    with _turn(folder):
        try:
            write_whole(folder / name, weights)
            write_whole(folder / DESCRIPTION, description)
        except BaseException:
            _remove_unnamed(folder, name, digest)
            raise
        # From here on the new model is in place; what follows only tidies up.
        remove_stale_drafts(folder)
        for old in folder.glob(_WEIGHTS):
            if old.name != name:
                old.unlink(missing_ok=True)
        if audit is None:
            (folder / AUDIT).unlink(missing_ok=True)
        else:
            write_whole(folder / AUDIT, audit)
        if _is_ours(folder / CARD, card.partition(b"\n")[0]):
            write_whole(folder / CARD, card)


def _is_ours(path: Path, mark: bytes) -> bool:
    """Tell whether a card may be replaced: there is none, or its first line is that of a card."""
    if not path.exists():
        return True
    with path.open("rb") as file:
        return file.readline(len(mark) + 2).strip() == mark


def _remove_unnamed(folder: Path, name: str, digest: str) -> None:
    """Remove weights that were written for a description which was not."""
    with contextlib.suppress(OSError):
        path = folder / DESCRIPTION
        if not path.exists() or digest not in path.read_text("utf-8", errors="replace"):
            (folder / name).unlink(missing_ok=True)


def weights_name(digest: str) -> str:
    """Return the file name of weights with this SHA-256."""
    return f"weights-{digest[:16]}.safetensors"


def read_weights(folder: Path, digest: str) -> bytes | None:
    """Return the weights with this SHA-256, or nothing where a saver has replaced them."""
    path = folder / weights_name(digest)
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    if hashlib.sha256(content).hexdigest() != digest:
        raise SavedFileError(
            f"{path} must be as it was saved, got other bytes; copy the whole directory anew"
        )
    return content


def attempts() -> Iterator[int]:
    """Yield as often as a reader may find that a saver was faster."""
    yield from range(_TRIES)


@contextlib.contextmanager
def _turn(folder: Path) -> Iterator[None]:
    """Wait until no other saver writes to the directory, where the system has such locks."""
    try:
        import fcntl
    except ImportError:  # not on Windows, where two savers at once may disturb each other
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
