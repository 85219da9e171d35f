"""The load of `make bench-serve`: every answer is counted, checked and timed; failures too."""

import asyncio
import json
import threading

import numpy as np
import pandas as pd
import pytest
from fastapi.testclient import TestClient
from lightgbm import LGBMClassifier

from bench.serve.asked import records
from bench.serve.load import ask, post
from bench.serve.rival import keep, make_app


async def _serve_one(reader, writer):
    """Answer doubled numbers; of 13 nothing, of 7 a status of 500."""
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = int(head.partition("content-length:")[2].split("\r\n", 1)[0])
            number = json.loads(await reader.readexactly(length))
            if number == 13:
                break
            body = json.dumps(2 * number).encode()
            status = "500 No" if number == 7 else "200 OK"
            writer.write(
                f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
            )
    except asyncio.IncompleteReadError:
        pass
    finally:
        writer.close()


@pytest.fixture(scope="module")
def port():
    """Start a server of numbers in a thread."""
    started, found = threading.Event(), {}

    async def serve():
        found["loop"], found["end"] = asyncio.get_running_loop(), asyncio.Event()
        async with await asyncio.start_server(_serve_one, "127.0.0.1", 0) as server:
            found["port"] = server.sockets[0].getsockname()[1]
            started.set()
            await found["end"].wait()

    thread = threading.Thread(target=asyncio.run, args=(serve(),), daemon=True)
    thread.start()
    assert started.wait(10)
    yield found["port"]
    found["loop"].call_soon_threadsafe(found["end"].set)
    thread.join(10)


def test_answers_are_counted_and_checked(port):
    numbers = [1, 2, 3]

    def right(number, body):
        return json.loads(body) == 2 * numbers[number]

    asked = [post("/", str(number).encode()) for number in numbers]
    answers, duration = ask(port, asked, 4, 0.3, right)
    found = answers.summary(duration, 1)
    assert found["answers"] == len(answers.seconds) > 20
    assert found["failed"] == found["wrong"] == 0
    assert found["p50_ms"] <= found["p95_ms"] <= found["p99_ms"] < 1_000
    assert found["rows_per_second"] == pytest.approx(found["answers"] / duration)


def test_failures_and_wrong_answers_are_noticed(port):
    answers, _ = ask(port, [post("/", b"7")], 1, 0.1)
    assert answers.failed == len(answers.seconds) > 0
    answers, _ = ask(port, [post("/", b"2")], 1, 0.1, lambda _, body: body == b"5")
    assert answers.wrong == len(answers.seconds) > 0
    answers, _ = ask(port, [post("/", b"13")], 3, 5.0)  # closed without an answer: three failures
    assert (answers.failed, answers.seconds) == (3, [])


def test_the_rival_answers_what_its_trees_say(tmp_path):
    random = np.random.default_rng(0)
    X = pd.DataFrame({"a": random.normal(size=80), "b": random.choice(["x", "y"], 80)})
    X["b"] = X["b"].astype("category")
    model = LGBMClassifier(n_estimators=3, verbose=-1).fit(X, X["a"] > 0)
    keep(model, X, tmp_path)
    with TestClient(make_app(tmp_path)) as client:
        found = client.post("/explain", json=records(X[:20])).json()
    expected = model.predict_proba(X[:20])[:, 1]
    np.testing.assert_allclose([one["prediction"] for one in found], expected)
    assert set(found[0]["attributions"]) == {"a", "b"}
