"""Batches, the queue, time, reloads, metrics and logs of a running server."""

import asyncio
import json
import logging
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from fastapi.testclient import TestClient

from sasanet.errors import InvalidInputError
from sasanet.serve import Limits, batching, inference, make_app
from sasanet.serve.guard import JsonLines
from sasanet.serve.registry import read_folders


@pytest.fixture
def slow(monkeypatch):
    """Make answers wait until they are let go; return the event and the sizes of batches."""
    event, sizes, answer = threading.Event(), [], batching.answer

    def wait(queries, metrics):
        sizes.append(len(queries))
        event.wait(20)
        return answer(queries, metrics)

    monkeypatch.setattr(batching, "answer", wait)
    return event, sizes


def wait_for(holds):
    """Wait until something holds, at most ten seconds."""
    end = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.01)


def test_requests_that_come_together_are_computed_together_and_not_mixed_up(
    folders, models, to_records, slow
):
    event, sizes = slow
    model, table = models["credit"]
    rows = table[:20]
    expected = model.decision_function(rows)
    with TestClient(make_app(folders)) as client, ThreadPoolExecutor(24) as pool:
        first = pool.submit(client.post, "/models/credit/predict", json=[{}])
        wait_for(lambda: sizes == [1])
        jobs = [
            pool.submit(client.post, "/models/credit/explain", json=[record])
            for record in to_records(rows)
        ]
        other = pool.submit(client.post, "/models/birds/explain", json=[{}])
        wait_for(lambda: "sasanet_waiting_rows 21.0" in client.get("/metrics").text)  # not blocked
        event.set()
        found = [job.result().json()["rows"][0]["raw"] for job in jobs]
        assert other.result().json()["model"] == "birds"
        assert first.result().status_code == 200
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    assert sorted(sizes) == [1, 1, 20]


@pytest.mark.parametrize("verb", ["predict", "explain"])
def test_batches_are_computed_in_few_sizes(client, models, to_records, monkeypatch, verb):
    model, table = models["credit"]
    computed, records = set(), to_records(table[:50])
    kind = type(model)
    for name in ("explain_cells", "predict_proba"):
        own = getattr(kind, name)

        def noted(self, rows, own=own):
            computed.add(len(getattr(rows, "cells", rows)))
            return own(self, rows)

        monkeypatch.setattr(kind, name, noted)

    def ask_all():
        computed.clear()
        for count in range(30, 51):
            answer = client.post(f"/models/credit/{verb}", json=records[:count])
            assert len(answer.json()["rows"]) == count
        return answer.json()["rows"]

    def counted():
        text = client.get("/metrics").text
        found = re.search(rf'sasanet_rows_total{{model="credit",verb="{verb}"}} (\d+)', text)
        return int(found[1]) if found else 0

    before = counted()
    shares = [row["probabilities"]["1"] for row in ask_all()]
    assert computed == {30, 32, 36, 40, 44, 48, 52}
    assert counted() - before == sum(range(30, 51))  # those that fill up are nobody's
    np.testing.assert_allclose(shares, model.predict_proba(table[:50])[:, 1], rtol=1e-5, atol=1e-5)
    monkeypatch.setattr(inference, "few_sizes", np.arange)
    ask_all()
    assert len(computed) == 21  # the twin: every size


def test_one_request_that_fails_does_not_spoil_its_neighbours(folders, monkeypatch, slow):
    event, sizes = slow
    waiting = batching.answer

    def fail(queries, metrics):
        if any(query.n_reasons == 7 and query.rows.cells[1][0] == 13 for query in queries):
            raise ArithmeticError("months = 13")
        return waiting(queries, metrics)

    monkeypatch.setattr(batching, "answer", fail)
    with TestClient(make_app(folders[:1])) as client, ThreadPoolExecutor(4) as pool:
        pool.submit(client.post, "/models/credit/predict", json=[{}])
        wait_for(lambda: sizes)
        jobs = [
            pool.submit(
                client.post,
                "/models/credit/explain",
                json={"rows": [{"months": months}], "n_reasons": 7},
            )
            for months in (12, 13, 14)
        ]
        wait_for(lambda: "sasanet_waiting_rows 3.0" in client.get("/metrics").text)
        event.set()
        assert [job.result().status_code for job in jobs] == [200, 500, 200]
        assert "13" not in jobs[1].result().json()["error"].replace(
            jobs[1].result().headers["x-request-id"], ""
        )


def test_a_full_queue_and_a_slow_answer_are_refused_with_503(folders, slow):
    event, sizes = slow
    limits = Limits(rows=10, waiting_rows=10, answer_seconds=0.3)
    with TestClient(make_app(folders[:1], limits=limits)) as client, ThreadPoolExecutor(4) as pool:
        first = pool.submit(client.post, "/models/credit/predict", json=[{}])
        wait_for(lambda: sizes)
        waiting = pool.submit(client.post, "/models/credit/predict", json=[{}] * 10)
        wait_for(lambda: "sasanet_waiting_rows 10.0" in client.get("/metrics").text)
        refused = client.post("/models/credit/predict", json=[{}])
        assert refused.status_code == 503
        assert "waiting" in refused.json()["error"]
        for job in (first, waiting):
            assert job.result().status_code == 503
            assert "longer than 0.3 s" in job.result().json()["error"]
        event.set()
        wait_for(lambda: client.post("/models/credit/predict", json=[{}]).status_code == 200)


def ask(app, receive):
    """Ask an application with a body that comes as ``receive`` says; return what it sends."""
    sent = []

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http", "method": "POST", "path": "/models/credit/predict", "headers": [],
        "query_string": b"", "http_version": "1.1", "scheme": "http", "root_path": "",
    }  # fmt: skip

    async def wait():
        await asyncio.wait_for(app(scope, receive, send), 10)

    asyncio.run(wait())
    return sent


def test_a_body_that_does_not_come_is_refused(folders):
    async def receive():
        await asyncio.sleep(20)

    sent = ask(make_app(folders[:1], limits=Limits(body_seconds=0.05)), receive)
    assert sent[0]["status"] == 408


def test_a_client_that_leaves_is_no_failure_of_the_server(folders, caplog):
    async def receive():
        return {"type": "http.disconnect"}

    app = make_app(folders[:1])
    with caplog.at_level(logging.INFO, "sasanet.serve"):
        assert ask(app, receive) == []
    (line,) = [record for record in caplog.records if record.msg == "request"]
    assert (line.fields["status"], line.levelname) == (499, "INFO")
    with TestClient(app) as client:
        text = client.get("/metrics").text
    assert 'route="/models/{model}/predict",status="499"} 1.0' in text
    assert 'status="500"' not in text


# --- reload -----------------------------------------------------------------------------------


def test_a_model_that_is_saved_anew_is_served_anew_and_no_request_fails(models, tmp_path):
    old, new = models["credit"][0], models["birds"][0]
    old.save(tmp_path / "m")
    app = make_app([tmp_path / "m"], reload_seconds=0.05)
    statuses, stop = [], threading.Event()
    with TestClient(app) as client:

        def ask():
            while not stop.is_set():
                statuses.append(client.post("/models/m/explain", json=[{}]).status_code)

        asking = threading.Thread(target=ask)
        asking.start()
        version = client.get("/models/m").json()["version"]
        new.save(tmp_path / "m")
        wait_for(lambda: client.get("/models/m").json()["version"] != version)
        assert client.get("/models/m").json()["task"] == "multiclass"
        (tmp_path / "broken").write_text("{}")  # cannot be loaded: the last one stays
        (tmp_path / "broken").replace(tmp_path / "m" / "model.json")
        wait_for(lambda: 'outcome="refused"' in client.get("/metrics").text)
        assert client.get("/models/m").json()["task"] == "multiclass"
        old.save(tmp_path / "m")
        wait_for(lambda: client.get("/models/m").json()["version"] == version)
        stop.set()
        asking.join()
        text = client.get("/metrics").text
    assert set(statuses) == {200}
    assert f'sasanet_model_info{{model="m",version="{version}"}} 1.0' in text
    assert text.count("sasanet_model_info{") == 1
    assert 'sasanet_reloads_total{model="m",outcome="refused"} 1.0' in text


def test_names_of_models(tmp_path):
    assert [*read_folders([tmp_path / "a", f"b={tmp_path}/x"])] == ["a", "b"]
    for bad in ([], ["a", "b/a"], ["a b"], ["x/y=m"], [f"{'n' * 65}=m"]):
        with pytest.raises(InvalidInputError):
            read_folders(bad)


# --- metrics and logs ---------------------------------------------------------------------------


def test_metrics_count_rows_routes_and_drift(folders):
    with TestClient(make_app(folders[:1])) as client:
        client.post("/models/credit/explain", json=[{"months": 999, "status": "rich"}] * 3)
        client.post("/models/credit/predict", json=[{"months": 12}])
        client.get("/a-path-of-the-client")
        text = client.get("/metrics").text
    for line in (
        'sasanet_rows_total{model="credit",verb="explain"} 3.0',
        'sasanet_rows_total{model="credit",verb="predict"} 1.0',
        'sasanet_requests_total{route="/models/{model}/explain",status="200"} 1.0',
        'sasanet_requests_total{route="other",status="404"} 1.0',
        'sasanet_request_seconds_count{route="/models/{model}/explain"} 1.0',
        'sasanet_request_seconds_count{route="/models/{model}/predict"} 1.0',
        "sasanet_waiting_rows 0.0",
        'sasanet_strange_cells_total{column="months",kind="out_of_range",model="credit"} 3.0',
        'sasanet_strange_cells_total{column="status",kind="unknown_level",model="credit"} 3.0',
        'sasanet_strange_cells_total{column="status",kind="missing",model="credit"} 1.0',
        'sasanet_strange_cells_total{column="purpose",kind="missing",model="credit"} 4.0',
    ):
        assert line in text
    assert 'sasanet_recent_attribution{column="months",model="credit"}' in text
    assert 'sasanet_training_attribution{column="months",model="credit"}' in text
    assert "a-path-of-the-client" not in text


def test_logs_have_one_line_per_request_and_no_cell(folders, caplog):
    with (
        caplog.at_level(logging.INFO, "sasanet.serve"),
        TestClient(make_app(folders[:1])) as client,
    ):
        client.post(
            "/models/credit/explain",
            json=[{"status": "a secret", "shoe": "another"}],
            headers={"X-Request-ID": "r1"},
        )
        client.post("/models/credit/explain", json=[{"months": "third secret"}])
        client.get("/secret/path")
    lines = [JsonLines().format(record) for record in caplog.records if record.msg == "request"]
    found = [json.loads(line) for line in lines]
    assert len(found) == 3
    assert found[0]["id"] == "r1"
    assert found[0]["rows"] == 1
    assert found[0]["model"] == "credit"
    assert [one["status"] for one in found] == [200, 422, 404]
    assert not any("secret" in line or "another" in line for line in lines)
