"""Load for a server on this machine: connections that ask one request after the other.

Everything is bounded: so many connections, so many seconds, a time-out for every answer. Client and
server share the cores, for every server alike, so the client does as little as it can.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from uvloop import new_event_loop

HOST = "127.0.0.1"
_PATIENCE = 30.0  # seconds for one answer
_HEAD_END = b"\r\n\r\n"


@dataclass
class Answers:
    """What became of the requests: seconds of each that was answered, and how many failed."""

    seconds: list[float] = field(default_factory=list)
    failed: int = 0
    wrong: int = 0

    def summary(self, duration: float, rows: int) -> dict[str, Any]:
        """Return rates and quantiles of the waiting time in milliseconds."""
        waits = 1_000 * np.quantile(self.seconds, [0.5, 0.95, 0.99]) if self.seconds else [0.0] * 3
        found = dict(zip(("p50_ms", "p95_ms", "p99_ms"), map(float, waits), strict=True))
        count = len(self.seconds)
        rates = {
            "requests_per_second": count / duration,
            "rows_per_second": count * rows / duration,
        }
        return {"answers": count, "failed": self.failed, "wrong": self.wrong, **rates, **found}


Check = Callable[[int, bytes], bool]  # number of the request, answer → right?


def ask(
    port: int,
    requests: Sequence[bytes],
    connections: int,
    seconds: float,
    check: Check | None = None,
) -> tuple[Answers, float]:
    """Send requests again and again for so many seconds; return what came, and the duration."""
    gc.collect()
    gc.freeze()  # what the client has loaded must not be looked through while a server is measured
    try:
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            return runner.run(converse(port, requests, connections, seconds, check))
    finally:
        gc.unfreeze()


async def converse(
    port: int,
    requests: Sequence[bytes],
    connections: int,
    seconds: float,
    check: Check | None = None,
) -> tuple[Answers, float]:
    """Do so beside other things that the event loop has to do."""
    answers, turns = Answers(), itertools.cycle(range(len(requests)))
    loop, start = asyncio.get_running_loop(), time.perf_counter()
    plan = _Plan(requests, turns, start + seconds, answers, check)
    lines = [_Line(plan, loop.create_future()) for _ in range(connections)]
    for line in lines:
        await loop.create_connection(lambda line=line: line, HOST, port)  # type: ignore[misc]
    _, hung = await asyncio.wait([line.done for line in lines], timeout=seconds + _PATIENCE)
    answers.failed += len(hung)
    return answers, time.perf_counter() - start


def post(path: str, body: bytes) -> bytes:
    """Return a request with a body."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


@dataclass(frozen=True)
class _Plan:
    """What all connections share."""

    requests: Sequence[bytes]
    turns: Iterator[int]
    end: float
    answers: Answers
    check: Check | None


class _Line(asyncio.Protocol):
    """One connection: asks until the time is over; a connection that is lost has failed."""

    def __init__(self, plan: _Plan, done: asyncio.Future[None]) -> None:
        self._plan, self.done = plan, done
        self._came, self._length, self._number, self._began = b"", -1, 0, 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport  # those of uvloop are no asyncio.Transport by class
        self._ask()

    def _ask(self) -> None:
        self._came, self._length = b"", -1
        self._number, self._began = next(self._plan.turns), time.perf_counter()
        self._transport.write(self._plan.requests[self._number])

    def data_received(self, data: bytes) -> None:
        self._came += data
        if self._length < 0:
            if _HEAD_END not in self._came:
                return
            self._length = _whole_length(self._came)
        if len(self._came) >= self._length:
            self._note()

    def _note(self) -> None:
        plan, now = self._plan, time.perf_counter()
        plan.answers.seconds.append(now - self._began)
        good = self._came[9:12] == b"200"
        plan.answers.failed += not good
        if good and plan.check is not None:
            body = self._came.partition(_HEAD_END)[2]
            plan.answers.wrong += not plan.check(self._number, body)
        if now < plan.end:
            self._ask()
            return
        self._end()

    def _end(self) -> None:
        if not self.done.done():
            self.done.set_result(None)
        self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        if not self.done.done():
            self._plan.answers.failed += 1
            self.done.set_result(None)


def _whole_length(came: bytes) -> int:
    """Return how long an answer is, head and body."""
    head = came[: came.index(_HEAD_END)].lower()
    length = int(head.partition(b"content-length:")[2].split(b"\r\n", 1)[0])
    return len(head) + len(_HEAD_END) + length
