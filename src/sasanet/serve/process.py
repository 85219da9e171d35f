"""The server process: where it listens, TLS, logs, and an end that drops no request."""

from __future__ import annotations

import gc
import ipaddress
import logging
import socket
import sys
from pathlib import Path
from typing import Any

import torch
import uvicorn

from sasanet.errors import InvalidInputError
from sasanet.malloc import share_heaps
from sasanet.serve.guard import LOG, JsonLines

_GRACE = 30  # seconds that requests have to end after SIGTERM
_MOST_CONNECTIONS = 1_000
_HEAPS = 2  # of all threads: so that memory stays what it is while requests come and go


def run(
    app: Any,
    *,
    host: str = "127.0.0.1",
    port: int = 8080,
    certificate: Path | None = None,
    certificate_key: Path | None = None,
    threads: int = 1,
) -> None:
    """Serve an application until SIGTERM or SIGINT, then finish what has begun.

    Parameters
    ----------
    app : ASGI application
        As :func:`make_app` returns it.
    host, port : str, int
        Where to listen.
    certificate, certificate_key : Path, optional
        PEM files for TLS.
    threads : int
        Threads of torch, in this whole process. More than one compute a large request faster, and
        slow many small ones down: they wait for each other, and take the cores of the network.

    Examples
    --------
    >>> from sasanet.serve import make_app, run
    >>> run(make_app(["models/credit"]), port=8080)  # doctest: +SKIP
    """
    torch.set_num_threads(threads)
    share_heaps(_HEAPS)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    LOG.handlers, LOG.propagate = [handler], False
    LOG.setLevel(logging.INFO)
    server = make_server(app, host, port, certificate, certificate_key)
    LOG.info("start", extra={"fields": {"host": host, "port": port}})
    _spare_what_stays()
    server.run()
    if not server.started:
        raise InvalidInputError(
            f"The server must be able to listen at {host}:{port}, got a refusal of the system; "
            "choose another port"
        )


def _spare_what_stays() -> None:
    """Keep the collector of garbage from looking through all packages and models again and again.

    It would do so about once a second under load, and all requests wait for it meanwhile.
    """
    gc.collect()
    gc.freeze()


def make_server(
    app: Any,
    host: str,
    port: int,
    certificate: Path | None = None,
    certificate_key: Path | None = None,
) -> uvicorn.Server:
    """Return a server that does not listen yet."""
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_config=None,
        ws="none",
        access_log=False,  # the guard writes one line per request, without paths
        server_header=False,
        proxy_headers=False,  # whose address a request has is not asked, so nobody can pretend one
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_graceful_shutdown=_GRACE,
        ssl_certfile=certificate,
        ssl_keyfile=certificate_key,
    )
    return uvicorn.Server(config)


def free_port() -> int:
    """Return a port of this machine where nobody listens.

    Examples
    --------
    >>> free_port() > 1023
    True
    """
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        found: int = one.getsockname()[1]
    return found


def check_reach(host: str, has_keys: bool, insecure: bool) -> None:
    """Refuse to listen beyond this machine without keys, unless that is said to be wanted.

    Examples
    --------
    >>> check_reach("127.0.0.1", has_keys=False, insecure=False)
    >>> check_reach("0.0.0.0", has_keys=True, insecure=False)
    """
    if has_keys or insecure or _is_loopback(host):
        return
    raise InvalidInputError(
        f"A server beyond this machine must have keys, got host {host!r} without --keys; give a "
        "file of keys, or --insecure to let everybody ask"
    )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
