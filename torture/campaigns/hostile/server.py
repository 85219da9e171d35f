"""The server that is asked: a real one, as long as this process runs, with keys and rows."""

from __future__ import annotations

import functools
import socket
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from sasanet.serve import Explored, Keys, Limits, make_app, make_key
from sasanet.serve.process import free_port, make_server
from torture.case import expect
from torture.models import small_model

PATIENCE = 20.0  # seconds for one answer
_NAMES = ("two", "three")
_LIMITS = Limits(body_bytes=100_000, rows=50, text_length=200, orders=8, body_seconds=0.3)


@functools.cache
def server() -> tuple[int, str, Any]:
    """Return the port of a server that runs as long as this process, a key, and its schema."""
    place = Path(tempfile.mkdtemp(prefix="torture-serve-"))
    for name, n_classes in zip(_NAMES, (2, 3), strict=True):
        small_model(0, n_classes)[0].save(place / name)
    key, line = make_key("torture", per_minute=10**6)
    explored = {"two": Explored(small_model(0)[1])}
    folders = [place / name for name in _NAMES]
    app = make_app(folders, keys=Keys([line]), limits=_LIMITS, explored=explored)
    running = make_server(app, "127.0.0.1", port := free_port())
    threading.Thread(target=running.run, daemon=True).start()
    end = time.monotonic() + 30
    while not running.started:
        expect(time.monotonic() < end, "the server did not start")
        time.sleep(0.01)
    return port, key, app.openapi()


@functools.cache
def operations() -> list[Any]:
    """Return what schemathesis makes of the schema."""
    import schemathesis

    schema: Any = schemathesis.openapi.from_dict(server()[2])
    return [found.ok() for found in schema.get_all_operations()]


def exchange(*parts: bytes) -> tuple[int, bytes, bytes]:
    """Send bytes and return what came back: status, head, body; no answer at all is status 100."""
    with socket.create_connection(("127.0.0.1", server()[0]), timeout=PATIENCE) as line:
        came = b""
        try:
            for part in parts:
                line.sendall(part)
            line.settimeout(PATIENCE if b" HTTP/1." in parts[0] else 1.0)
            while more := line.recv(65_536):
                came += more
        except (ConnectionError, BrokenPipeError):
            pass  # it ends what it does not understand
        except TimeoutError:
            expect(b" HTTP/1." not in parts[0], "no answer: a hang")
    head, _, body = came.partition(b"\r\n\r\n")
    words = head.split(b" ", 2)
    return (int(words[1]) if len(words) > 1 else 100), head.lower(), body
