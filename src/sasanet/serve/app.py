"""The ASGI application: routes, what stands around them, and how they begin and end."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware

import sasanet
from sasanet.errors import InvalidInputError
from sasanet.serve.batching import Batcher
from sasanet.serve.guard import Guard, refused, unusable_by_model
from sasanet.serve.keys import Keys
from sasanet.serve.limits import Limits, Refusal
from sasanet.serve.live.explored import Explored
from sasanet.serve.live.files import page_files
from sasanet.serve.live.routes import live_routes
from sasanet.serve.metrics import Metrics
from sasanet.serve.registry import Registry, read_folders
from sasanet.serve.routing.openapi import add_models
from sasanet.serve.routing.routes import Server, asking, describing, health
from sasanet.serve.routing.shortcut import Shortcut


def make_app(  # noqa: PLR0913 - one argument per thing to decide
    models: Sequence[str | Path],
    *,
    keys: Keys | None = None,
    limits: Limits | None = None,
    reload_seconds: float = 2.0,
    docs: bool = False,
    explored: Mapping[str, Explored] | None = None,
    hosts: Sequence[str] = (),
    origins: Sequence[str] = (),
    log_bodies: bool = False,
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
    origins : sequence of str
        Sites whose pages may read answers in a browser (CORS), such as ``"https://shop.example"``;
        by default none.
    log_bodies : bool
        Whether the log has the bodies of requests, rows and all.

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
    server = Server(
        Registry(read_folders(models), metrics), limits or Limits(), metrics, explored or {}
    )
    app = FastAPI(
        lifespan=partial(_lifespan, server, reload_seconds),
        docs_url="/docs" if docs else None,
        redoc_url=None,
    )
    app.include_router(health(server))
    app.include_router(describing(server))
    app.include_router(routes := asking(server))
    app.include_router(live_routes(server.desk))
    app.include_router(page_files())
    app.add_exception_handler(Refusal, lambda _, error: refused(error))
    app.add_exception_handler(InvalidInputError, lambda _, error: unusable_by_model(error))
    app.add_exception_handler(RequestValidationError, _wrong_words)
    app.add_exception_handler(HTTPException, _no_route)  # type: ignore[arg-type]
    app.add_middleware(Shortcut, routes=routes.routes)
    if hosts:
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))
    app.add_middleware(Guard, keys=keys, metrics=metrics, log_bodies=log_bodies)
    if origins:  # around the guard: browsers ask whether they may ask without a key
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(origins),
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type", "X-Request-ID"],
            expose_headers=["X-Request-ID", "Retry-After"],
        )
    app.openapi = lambda: add_models(  # type: ignore[method-assign]
        get_openapi(title="sasanet", version=sasanet.__version__, routes=app.routes),
        server.registry,
    )
    return app


@contextlib.asynccontextmanager
async def _lifespan(server: Server, reload_seconds: float, app: FastAPI) -> AsyncIterator[None]:
    """Answer requests while the application runs; all of them are answered before it ends."""
    del app
    server.batcher = Batcher(server.limits, server.metrics)
    server.desk.open()
    # Reading and writing JSON wait for each other anyway; more threads would only hold more memory.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(2, "sasanet-json"))
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
