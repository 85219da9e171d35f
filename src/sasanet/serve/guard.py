"""What every request passes: an id, the key, safe headers, metrics, one line of log.

The log names the route and the model, never a path as it was sent, and no cell of a row unless that
is asked for.
"""

from __future__ import annotations

import json
import logging
import random
import re
import time
from typing import Any

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sasanet.errors import InvalidInputError
from sasanet.serve.keys import Keys
from sasanet.serve.limits import Refusal
from sasanet.serve.metrics import Metrics

LOG = logging.getLogger("sasanet.serve")
OPEN = ("/", "/ping", "/health", "/v2/health/live", "/v2/health/ready")  # without a key
_PAGE = "/page/"  # what the live page is made of; every question it asks needs the key
_ID = re.compile(r"[\w.-]{1,64}", re.ASCII)
_LEFT = 499  # in log and metrics: the client went before it had sent all; there is no answer
_POLICY_NAME = b"content-security-policy"
_POLICY = b"default-src 'none'; frame-ancestors 'none'"
_SAFE = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
# FastAPI's page of documentation loads its scripts from there; it is off by default.
_DOCS_POLICY = (
    b"default-src 'none'; connect-src 'self'; img-src 'self' data: https://fastapi.tiangolo.com; "
    b"script-src 'unsafe-inline' https://cdn.jsdelivr.net; "
    b"style-src 'unsafe-inline' https://cdn.jsdelivr.net; frame-ancestors 'none'"
)


class Guard:
    """ASGI middleware around all routes; ``log_bodies`` writes what was sent into the log."""

    def __init__(
        self, app: ASGIApp, keys: Keys | None, metrics: Metrics, log_bodies: bool = False
    ) -> None:
        self._app, self._keys, self._metrics = app, keys, metrics
        self._log_bodies = log_bodies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass one request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, status = time.perf_counter(), 0
        headers = Headers(scope=scope)
        name = _name_of(headers)
        scope["state"] = {**scope.get("state", {}), "log": {}}

        async def send_safely(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                _add_headers(message, name, scope["path"])
            await send(message)

        note = scope["state"]["log"]
        receive = _noting(receive, note) if self._log_bodies else receive
        try:
            note["key"] = self._admit(scope["path"], headers)
            await self._app(scope, receive, send_safely)
        except InvalidInputError as error:
            await _refusal(error)(scope, receive, send_safely)
        except ClientDisconnect:
            status = status or _LEFT
        except Exception as error:
            note["error"] = _place(error)
            if not status:
                await _failed(name)(scope, receive, send_safely)
        self._note(scope, status, time.perf_counter() - start, name)

    def _admit(self, path: str, headers: Headers) -> str | None:
        """Return the name of the key; None where none is needed."""
        if self._keys is None or path in OPEN or path.startswith(_PAGE):
            return None
        scheme, _, key = headers.get("authorization", "").partition(" ")
        return self._keys.admit(key.strip() if scheme.lower() == "bearer" else "")

    def _note(self, scope: Scope, status: int, seconds: float, name: str) -> None:
        """Write one line of log and count the request."""
        route = getattr(scope.get("route"), "path", "other")
        self._metrics.requests.labels(route, str(status)).inc()
        self._metrics.seconds.labels(route).observe(seconds)
        found = {"id": name, "method": scope["method"], "route": route, "status": status}
        found |= {"seconds": round(seconds, 6), **scope["state"]["log"]}
        level = logging.ERROR if status >= 500 and "error" in found else logging.INFO
        LOG.log(level, "request", extra={"fields": found})


def _name_of(headers: Headers) -> str:
    """Return the id that a request was given, if it is one, or a new one."""
    given = headers.get("x-request-id", "")
    return given if _ID.fullmatch(given) else f"{random.getrandbits(128):032x}"


def _refusal(error: InvalidInputError) -> JSONResponse:
    """Return why a request is not answered: our own reason, or the model's."""
    return refused(error) if isinstance(error, Refusal) else unusable_by_model(error)


def _noting(receive: Receive, note: dict[str, Any]) -> Receive:
    """Return what receives a body, and writes down as much of it as was read."""

    async def receive_and_note() -> Message:
        message = await receive()
        if part := message.get("body", b""):
            note["body"] = note.get("body", "") + part.decode(errors="replace")
        return message

    return receive_and_note


def refused(refusal: Refusal) -> JSONResponse:
    """Return a refusal as an answer: one sentence."""
    return JSONResponse({"error": str(refusal)}, refusal.status, refusal.headers)


def unusable_by_model(error: InvalidInputError) -> JSONResponse:
    """Return what a model said about a request that it cannot use."""
    sentence = " ".join(str(error).split())
    return JSONResponse({"error": sentence.rstrip(".") + "."}, 422)


def _failed(name: str) -> JSONResponse:
    return JSONResponse({"error": f"The server failed; its log names the request {name}."}, 500)


def _place(error: Exception) -> str:
    """Return the type of an error and where it was raised; its words may repeat a row."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return type(error).__name__
    return f"{type(error).__name__} in {trace.tb_frame.f_code.co_qualname}:{trace.tb_lineno}"


def _add_headers(message: Message, name: str, path: str) -> None:
    headers = [*message.get("headers", ()), *_SAFE, (b"x-request-id", name.encode())]
    if not any(key.lower() == _POLICY_NAME for key, _ in headers):
        headers.append((_POLICY_NAME, _DOCS_POLICY if path == "/docs" else _POLICY))
    message["headers"] = headers


class JsonLines(logging.Formatter):
    """One JSON object per line of log."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, Any] = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
        }
        return json.dumps(line | getattr(record, "fields", {}))
