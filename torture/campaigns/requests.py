"""Requests of every protocol, as they should be and changed at random, to a server of small models.

A request that was left as it should be must get what the model itself says. A changed one gets an
answer or a refusal in one sentence; never a status of 500, and nothing about files and code.
"""

from __future__ import annotations

import functools
import json
import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from fastapi.testclient import TestClient

from sasanet.serve import make_app
from torture.case import REFUSED, RIGHT, Outcome, expect
from torture.draw import Draw
from torture.models import small_model

_CLASSES = {"two": 2, "three": 3, "numbers": 0}
_LONGEST_SENTENCE = 400
_SECRETS = ("Traceback", ".py", "site-packages", "torture-")
_ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 3, 1e308, -1e-320, 10**30, 10**400, math.nan, math.inf, "", "Rome",
    "x" * 2_000, "\x00\x1b[31m", "\u202e\u2028", "\ud800", "<script>", "../../etc/passwd", [], {},
    [[]], [{}], {"rows": []}, [None] * 50, {"": None}, {"age": {"age": {"age": []}}}, "1e5", "NaN",
)  # fmt: skip


@functools.cache
def _server() -> tuple[TestClient, dict[str, Any]]:
    """Return a client of a server that runs as long as this process, and its models."""
    place, models = Path(tempfile.mkdtemp(prefix="torture-serve-")), {}
    for name, n_classes in _CLASSES.items():
        models[name] = small_model(0, n_classes)
        models[name][0].save(place / name)
    client = TestClient(make_app([place / name for name in models]))
    client.__enter__()
    return client, models


def run(seed: int) -> Outcome:
    """Send one request and look at the answer."""
    draw = Draw("requests", seed)
    client, models = _server()
    name = draw.one_of([*_CLASSES])
    model, X = models[name]
    rows = X.sample(draw.between(1, 4), random_state=draw.between(0, 9_999))
    protocol = draw.one_of([*_PROTOCOLS])
    path, body = _PROTOCOLS[protocol](name, _records(rows))
    changed = draw.happens(0.9)
    content = _changed(draw, body) if changed else _written(body)
    answer = client.post(path, content=content)
    if changed:
        return Outcome.of(_check(answer))
    expect(answer.status_code == 200, f"{protocol} refused a good request: {answer.text[:120]}")
    found = _predictions(protocol, answer.json())
    right = model.predict(rows).tolist()
    expect(np.allclose(found, right, rtol=1e-6), f"{protocol} answers {found}, not {right}")
    return Outcome.of(RIGHT)


def _check(answer: Any) -> str:
    """Expect an answer of finite numbers, or a refusal in one sentence."""
    expect(answer.status_code < 500, f"status {answer.status_code}: {answer.text[:120]}")
    text = answer.text
    found = json.loads(text, parse_constant=lambda word: expect(False, f"{word} in an answer"))
    expect(not any(word in text for word in _SECRETS), f"an answer tells too much: {text[:120]}")
    if answer.status_code == 200:
        return RIGHT
    sentence = found["error"]
    expect(len(sentence) <= _LONGEST_SENTENCE, f"a refusal of {len(sentence)} characters")
    expect("\n" not in sentence and sentence.endswith("."), f"no sentence: {sentence!r}")
    return REFUSED


# --- requests as they should be ----------------------------------------------------------------


def _records(rows: Any) -> list[dict[str, Any]]:
    """Return rows as JSON has them; a missing cell is left out or null."""
    found: list[dict[str, Any]] = json.loads(rows.to_json(orient="records"))
    return found


def _own(name: str, records: list[dict[str, Any]]) -> tuple[str, Any]:
    return f"/models/{name}/explain", {"rows": records, "n_reasons": 3}


def _kserve(name: str, records: list[dict[str, Any]]) -> tuple[str, Any]:
    return f"/v1/models/{name}:predict", {"instances": records}


def _mlflow(name: str, records: list[dict[str, Any]]) -> tuple[str, Any]:
    return f"/invocations?model={name}", {"dataframe_records": records}


def _open_inference(name: str, records: list[dict[str, Any]]) -> tuple[str, Any]:
    kinds = {"age": "FP64", "income": "FP64", "city": "BYTES", "member": "BOOL"}
    inputs = [
        {"name": column, "shape": [len(records)], "datatype": kind,
         "data": [record.get(column) for record in records]}
        for column, kind in kinds.items()
    ]  # fmt: skip
    return f"/v2/models/{name}/infer", {"inputs": inputs}


_PROTOCOLS = {"own": _own, "KServe": _kserve, "MLflow": _mlflow, "OIP": _open_inference}


def _predictions(protocol: str, answer: Any) -> list[Any]:
    """Return the predictions of an answer, whatever its protocol."""
    if protocol == "own":
        return [row["prediction"] for row in answer["rows"]]
    if protocol == "OIP":
        (found,) = [out for out in answer["outputs"] if out["name"] == "prediction"]
        return list(found["data"])
    return list(answer["predictions"])


# --- and as they should not ---------------------------------------------------------------------


def _written(body: Any) -> bytes:
    return json.dumps(body).encode("utf-8", "surrogatepass")


def _changed(draw: Draw, body: Any) -> bytes:
    """Return a body with some places, bytes or its depth changed."""
    how = draw.between(0, 9)
    if how < 7:
        for _ in range(draw.between(1, 3)):
            body = _replaced(draw, body)
        return _written(body)
    content = bytearray(_written(body))
    if how == 7:
        return bytes(content[: draw.between(0, len(content))])
    if how == 8:
        return b"[" * draw.between(1, 100_000) + bytes(content)
    for _ in range(draw.between(1, 8)):
        content[draw.between(0, len(content) - 1)] = draw.between(0, 255)
    return bytes(content)


def _replaced(draw: Draw, body: Any) -> Any:
    """Return JSON in which one place, anywhere, is something odd, is gone or is there twice."""
    if not body or not isinstance(body, dict | list) or draw.happens(0.1):
        return draw.one_of(_ODD)
    if isinstance(body, list):
        place = draw.between(0, len(body) - 1)
        if draw.happens(0.1):
            return body[:place] + body[place:] * 2
        return [*body[:place], _replaced(draw, body[place]), *body[place + 1 :]]
    key = draw.one_of([*body])
    rest = {name: value for name, value in body.items() if name != key}
    if draw.happens(0.1):
        return rest
    if draw.happens(0.1):
        return rest | {str(draw.one_of(_ODD)): body[key]}
    return rest | {key: _replaced(draw, body[key])}
