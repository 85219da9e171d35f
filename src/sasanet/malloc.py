"""Fewer page faults while the same large arrays come and go (glibc only).

Training makes and drops the same large tensors thousands of times a second, and so do boosted
trees with their histograms. By default glibc returns large blocks to the system at once and fetches
them back page by page, which can cost more than the arithmetic. Within :func:`steady_heap` it keeps
them, and gives everything back at the end.

The setting is the whole process's: while a fit, a prediction or an explanation runs, other code in
the process has it too, and afterwards glibc's thresholds are where glibc itself would have raised
them. Who does not want that sets the environment variable ``SASANET_MALLOC=0``.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import threading
from collections.abc import Iterator

# Parameters of mallopt(3): what may stay free on top of the heap, how much is asked for at a time,
# from which size on a block gets a mapping of its own, and how many such blocks there may be.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD, _MMAP_MAX = -1, -2, -3, -4
_ARENA_MAX = -8  # how many heaps the threads of a process may have
_INSIDE = {_MMAP_MAX: 0, _TRIM_THRESHOLD: 1 << 30, _TOP_PAD: 64 << 20}
# What glibc starts with, but for two thresholds. It raises those by itself as large blocks come
# and go, until somebody sets any of these: so they are left where it would have brought them. At
# its first 128 KiB, whatever the process does later would fault in every large block it makes.
_OUTSIDE = {
    _MMAP_MAX: 65_536,
    _MMAP_THRESHOLD: 32 << 20,
    _TRIM_THRESHOLD: 64 << 20,
    _TOP_PAD: 128 << 10,
}
_SWITCH = "SASANET_MALLOC"  # environment variable: 0 leaves malloc alone
_depth, _lock = 0, threading.Lock()


@contextlib.contextmanager
def steady_heap() -> Iterator[None]:
    """Keep freed memory in the process while the block runs; a no-op where glibc is not used."""
    libc = _glibc() if os.environ.get(_SWITCH) != "0" else None
    if libc is None:
        yield
        return
    _enter(libc)
    try:
        yield
    finally:
        _leave(libc)


def share_heaps(count: int) -> None:
    """Let all threads of the process share so many heaps; a no-op where glibc is not used.

    glibc gives each thread a heap of its own, and what is freed in one does not help the others: a
    process that works for days holds several times what it needs.
    """
    libc = _glibc() if os.environ.get(_SWITCH) != "0" else None
    if libc is not None:
        libc.mallopt(_ARENA_MAX, count)


def _enter(libc: ctypes.CDLL) -> None:
    """Change the setting if no other block of the process has done so, in whatever thread."""
    global _depth
    with _lock:
        _depth += 1
        if _depth == 1:
            for option, value in _INSIDE.items():
                libc.mallopt(option, value)


def _leave(libc: ctypes.CDLL) -> None:
    """Set everything back when the last block ends."""
    global _depth
    with _lock:
        _depth -= 1
        if _depth == 0:
            for option, value in _OUTSIDE.items():
                libc.mallopt(option, value)
            libc.malloc_trim(0)


def _glibc() -> ctypes.CDLL | None:
    if not sys.platform.startswith("linux"):
        return None
    try:
        library = ctypes.CDLL("libc.so.6")
        return library if hasattr(library, "mallopt") and hasattr(library, "malloc_trim") else None
    except OSError:
        return None
