"""One thread for each product of matrices, while several fits run side by side.

NumPy's and SciPy's linear algebra starts a thread per core for products that take a millisecond,
and these wait for each other in busy loops: beside another process a fit took four times the
processor time. Teachers are many independent fits, so the cores are used by running those at once.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from threadpoolctl import threadpool_limits

_lock = threading.Lock()
_depth = 0
_limits: threadpool_limits | None = None


@contextlib.contextmanager
def one_thread_per_product() -> Iterator[None]:
    """Limit NumPy's and SciPy's products to one thread while the block runs, in whatever thread.

    The limit is the whole process's. The last of several blocks at once puts back what was there
    before the first, so that no order of their ends leaves a limit behind.
    """
    _enter()
    try:
        yield
    finally:
        _leave()


def _enter() -> None:
    global _depth, _limits
    with _lock:
        _depth += 1
        if _depth == 1:
            _limits = threadpool_limits(1, user_api="blas")


def _leave() -> None:
    global _depth, _limits
    with _lock:
        _depth -= 1
        if _depth == 0 and _limits is not None:
            _limits.restore_original_limits()
            _limits = None
