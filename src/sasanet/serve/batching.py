"""Requests that arrive together are answered together, in a thread beside the event loop.

A request that comes alone waits a bounded time for others; while a batch is computed the next one
gathers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from sasanet.serve.inference import Answer, Query, answer
from sasanet.serve.limits import Limits, Refusal
from sasanet.serve.metrics import Metrics


@dataclass(frozen=True, eq=False)
class _Job:
    query: Query
    future: asyncio.Future[Answer]


class Batcher:
    """A bounded queue of requests and the one task that empties it."""

    def __init__(self, limits: Limits, metrics: Metrics) -> None:
        self._limits, self._metrics = limits, metrics
        self._queue: asyncio.Queue[_Job] = asyncio.Queue()
        self._waiting = 0  # rows in the queue
        self._thread = ThreadPoolExecutor(1, "sasanet-batch")

    async def ask(self, query: Query) -> Answer:
        """Return the answer to a request, or refuse it when too much is waiting already."""
        n_rows = query.rows.n_rows
        if self._waiting and self._waiting + n_rows > self._limits.waiting_rows:
            raise Refusal(503, "Too many rows are waiting; try again in a second.", retry_after=1)
        self._count(n_rows)
        job = _Job(query, asyncio.get_running_loop().create_future())
        self._queue.put_nowait(job)
        try:
            return await asyncio.wait_for(job.future, self._limits.answer_seconds)
        except TimeoutError:
            raise Refusal(
                503,
                f"The answer took longer than {self._limits.answer_seconds:g} s; send fewer rows.",
                retry_after=1,
            ) from None

    async def run(self) -> None:
        """Answer requests until cancelled."""
        while True:
            jobs = await self._gather()
            for group in _groups(jobs):
                await self._compute(group)

    def close(self) -> None:
        """Let the thread end."""
        self._thread.shutdown(wait=False)

    def _count(self, rows: int) -> None:
        self._waiting += rows
        self._metrics.waiting.set(self._waiting)

    async def _gather(self) -> list[_Job]:
        """Return requests that wait already, or that arrive within a short time after one."""
        waited = not self._queue.empty()
        jobs = [await self._queue.get()]
        if not waited:
            await asyncio.sleep(self._limits.batch_seconds)
        rows = jobs[0].query.rows.n_rows
        while rows < self._limits.batch_rows and not self._queue.empty():
            jobs.append(self._queue.get_nowait())
            rows += jobs[-1].query.rows.n_rows
        self._count(-rows)
        return [job for job in jobs if not job.future.done()]  # nobody waits for the others

    async def _compute(self, jobs: list[_Job]) -> None:
        loop = asyncio.get_running_loop()
        queries = [job.query for job in jobs]
        try:
            answers = await loop.run_in_executor(self._thread, answer, queries, self._metrics)
        except Exception as error:
            if len(jobs) > 1:  # one of them must not spoil the others
                for job in jobs:
                    await self._compute([job])
            elif not jobs[0].future.done():
                jobs[0].future.set_exception(error)
            return
        for job, found in zip(jobs, answers, strict=True):
            if not job.future.done():
                job.future.set_result(found)


def _groups(jobs: Iterable[_Job]) -> list[list[_Job]]:
    """Return the requests that one pass can answer together."""
    found: dict[tuple[object, ...], list[_Job]] = {}
    for job in jobs:
        found.setdefault(job.query.group, []).append(job)
    return [*found.values()]
