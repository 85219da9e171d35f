"""Hostile requests to a real server: drawn from its own OpenAPI schema, and from a list of tricks.

Drawn requests are good and bad ones by turns (schemathesis); the tricks are bytes on a socket: what
no client library would send. All routes are asked, those of the live page too.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from torture.campaigns.hostile.server import PATIENCE, exchange, operations, server
from torture.campaigns.hostile.tricks import TRICKS, request
from torture.case import REFUSED, RIGHT, Outcome, expect
from torture.draw import Draw

DRAWN = 10  # requests of one case that draws them from the schema
_SECRETS = (b"Traceback", b".py", b"site-packages", b"torture-", b"/tmp/", b"a secret of a row")
_LONGEST_SENTENCE = 400
prepare = operations  # the server's start took the first case a minute on a busy machine


def run(seed: int) -> Outcome:
    """Send some requests drawn from the schema, or play one trick, and look at the answers."""
    draw = Draw("hostile", seed)
    if draw.happens(0.5):
        return Outcome(dict(_drawn(draw)))
    parts = draw.one_of(TRICKS)(draw)
    status, head, body = exchange(*parts)
    if parts[0].startswith(b"HEAD"):  # asks for no body, and gets none
        expect(body == b"", "a body after HEAD")
        body = b'{"error": "."}'
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

    operation = draw.one_of(operations())
    mode = draw.one_of((GenerationMode.POSITIVE, GenerationMode.NEGATIVE))
    found, key = Counter[str](), server()[1]

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
        described = case.as_transport_kwargs(base_url="http://127.0.0.1")
        found[check(*_sent(described, key))] += 1

    try:
        send()
    except Unsatisfiable:  # nothing about this operation can be wrong: ask it as it is
        found[check(*exchange(request(operation.method.upper(), operation.path)))] += 1
    return found


def _sent(described: dict[str, Any], key: str) -> tuple[int, bytes, bytes]:
    """Send what schemathesis describes as arguments of a client."""
    import requests

    headers = {name: value for name, value in described.pop("headers").items() if name != "Cookie"}
    headers.setdefault("Authorization", f"Bearer {key}")
    described.pop("cookies", None)
    url = described.pop("url").replace("http://127.0.0.1", f"http://127.0.0.1:{server()[0]}")
    answer = requests.request(url=url, headers=headers, timeout=PATIENCE, **described)
    return answer.status_code, str(answer.headers).encode(), answer.content
