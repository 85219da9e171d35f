"""How a server is reached: by TLS, from pages of other sites, and what its log keeps of it."""

import gc
import json
import logging
import shutil
import ssl
import subprocess
import threading
import time
import urllib.request
from types import SimpleNamespace

import pytest
from fastapi.testclient import TestClient

from cli_run import run
from sasanet import serve as room
from sasanet.serve import Keys, Limits, make_app, make_key, process
from sasanet.serve.guard import JsonLines
from sasanet.serve.process import free_port, make_server

SHOP, OTHER = "https://shop.example", "https://other.example"


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes the certificate")
def test_it_speaks_tls_with_a_certificate(folders, tmp_path):
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    made = f"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout {key} -out {certificate}"
    made += " -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1"
    subprocess.run(made.split(), check=True, capture_output=True)
    port = free_port()
    running = make_server(make_app(folders[:1]), "127.0.0.1", port, certificate, key)
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    try:
        end = time.monotonic() + 30
        while not running.started:
            assert time.monotonic() < end
            time.sleep(0.01)
        trusted = ssl.create_default_context(cafile=certificate)
        asked = urllib.request.Request(f"https://127.0.0.1:{port}/models/credit/explain", b"[{}]")
        with urllib.request.urlopen(asked, timeout=20, context=trusted) as answer:
            assert json.load(answer)["rows"][0]["reasons"] == []
        with pytest.raises(OSError, match=r"(?i)certificate.verify.failed"):
            urllib.request.urlopen(asked, timeout=20, context=ssl.create_default_context())
        with pytest.raises(OSError, match=r"closed|reset"):  # no answer in plain text
            urllib.request.urlopen(f"http://127.0.0.1:{port}/ping", timeout=20)
    finally:
        running.should_exit = True
        thread.join(20)


def allowed(client, origin, **headers):
    """Return which origin may read an answer, by the answer itself and by what asks before it."""
    asks = {"Origin": origin, "Access-Control-Request-Method": "POST"}
    asks |= {"Access-Control-Request-Headers": "authorization,content-type"}
    before = client.options("/models/credit/explain", headers=asks)
    after = client.post("/models/credit/explain", json=[{}], headers={"Origin": origin, **headers})
    name = "access-control-allow-origin"
    return before.headers.get(name), after.headers.get(name), after.status_code


def test_pages_of_other_sites_may_read_answers_only_where_they_are_named(folders):
    key, line = make_key("web")
    bearer = {"Authorization": f"Bearer {key}"}
    with TestClient(make_app(folders[:1])) as client:
        assert allowed(client, SHOP) == (None, None, 200)
    app = make_app(folders[:1], keys=Keys([line]), origins=[SHOP])
    with TestClient(app) as client:
        assert allowed(client, SHOP, **bearer) == (SHOP, SHOP, 200)
        assert allowed(client, SHOP) == (SHOP, SHOP, 401)  # its page can read why
        assert allowed(client, OTHER, **bearer) == (None, None, 200)


@pytest.mark.parametrize("asked", [False, True])
def test_the_log_has_what_was_sent_only_if_asked(folders, caplog, asked):
    app = make_app(folders[:1], log_bodies=asked)
    body = [{"status": "a secret"}]
    with caplog.at_level(logging.INFO, "sasanet.serve"), TestClient(app) as client:
        assert client.post("/models/credit/explain", json=body).status_code == 200
    (line,) = [JsonLines().format(one) for one in caplog.records if one.msg == "request"]
    assert json.loads(json.loads(line).get("body", "null")) == (body if asked else None)
    assert ("secret" in line) == asked


def test_what_the_command_is_told_reaches_the_application(folders, monkeypatch):
    told = {}
    monkeypatch.setattr(room, "make_app", lambda models, **given: told.update(given, models=models))
    monkeypatch.setattr(room, "run", lambda _, **where: told.update(where))
    words = "--cors https://a.example --cors https://b.example --log-bodies --docs --threads 2"
    bounds = "--max-rows 7 --max-bytes 99 --max-seconds 0.5"
    result = run("serve", folders[0], *words.split(), *bounds.split())
    assert result.exit_code == 0, result.output
    assert told["origins"] == ["https://a.example", "https://b.example"]
    assert told["limits"] == Limits(rows=7, body_bytes=99, answer_seconds=0.5)
    assert (told["log_bodies"], told["docs"], told["threads"]) == (True, True, 2)
    assert (told["host"], told["keys"]) == ("127.0.0.1", None)
    open_words = "--host 0.0.0.0 --port 81 --insecure --certificate c.pem --certificate-key k.pem"
    result = run("serve", folders[0], *open_words.split())
    assert "Serving at https://0.0.0.0:81" in result.output
    assert (told["host"], told["port"]) == ("0.0.0.0", 81)
    assert (str(told["certificate"]), str(told["certificate_key"])) == ("c.pem", "k.pem")
    run("serve", folders[0])
    assert (told["origins"], told["log_bodies"], told["docs"]) == ((), False, False)
    assert told["limits"] == Limits()


def test_what_stays_is_not_looked_through_for_garbage(monkeypatch):
    counts = []

    def frozen():
        counts.append(gc.get_freeze_count())

    for name in ("handlers", "propagate", "level"):  # as they were, afterwards
        monkeypatch.setattr(process.LOG, name, getattr(process.LOG, name))
    monkeypatch.setattr(process.torch, "set_num_threads", lambda _: None)
    monkeypatch.setattr(process, "share_heaps", lambda _: None)
    monkeypatch.setattr(process, "make_server", lambda *_: SimpleNamespace(run=frozen, started=1))
    try:
        process.run(None)
        gc.unfreeze()
        frozen()
    finally:
        gc.unfreeze()
    assert counts[0] > 10_000
    assert counts[-1] == 0
