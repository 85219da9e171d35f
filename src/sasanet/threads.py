"""One thread for each operation, while several fits, or several chunks of rows, run side by side.

The threads of one operation wait for each other at its end, hundreds of times in a chunk of rows;
where another process has taken a core they wait for the scheduler too, and explaining took ten
times as long. The products of NumPy and SciPy wait in busy loops: beside another process a fit took
four times the processor time. Teachers are many independent fits, and chunks many independent
computations, so the cores are used by running those at once.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence

import torch
from threadpoolctl import threadpool_limits

_lock = threading.Lock()
_depth = 0
_limits: threadpool_limits | None = None
_alone, _usual = 0, 1  # blocks in which torch has one thread, and how many it has outside


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


@contextlib.contextmanager
def one_thread_in_torch() -> Iterator[None]:
    """Let torch compute with this thread alone while the block runs.

    Each thread has a number of its own; what one sets, threads that begin later begin with. They
    are set right when they leave such a block themselves.
    """
    global _alone, _usual
    with _lock:
        before = torch.get_num_threads()
        _usual = before if _alone == 0 else _usual
        _alone += 1
    torch.set_num_threads(1)
    try:
        yield
    finally:
        with _lock:
            _alone -= 1
            torch.set_num_threads(max(before, _usual))


def in_threads(run: Callable[[int], None], tasks: Sequence[int], n_threads: int) -> None:
    """Run tasks side by side in so many threads, in each of which torch computes alone.

    A single task runs here. The first error ends all and is raised.
    """
    if n_threads == 1 or len(tasks) == 1:
        with one_thread_in_torch():
            for task in tasks:
                run(task)
        return
    team = _Team(run, tasks)
    threads = [threading.Thread(target=team.work) for _ in range(min(n_threads, len(tasks)))]
    try:
        for thread in threads:
            thread.start()
        for _ in threads:
            team.ready.acquire()
        torch.set_num_threads(n_threads)  # with which other threads begin from now on
        _join(threads)
    finally:  # after an interrupt, too: the others end with the task they are at
        team.is_over = True
        _join(threads)
    if team.failures:
        raise team.failures[0]


def _join(threads: Sequence[threading.Thread]) -> None:
    for thread in threads:
        if thread.ident is not None:  # it was started
            thread.join()


class _Team:
    """Threads that take tasks from one list."""

    def __init__(self, run: Callable[[int], None], tasks: Sequence[int]) -> None:
        self.run, self.todo, self.taking = run, iter(tasks), threading.Lock()
        self.ready, self.is_over = threading.Semaphore(0), False
        self.failures: list[BaseException] = []

    def work(self) -> None:
        """Do one task after the other until there are none."""
        torch.get_num_threads()  # reads what threads begin with, so that it is not read later
        torch.set_num_threads(1)
        self.ready.release()
        while not self.is_over and (task := self._next()) is not None:
            try:
                self.run(task)
            except BaseException as error:  # raised again where all was asked for
                self.failures.append(error)
                self.is_over = True

    def _next(self) -> int | None:
        with self.taking:
            return next(self.todo, None)
