"""The routes behind the live page, for anybody to use: answered one after the other, in a thread.

They wait neither for batches nor batches for them; of too many at once the rest is refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from fastapi import APIRouter, Request, Response

from sasanet.serve.inference import Answer, Query, encode
from sasanet.serve.limits import Limits, Refusal, unusable
from sasanet.serve.live import questions
from sasanet.serve.live.csv_rows import csv_rows, read_csv, write_csv
from sasanet.serve.live.explored import Explored
from sasanet.serve.metrics import Metrics
from sasanet.serve.reading import Rows, field, from_records, keep_only, read_body, read_json
from sasanet.serve.registry import Registry, Served
from sasanet.serve.routing.schema import describe

_MOST_WAITING = 32  # questions, that of the moment among them
_MOST_LISTED = 100  # rows of one answer
_REASONS = 3  # columns of reasons in a CSV file
_T = TypeVar("_T")


class Desk:
    """Where the questions of the live page are answered."""

    def __init__(
        self,
        registry: Registry,
        limits: Limits,
        metrics: Metrics,
        explored: Mapping[str, Explored],
        ask: Callable[[Query], Awaitable[Answer]],
    ) -> None:
        self.registry, self.limits, self.metrics, self.ask = registry, limits, metrics, ask
        self._explored = dict(explored)
        self.open()

    def open(self) -> None:
        """Begin, also after an end: an application may be started again."""
        self._waiting = 0
        self._thread = ThreadPoolExecutor(1, "sasanet-questions")

    def explored(self, served: Served) -> Explored | None:
        """Return the rows to choose from, if there are any for a model."""
        return self._explored.get(served.name)

    def rows_of(self, served: Served) -> Explored:
        """Return the rows to choose from, or refuse where there are none."""
        found = self.explored(served)
        if found is None:
            raise Refusal(404, "There are no rows of this model; `sasanet explore` gives some.")
        return found

    async def run(self, job: Callable[[], _T]) -> _T:
        """Return what a job finds, computed beside the event loop."""
        if self._waiting >= _MOST_WAITING:
            raise Refusal(503, "Too many questions are waiting; try again soon.", retry_after=1)
        self._waiting += 1
        future = asyncio.get_running_loop().run_in_executor(self._thread, job)
        future.add_done_callback(self._done)  # a job goes on when nobody waits for it any more
        try:
            return await asyncio.wait_for(asyncio.shield(future), self.limits.answer_seconds)
        except TimeoutError:
            raise Refusal(
                503,
                f"The answer took longer than {self.limits.answer_seconds:g} s; ask for less.",
                retry_after=1,
            ) from None

    def _done(self, future: asyncio.Future[Any]) -> None:
        self._waiting -= 1
        if not future.cancelled():
            future.exception()  # seen, also where nobody waits

    def close(self) -> None:
        """Let the thread end."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def answer(
        self, request: Request, model: str, job: Callable[[Served, Rows, dict[str, Any]], _T]
    ) -> _T:
        """Read a question about one row and have it answered."""
        served = self.registry.find(model)
        request.state.log["model"] = served.name
        body = await read_body(request, self.limits)

        def work() -> _T:
            options = read_json(body)
            record = field(options, "row", dict)
            rows = from_records([record], served.columns, self.limits)
            return job(served, keep_only(rows, options.get("only"), served.columns), options)

        return await self.run(work)


def live_routes(desk: Desk) -> APIRouter:
    """Return the routes of the live page's questions."""
    router = APIRouter()
    _add_questions(router, desk)
    _add_rows(router, desk)
    _add_csv(router, desk)

    @router.get("/models/{model}/live")
    async def live(model: str) -> dict[str, Any]:
        """Tell what the live page needs to know of a model."""
        served = desk.registry.find(model)
        rows = desk.explored(served)
        return describe(served) | {
            "steps": {c.name: _step(c.knots) for c in served.columns if c.kind == "number"},
            "rows": 0 if rows is None else len(rows),
            "groups": {} if rows is None else rows.groups,
            "can_group": await desk.run(partial(questions.can_group, served)),
            "limits": {"orders": desk.limits.orders, "rows": desk.limits.rows},
        }

    @router.get("/models/{model}/drift")
    async def drift(model: str) -> dict[str, Any]:
        """Tell what recent rows were like, beside those of training."""
        return desk.metrics.drift(desk.registry.find(model))

    return router


def _add_questions(router: APIRouter, desk: Desk) -> None:
    @router.post("/models/{model}/gains")
    async def gains(request: Request, model: str) -> dict[str, Any]:
        """Tell what knowing each absent feature of a row would be expected to change."""
        return await desk.answer(
            request,
            model,
            lambda served, row, _: questions.gains(served, row, desk.explored(served)),
        )

    @router.post("/models/{model}/recourse")
    async def recourse(request: Request, model: str) -> dict[str, Any]:
        """Return small changes that carry a row's score across a threshold."""
        return await desk.answer(request, model, questions.recourse)

    @router.post("/models/{model}/groups")
    async def groups(request: Request, model: str) -> dict[str, Any]:
        """Explain a row with groups of columns as players."""
        return await desk.answer(
            request,
            model,
            lambda served, row, options: questions.grouped(
                served, row, field(options, "groups", dict)
            ),
        )


def _add_rows(router: APIRouter, desk: Desk) -> None:
    @router.get("/models/{model}/rows")
    async def rows(model: str, words: str = "", start: int = 0, count: int = 20) -> dict[str, Any]:
        """List rows to choose from, those that contain all words."""
        served = desk.registry.find(model)
        explored = desk.rows_of(served)
        if not (start >= 0 and 1 <= count <= _MOST_LISTED and len(words) <= 1_000):
            raise unusable(
                f"'start' must be at least 0, 'count' from 1 to {_MOST_LISTED}, 'words' short."
            )

        def work() -> dict[str, Any]:
            found = explored.find(words)
            listed = [explored.line(served, i) for i in found[start : start + count]]
            return {"all": len(explored), "found": len(found), "rows": listed}

        return await desk.run(work)

    @router.post("/models/{model}/like")
    async def like(request: Request, model: str) -> dict[str, Any]:
        """Return the rows that the model explains most like a given one."""

        def job(served: Served, row: Rows, options: dict[str, Any]) -> dict[str, Any]:
            count = field(options, "count", int, default=5)
            if not 1 <= count <= _MOST_LISTED:
                raise unusable(f"'count' must be from 1 to {_MOST_LISTED}.")
            values = served.model.explain(encode(served, row.cells)).values[0]
            return {"rows": desk.rows_of(served).like(served, values, count)}

        return await desk.answer(request, model, job)


def _add_csv(router: APIRouter, desk: Desk) -> None:
    @router.post("/models/{model}/csv")
    async def with_reasons(request: Request, model: str) -> Response:
        """Return a CSV file with the predictions and reasons of its rows."""
        served = desk.registry.find(model)
        request.state.log["model"] = served.name
        body = await read_body(request, desk.limits)
        file = await asyncio.to_thread(read_csv, body)
        rows = await asyncio.to_thread(csv_rows, file, served.columns, desk.limits)
        request.state.log["rows"] = rows.n_rows
        answer = await desk.ask(Query(served, rows, explain=True, n_reasons=_REASONS))
        text = await asyncio.to_thread(write_csv, file, answer, _REASONS)
        head = {"Content-Disposition": 'attachment; filename="with_reasons.csv"'}
        return Response(text, media_type="text/csv; charset=utf-8", headers=head)


def _step(knots: tuple[float, ...]) -> float | None:
    """Return 1 where training had whole numbers alone, and null elsewhere."""
    return 1 if knots and all(float(knot).is_integer() for knot in knots) else None
