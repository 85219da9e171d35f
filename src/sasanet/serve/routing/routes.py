"""The routes: each reads a request in its protocol, has it answered, and writes the answer.

Reading and writing much JSON happens in threads too, so that a health check never waits for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse

import sasanet
from sasanet.serve import protocols
from sasanet.serve.batching import Batcher
from sasanet.serve.inference import Answer, Query
from sasanet.serve.limits import Limits
from sasanet.serve.live.explored import Explored
from sasanet.serve.live.routes import Desk
from sasanet.serve.metrics import Metrics
from sasanet.serve.reading import read_body, read_json
from sasanet.serve.registry import Registry, Served
from sasanet.serve.routing.schema import describe, describe_v2

_EXTENSIONS: list[str] = []
_SMALL_BODY = 16_384  # bytes
_SMALL_TABLE = 512  # cells
_T = TypeVar("_T")


class Server:
    """What all routes share: the way from a request to its answer."""

    batcher: Batcher

    def __init__(
        self,
        registry: Registry,
        limits: Limits,
        metrics: Metrics,
        explored: Mapping[str, Explored],
    ) -> None:
        self.registry, self.limits, self.metrics = registry, limits, metrics
        self.desk = Desk(registry, limits, metrics, explored, self.ask)

    async def ask(self, query: Query) -> Answer:
        """Have a query computed, together with others that arrive at the same time."""
        return await self.batcher.ask(query)

    async def answer(
        self,
        request: Request,
        served: Served,
        read: Callable[[Any], Query],
        write: Callable[[Query, Answer], dict[str, Any]],
    ) -> Response:
        """Read a request, have it computed, and write the answer."""
        request.state.log["model"] = served.name
        body = await read_body(request, self.limits)
        query = await _run(lambda: read(read_json(body)), len(body) <= _SMALL_BODY)
        request.state.log["rows"] = query.rows.n_rows
        found = await self.ask(query)
        small = query.rows.n_rows * len(served.columns) <= _SMALL_TABLE
        return await _run(lambda: protocols.Json(write(query, found)), small)


async def _run(job: Callable[[], _T], small: bool) -> _T:
    """Do what takes long in a thread; what is small takes less time than the way there."""
    return job() if small else await asyncio.to_thread(job)


def health(server: Server) -> APIRouter:
    """Return the routes that tell how the server is."""
    router = APIRouter()

    @router.get("/ping", response_class=PlainTextResponse)
    @router.get("/health", response_class=PlainTextResponse)
    async def ping() -> str:
        """Tell that the server is there."""
        return "\n"

    @router.get("/version", response_class=PlainTextResponse)
    async def version() -> str:
        """Tell the version of sasanet."""
        return sasanet.__version__

    @router.get("/metrics")
    async def metrics() -> Response:
        """Return counters for Prometheus."""
        return Response(server.metrics.text(), media_type="text/plain; version=0.0.4")

    @router.get("/v2")
    async def about() -> dict[str, Any]:
        """Tell what the server is."""
        return {"name": "sasanet", "version": sasanet.__version__, "extensions": _EXTENSIONS}

    @router.get("/v2/health/live")
    async def live() -> dict[str, bool]:
        """Tell that the server is there."""
        return {"live": True}

    @router.get("/v2/health/ready")
    async def ready() -> dict[str, bool]:
        """Tell that all models are loaded."""
        return {"ready": True}

    return router


def describing(server: Server) -> APIRouter:
    """Return the routes that describe models."""
    router, find = APIRouter(), server.registry.find

    @router.get("/models")
    async def listed() -> dict[str, Any]:
        """List the models and their versions."""
        return {"models": [{"name": one.name, "version": one.version} for one in server.registry]}

    @router.get("/models/{model}")
    async def described(model: str) -> dict[str, Any]:
        """Describe a model: columns, levels, ranges, classes."""
        return describe(find(model))

    @router.get("/v2/models/{model}")
    async def described_v2(model: str) -> dict[str, Any]:
        """Describe a model's inputs and outputs."""
        return describe_v2(find(model))

    @router.get("/v2/models/{model}/ready")
    async def model_ready(model: str) -> dict[str, Any]:
        """Tell that a model is loaded."""
        return {"name": find(model).name, "ready": True}

    return router


def asking(server: Server) -> APIRouter:
    """Return the routes that have models answer, by every protocol."""
    router, find = APIRouter(), server.registry.find
    for verb in ("predict", "explain"):
        _add_verb(router, server, verb)

    @router.post("/v2/models/{model}/infer")
    async def infer(request: Request, model: str) -> Response:
        """Answer by the Open Inference Protocol: one named input per column."""
        served, asked = find(model), []

        def read(body: Any) -> Query:
            query, outputs, identity = protocols.read_v2(body, served, server.limits)
            asked.append((outputs, identity))
            return query

        def write(query: Query, answer: Answer) -> dict[str, Any]:
            return protocols.write_v2(query, answer, *asked[0])

        return await server.answer(request, served, read, write)

    @router.post("/invocations")
    async def invocations(request: Request, model: str | None = None) -> Response:
        """Answer as MLflow's scoring server does."""
        served = find(model)
        read = partial(protocols.read_invocation, served=served, limits=server.limits)
        return await server.answer(request, served, read, protocols.write_invocation)

    return router


def _add_verb(router: APIRouter, server: Server, verb: str) -> None:
    """Add the routes of one verb, by our own protocol and by KServe's first."""
    explain = verb == "explain"

    @router.post(f"/models/{{model}}/{verb}", name=verb)
    async def own(request: Request, model: str) -> Response:
        served = server.registry.find(model)
        read = partial(protocols.read_own, served=served, explain=explain, limits=server.limits)
        return await server.answer(request, served, read, protocols.write_own)

    @router.post(f"/v1/models/{{model}}:{verb}", name=f"{verb}_v1")
    async def kserve(request: Request, model: str) -> Response:
        served = server.registry.find(model)
        read = partial(protocols.read_v1, served=served, explain=explain, limits=server.limits)
        return await server.answer(request, served, read, protocols.write_v1)
