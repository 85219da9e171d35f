"""The routes: each reads a request in its protocol, has it answered, and writes the answer.

Reading and writing JSON happen in threads too, so that a health check never waits for a large body.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse, PlainTextResponse
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware

import sasanet
from sasanet.errors import InvalidInputError
from sasanet.serve import protocols
from sasanet.serve.batching import Batcher
from sasanet.serve.guard import Guard, refused, unusable_by_model
from sasanet.serve.inference import Answer, Query
from sasanet.serve.keys import Keys
from sasanet.serve.limits import Limits, Refusal
from sasanet.serve.live.explored import Explored
from sasanet.serve.live.files import page_files
from sasanet.serve.live.routes import Desk, live_routes
from sasanet.serve.metrics import Metrics
from sasanet.serve.reading import read_body, read_json
from sasanet.serve.registry import Registry, Served, read_folders
from sasanet.serve.schema import add_models, describe, describe_v2

_EXTENSIONS: list[str] = []


def make_app(
    models: Sequence[str | Path],
    *,
    keys: Keys | None = None,
    limits: Limits | None = None,
    reload_seconds: float = 2.0,
    docs: bool = False,
    explored: Mapping[str, Explored] | None = None,
    hosts: Sequence[str] = (),
) -> FastAPI:
    """Return an ASGI application that serves saved models.

    Parameters
    ----------
    models : sequence of str or Path
        Directories of saved models, each ``PATH`` (named as its directory) or ``NAME=PATH``.
    keys : Keys, optional
        Who may ask; without it everybody who can reach the server.
    limits : Limits, optional
        Bounds of a request.
    reload_seconds : float
        How often to look for changed models.
    docs : bool
        Whether ``/docs`` shows the API in a browser. The page loads its scripts from the network.
    explored : mapping of str to Explored, optional
        Rows, and groups of columns, that the live page at ``/`` offers, by name of model.
    hosts : sequence of str
        Names that a request may call this server by; by default any. A server without keys on a
        machine with a browser is safer with names: other sites' pages then cannot pretend to be it.

    Returns
    -------
    FastAPI

    Examples
    --------
    >>> import tempfile
    >>> from fastapi.testclient import TestClient
    >>> from sasanet import SASANetClassifier
    >>> from sasanet.datasets import load_penguins
    >>> X, y = load_penguins()
    >>> model = SASANetClassifier(random_state=0, max_epochs=1, teacher_weight=0).fit(X, y)
    >>> folder = tempfile.TemporaryDirectory()
    >>> model.save(folder.name)
    >>> with TestClient(make_app([f"penguins={folder.name}"])) as client:
    ...     answer = client.post("/models/penguins/explain", json=[{"island": "Dream"}])
    >>> sorted(answer.json()["rows"][0])
    ['attributions', 'base_value', 'prediction', 'probabilities', 'raw', 'reasons', 'warnings']
    >>> folder.cleanup()
    """
    metrics = Metrics()
    server = _Server(
        Registry(read_folders(models), metrics), limits or Limits(), metrics, explored or {}
    )
    app = FastAPI(
        lifespan=partial(_lifespan, server, reload_seconds),
        docs_url="/docs" if docs else None,
        redoc_url=None,
    )
    app.include_router(_health(server))
    app.include_router(_describing(server))
    app.include_router(_asking(server))
    app.include_router(live_routes(server.desk))
    app.include_router(page_files())
    app.add_exception_handler(Refusal, lambda _, error: refused(error))
    app.add_exception_handler(InvalidInputError, lambda _, error: unusable_by_model(error))
    app.add_exception_handler(RequestValidationError, _wrong_words)
    app.add_exception_handler(HTTPException, _no_route)  # type: ignore[arg-type]
    if hosts:
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))
    app.add_middleware(Guard, keys=keys, metrics=metrics)
    app.openapi = lambda: add_models(  # type: ignore[method-assign]
        get_openapi(title="sasanet", version=sasanet.__version__, routes=app.routes),
        server.registry,
    )
    return app


@contextlib.asynccontextmanager
async def _lifespan(server: _Server, reload_seconds: float, app: FastAPI) -> AsyncIterator[None]:
    """Answer requests while the application runs; all of them are answered before it ends."""
    del app
    server.batcher = Batcher(server.limits, server.metrics)
    tasks = [
        asyncio.create_task(server.batcher.run()),
        asyncio.create_task(server.registry.watch(reload_seconds)),
    ]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        server.batcher.close()
        server.desk.close()


class _Server:
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
        query = await asyncio.to_thread(lambda: read(read_json(body)))
        request.state.log["rows"] = query.rows.n_rows
        found = await self.ask(query)
        return await asyncio.to_thread(lambda: JSONResponse(write(query, found)))


def _no_route(request: Request, error: HTTPException) -> JSONResponse:
    """Refuse what has no route, without repeating the path."""
    del request
    sentences = {
        404: "There is nothing here; GET /openapi.json lists what there is.",
        405: "This route takes another method; GET /openapi.json lists them.",
    }
    text = sentences.get(error.status_code, "The request cannot be used.")
    return JSONResponse({"error": text}, error.status_code, error.headers)


def _wrong_words(request: Request, error: Exception) -> JSONResponse:
    """Refuse words of an address that cannot be read, without repeating them."""
    del request, error
    return JSONResponse({"error": "The words after '?' must be of the type that is told."}, 422)


def _health(server: _Server) -> APIRouter:
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


def _describing(server: _Server) -> APIRouter:
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


def _asking(server: _Server) -> APIRouter:
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


def _add_verb(router: APIRouter, server: _Server, verb: str) -> None:
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
