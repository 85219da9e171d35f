"""Work in a child process that may be killed, limited or interrupted.

A child is a fork: it starts in a millisecond with everything imported. That is safe here because
torch has one thread in the workers. Every child ends by itself after a while.
"""

from __future__ import annotations

import contextlib
import io
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from torture.clock import RunningClock

_LONGEST = 30.0  # seconds that a child may live
_SAID = 4096  # bytes of what it says at the end


@dataclass(frozen=True)
class Ended:
    """How a child ended: its exit code, or minus the signal; and what it said last."""

    code: int
    said: str


class Child:
    """A function that runs in a process of its own."""

    def __init__(self, work: Callable[[], str | int]) -> None:
        self._read, write = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._read)
            _work_and_leave(work, write)
        os.close(write)

    def signal(self, number: int) -> None:
        """Send a signal, if the child still lives."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def wait_until_used(self, seconds: float) -> None:
        """Wait until the child has used so much of the processor's time, or has ended.

        Where the system does not say (it is Linux that does), by the clock.
        """
        start, place = time.monotonic(), Path(f"/proc/{self.pid}")
        while time.monotonic() - start < _LONGEST:
            try:
                used = int((place / "schedstat").read_text().split()[0]) / 1e9
                ended = " Z " in (place / "stat").read_text()
            except OSError:
                used, ended = time.monotonic() - start, False
            if ended or used >= seconds:
                return
            time.sleep(0.001)

    def wait(self) -> Ended:
        """Return how the child ended; one that outlives its time is killed."""
        clock = RunningClock()
        said = self._said(clock)
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return Ended(os.waitstatus_to_exitcode(status), said)
            if clock.now() > _LONGEST:
                self.signal(signal.SIGKILL)
                os.waitpid(self.pid, 0)
                return Ended(-signal.SIGALRM, said)
            time.sleep(0.001)

    def _said(self, clock: RunningClock) -> str:
        """Return what the child says until it ends."""
        import select

        parts = []
        while clock.now() < _LONGEST:
            ready, _, _ = select.select([self._read], [], [], 1.0)
            if not ready:
                continue
            if not (content := os.read(self._read, _SAID)):
                break
            parts.append(content)
        os.close(self._read)
        return b"".join(parts).decode("utf-8", "replace")


def _work_and_leave(work: Callable[[], str | int], write: int) -> None:
    """Run a child to its end, without the clean-up that belongs to its parent."""
    code = 70
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT
                          else signal.SIG_DFL)  # fmt: skip
        # torch sets up its thread pool again after a fork, and two threads that come first at once
        # race for it: an internal assertion or a segmentation fault. One thread comes first here.
        torch.set_num_threads(1)
        answer = work()
        code = answer if isinstance(answer, int) else 0
        if isinstance(answer, str):
            os.write(write, answer.encode("utf-8", "replace")[:_SAID])
    except BaseException as error:
        os.write(write, f"{type(error).__name__}: {error}".encode("utf-8", "replace")[:_SAID])
    finally:
        os._exit(code)


def command(*words: object) -> Callable[[], int | str]:
    """Return work that runs ``sasanet`` with some words, as the installed command does."""

    def run() -> int:
        from sasanet.cli import main

        sys.argv = ["sasanet", *map(str, words)]
        sys.stdout = sys.stderr = io.StringIO()
        try:
            main()
        except SystemExit as end:
            return end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        return 0

    return run


def limited(n_bytes: int, work: Callable[[], Any]) -> Callable[[], str]:
    """Return work on a disk that is full after so many bytes of one file.

    What it says is the name of the error and its sentence, or nothing.
    """

    def run() -> str:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))
        try:
            work()
        except Exception as error:
            return f"{type(error).__name__}\n{error}"
        return ""

    return run


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file below a directory, hidden ones too."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}
