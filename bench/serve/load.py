"""Load for a server on this machine: connections that ask one request after the other.

Everything is bounded: so many connections, so many seconds, a time-out for every answer. Client and
server share the cores, for every server alike.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

HOST = "127.0.0.1"
_PATIENCE = 30.0  # seconds for one answer


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


Check = Callable[[int, bytes], bool]  # number of the body, answer → right?


def ask(
    port: int,
    path: str,
    bodies: Sequence[bytes],
    connections: int,
    seconds: float,
    check: Check | None = None,
) -> tuple[Answers, float]:
    """Send the bodies again and again for so many seconds; return what came, and the duration."""
    return asyncio.run(_ask(port, path, bodies, connections, seconds, check))


async def _ask(
    port: int,
    path: str,
    bodies: Sequence[bytes],
    connections: int,
    seconds: float,
    check: Check | None,
) -> tuple[Answers, float]:
    answers, turns = Answers(), itertools.cycle(range(len(bodies)))
    start = time.perf_counter()
    jobs = [
        _converse(port, path, bodies, turns, start + seconds, answers, check)
        for _ in range(connections)
    ]
    await asyncio.gather(*jobs)
    return answers, time.perf_counter() - start


async def _converse(
    port: int,
    path: str,
    bodies: Sequence[bytes],
    turns: Iterator[int],
    end: float,
    answers: Answers,
    check: Check | None,
) -> None:
    """Ask over one connection until the time is over; the first failure ends it."""
    reader, writer = await asyncio.open_connection(HOST, port)
    try:
        while time.perf_counter() < end:
            number, begin = next(turns), time.perf_counter()
            writer.write(_request(path, bodies[number]))
            status, body = await asyncio.wait_for(_answer(reader), _PATIENCE)
            answers.seconds.append(time.perf_counter() - begin)
            answers.failed += status != 200
            answers.wrong += check is not None and not check(number, body)
    except (OSError, asyncio.IncompleteReadError, TimeoutError):
        answers.failed += 1
    finally:
        writer.close()


def _request(path: str, body: bytes) -> bytes:
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def _answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Return status and body of one answer."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    length = int(head.partition("content-length:")[2].split("\r\n", 1)[0])
    return int(head.split(" ", 2)[1]), await reader.readexactly(length)
