"""A block of code in, the same block with fewer page faults out (glibc only).

Training makes and drops the same large tensors thousands of times a second. By default glibc
returns such blocks to the system at once and fetches them back page by page, which can cost more
than the arithmetic. Within :func:`steady_heap` it keeps them, and gives everything back at the end.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
from collections.abc import Iterator

# Parameters of mallopt(3) and what glibc starts with.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3
_DEFAULT = 128 * 1024
_KEEP = 1 << 30
_depth = 0


@contextlib.contextmanager
def steady_heap() -> Iterator[None]:
    """Keep freed memory in the process while the block runs; a no-op where glibc is not used."""
    global _depth  # only the outermost block changes anything: the setting is the process's
    libc = _glibc() if _depth == 0 else None
    if libc is None:
        yield
        return
    _depth += 1
    for option in (_MMAP_THRESHOLD, _TRIM_THRESHOLD):
        libc.mallopt(option, _KEEP)
    libc.mallopt(_TOP_PAD, 64 << 20)
    try:
        yield
    finally:
        _depth -= 1
        for option in (_MMAP_THRESHOLD, _TRIM_THRESHOLD):
            libc.mallopt(option, _DEFAULT)
        libc.mallopt(_TOP_PAD, _DEFAULT)
        libc.malloc_trim(0)


def _glibc() -> ctypes.CDLL | None:
    if not sys.platform.startswith("linux"):
        return None
    try:
        library = ctypes.CDLL("libc.so.6")
        return library if hasattr(library, "mallopt") and hasattr(library, "malloc_trim") else None
    except OSError:
        return None
