"""Hostile requests to a real server: drawn from its own OpenAPI schema, and from a list of tricks.

Drawn requests are good and bad ones by turns (schemathesis); the tricks are bytes on a socket: what
no client library would send. All routes are asked, those of the live page too.
"""

from __future__ import annotations

import functools
import json
import socket
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from sasanet.serve import Explored, Keys, Limits, make_app, make_key
from sasanet.serve.process import free_port, make_server
from torture.case import REFUSED, RIGHT, Outcome, expect
from torture.draw import Draw
from torture.models import small_model

DRAWN = 10  # requests of one case that draws them from the schema
_SECRETS = (b"Traceback", b".py", b"site-packages", b"torture-", b"/tmp/", b"a secret of a row")
_PATIENCE = 20.0  # seconds for one answer
_LONGEST_SENTENCE = 400
_NAMES = ("two", "three")
_LIMITS = Limits(body_bytes=100_000, rows=50, text_length=200, orders=8, body_seconds=0.3)


@functools.cache
def _server() -> tuple[int, str, Any]:
    """Return the port of a server that runs as long as this process, a key, and its schema."""
    place = Path(tempfile.mkdtemp(prefix="torture-serve-"))
    for name, n_classes in zip(_NAMES, (2, 3), strict=True):
        small_model(0, n_classes)[0].save(place / name)
    key, line = make_key("torture", per_minute=10**6)
    explored = {"two": Explored(small_model(0)[1])}
    folders = [place / name for name in _NAMES]
    app = make_app(folders, keys=Keys([line]), limits=_LIMITS, explored=explored)
    server = make_server(app, "127.0.0.1", port := free_port())
    threading.Thread(target=server.run, daemon=True).start()
    end = time.monotonic() + 30
    while not server.started:
        expect(time.monotonic() < end, "the server did not start")
        time.sleep(0.01)
    return port, key, app.openapi()


@functools.cache
def _operations() -> list[Any]:
    """Return what schemathesis makes of the schema."""
    import schemathesis

    schema: Any = schemathesis.openapi.from_dict(_server()[2])
    return [found.ok() for found in schema.get_all_operations()]


def run(seed: int) -> Outcome:
    """Send some requests drawn from the schema, or play one trick, and look at the answers."""
    draw = Draw("hostile", seed)
    if draw.happens(0.5):
        return Outcome(dict(_drawn(draw)))
    trick = draw.one_of(TRICKS)
    status, head, body = exchange(*trick(draw))
    return Outcome.of(check(status, head, body))


def check(status: int, head: bytes, body: bytes) -> str:
    """Expect an answer, or a refusal in one sentence, that tells nothing about files and rows."""
    expect(100 <= status < 500 or status == 503, f"status {status}: {body[:120]!r}")
    told = next((word for word in _SECRETS if word in head + body), None)
    expect(told is None, f"an answer tells {told!r}")
    if status < 400:
        return RIGHT
    if b"application/json" in head:
        sentence = json.loads(body)["error"]
        expect(len(sentence) <= _LONGEST_SENTENCE, f"a refusal of {len(sentence)} characters")
        expect("\n" not in sentence, f"lines, not a sentence: {sentence!r}")
        expect(sentence.endswith("."), f"no sentence: {sentence!r}")
    return REFUSED


# --- by the schema --------------------------------------------------------------------------------


def _drawn(draw: Draw) -> Counter[str]:
    """Send requests to one operation, such as its schema allows or such as it does not."""
    from hypothesis import HealthCheck, Phase, given, seed, settings
    from hypothesis.errors import Unsatisfiable
    from schemathesis import GenerationMode

    operation = draw.one_of(_operations())
    mode = draw.one_of((GenerationMode.POSITIVE, GenerationMode.NEGATIVE))
    found, key = Counter[str](), _server()[1]

    @seed(draw.between(0, 2**32))
    @settings(
        max_examples=DRAWN,
        database=None,
        deadline=None,
        suppress_health_check=[*HealthCheck],
        phases=[Phase.generate],
    )
    @given(operation.as_strategy(generation_mode=mode))
    def send(case: Any) -> None:
        request = case.as_transport_kwargs(base_url="http://127.0.0.1")
        found[check(*_sent(request, key))] += 1

    try:
        send()
    except Unsatisfiable:  # nothing about this operation can be wrong: ask it as it is
        found[check(*exchange(_request(operation.method.upper(), operation.path)))] += 1
    return found


def _sent(request: dict[str, Any], key: str) -> tuple[int, bytes, bytes]:
    """Send what schemathesis describes as arguments of a client."""
    import requests

    headers = {name: value for name, value in request.pop("headers").items() if name != "Cookie"}
    headers.setdefault("Authorization", f"Bearer {key}")
    request.pop("cookies", None)
    url = request.pop("url").replace("http://127.0.0.1", f"http://127.0.0.1:{_server()[0]}")
    answer = requests.request(url=url, headers=headers, timeout=_PATIENCE, **request)
    return answer.status_code, str(answer.headers).encode(), answer.content


# --- tricks: each returns parts of bytes, to be sent one after the other ------------------------

Parts = tuple[bytes, ...]
_ROW = {"age": 31, "income": 1000.0, "city": "a secret of a row", "member": True}
_BODIES: tuple[bytes, ...] = (
    b"", b"{", b"nul", b"\xff\xfe{}", b"[" * 40_000, b'{"a":' * 9_000, b"9" * 20_000, b"\x00" * 50,
    b'{"rows": [{"age": 1, "age": 2}]}', b'{"row": {}, "row": {}}', b'{"rows": [], "rows": [{}]}',
    b'[{"age": 1e999}]', b'[{"age": -Infinity}]', b'[{"age": NaN}]', b'[{"age": 1' + b"0" * 400 +
    b"}]", b'[{"city": "\x1b[31m\x07"}]', b'[{"city": "\\ud800"}]', b'[{"city": "\\u0000"}]',
    b'{"rows": [{}], "n_orders": 1e9}', b'{"rows": [{}], "only": {"age": 1}}', b"age,city\n1,2,3\n",
    b"age\n\xff\n", b'age\n"', b"age;age\n1;2\n", b"city\n=cmd()\n", b"age\n1e999\n", b"age\nnan\n",
    b'{"row": {}, "groups": {"a": ["age", "age"]}}', b'{"row": {}, "groups": {"a": "age"}}',
    b'{"row": {}, "threshold": 1e308, "change": {"age": [1, -1]}}',
    b'{"row": {}, "threshold": 0, "change": {"city": [true, 1e300, "x"]}}',
    b'{"row": [], "count": 0}', b'{"row": {"age": {}}}', b"\xef\xbb\xbf[{}]",
)  # fmt: skip
_PATHS: tuple[bytes, ...] = (
    b"/../../etc/passwd", b"/page/../../../etc/passwd", b"/page/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    b"/page/index.html%00.js", b"/page/", b"/page//etc/passwd", b"/models/..%5c..%5cboot.ini/live",
    b"//127.0.0.1/models", b"/models/two%0d%0aX-Evil:%201", b"/models/%ff%fe/rows", b"/models//",
    b"/models/two/rows?start=-1&count=9" + b"9" * 500, b"/models/two/rows?words=%00%1b%ff",
    b"/models/two/rows?start=0x10&start=1", b"/models/" + b"x" * 9_000, b"/" + b"a/" * 5_000,
    b"/models/two/rows?" + b"words=a&" * 2_000, b"/models/{model}/live", b"/?model=<script>", b"*",
    b"/v2/models/two/versions/1/infer", b"/v1/models/two:delete", b"/metrics?x=%0a", b"/docs",
    b"/models/two;x=1/live", b"/%2e%2e/", b"/models/two/live#x", b"http://other/models",
)  # fmt: skip


def _request(
    method: str, path: str | bytes, body: bytes = b"", extra: bytes = b"", key: str | None = None
) -> bytes:
    path = path.encode() if isinstance(path, str) else path
    key = _server()[1] if key is None else key
    head = b"%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" % (method.encode(), path)
    head += b"Authorization: Bearer " + key.encode() + b"\r\n" if key else b""
    length = b"Content-Length: %d\r\n" % len(body) if body or method == "POST" else b""
    return head + length + extra + b"\r\n" + body


def _asked(draw: Draw) -> str:
    """Return a path that takes a body."""
    paths = [operation.path for operation in _operations() if operation.method == "post"]
    return draw.one_of(paths)


def _odd_body(draw: Draw) -> Parts:
    return (_request("POST", _asked(draw), draw.one_of(_BODIES)),)


def _odd_path(draw: Draw) -> Parts:
    method = draw.one_of(("GET", "POST", "HEAD", "PUT", "OPTIONS", "TRACE", "get", "X" * 40))
    return (_request(method, draw.one_of(_PATHS)),)


def _wrong_key(draw: Draw) -> Parts:
    keys = ("x", "é" * 20, "x" * 5_000, "\x01", "' or 1=1", _server()[1][:-1], _server()[1] + "x")
    extra = draw.one_of((b"", b"Authorization: Basic eDp4\r\n", b"Authorization:\r\n"))
    body = json.dumps({"rows": [_ROW], "row": _ROW}).encode()
    return (_request("POST", _asked(draw), body, extra, key=draw.one_of(keys)),)


def _odd_head(draw: Draw) -> Parts:
    heads = (
        b"Content-Length: 5\r\n", b"Content-Length: -1\r\n", b"Content-Length: 1e3\r\n",
        b"Transfer-Encoding: chunked\r\n", b"Transfer-Encoding: gzip\r\n", b"X: " + b"y" * 70_000 +
        b"\r\n", b"X-Request-ID: a\x00b\r\n", b"X-Request-ID: ${jndi:ldap://x}\r\n", b": x\r\n",
        b"Expect: 100-continue\r\n", b"Content-Type: application/xml\r\n", b"Host: evil\r\n",
        b"Content-Encoding: gzip\r\n", b"Upgrade: websocket\r\nConnection: Upgrade\r\n",
        b"Range: bytes=0-999999999\r\n", b"Cookie: " + b"a=b;" * 900 + b"\r\n",
    )  # fmt: skip
    return (_request("POST", _asked(draw), b"[{}]", draw.one_of(heads)),)


def _slow_body(draw: Draw) -> Parts:
    """Promise a body, send a part, and wait: the server must not."""
    whole = _request("POST", _asked(draw), json.dumps({"rows": [_ROW]}).encode())
    return (whole[: -draw.between(1, 20)],)


def _parts_of_body(draw: Draw) -> Parts:
    whole = _request("POST", _asked(draw), json.dumps({"rows": [{}], "row": {}}).encode())
    cut = draw.between(1, len(whole) - 1)
    return whole[:cut], whole[cut:]


def _chunks(draw: Draw) -> Parts:
    head = _request("POST", _asked(draw), b"", b"Transfer-Encoding: chunked\r\n")
    head = head.replace(b"Content-Length: 0\r\n", b"")
    chunks = (
        b"2\r\n[{\r\n2\r\n}]\r\n0\r\n\r\n", b"zz\r\n", b"ffffffffffffffff\r\n[", b"-1\r\n[\r\n",
        b"0\r\n\r\n", b"30D40\r\n" + b" " * 200_000 + b"\r\n0\r\n\r\n",
    )  # fmt: skip
    return head, draw.one_of(chunks)


def _no_http(draw: Draw) -> Parts:
    lines = (
        b"\x16\x03\x01\x02\x00\x01\x00", b"GET\r\n\r\n", b"\r\n\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
        b"SSH-2.0-x\r\n", b"\x00" * 100, b"GET /ping HTTP/1.1\r\n" + b"a: b\r\n" * 5_000 + b"\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"GET /ping\r\n\r\n",
    )  # fmt: skip
    return (draw.one_of(lines),)


TRICKS = (
    _odd_body, _odd_body, _odd_body, _odd_path, _odd_path, _wrong_key, _odd_head, _parts_of_body,
    _chunks, _no_http, _slow_body,
)  # fmt: skip


def exchange(*parts: bytes) -> tuple[int, bytes, bytes]:
    """Send bytes and return what came back: status, head, body; no answer at all is status 100."""
    with socket.create_connection(("127.0.0.1", _server()[0]), timeout=_PATIENCE) as line:
        came = b""
        try:
            for part in parts:
                line.sendall(part)
            line.settimeout(_PATIENCE if b" HTTP/1." in parts[0] else 1.0)
            while more := line.recv(65_536):
                came += more
        except (ConnectionError, BrokenPipeError):
            pass  # it ends what it does not understand
        except TimeoutError:
            expect(b" HTTP/1." not in parts[0], "no answer: a hang")
    head, _, body = came.partition(b"\r\n\r\n")
    words = head.split(b" ", 2)
    return (int(words[1]) if len(words) > 1 else 100), head.lower(), body
