"""A real process: it listens, answers, finishes what it has on SIGTERM, and ends."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

from cli_run import run

pytestmark = pytest.mark.slow  # starts an interpreter

CODE = """
import time
from sasanet import cli
from sasanet.serve import batching
answer = batching.answer
def slowly(*given):
    print("computing", flush=True)
    time.sleep(1)
    return answer(*given)
batching.answer = slowly
cli.main()
"""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def test_it_answers_and_ends_gracefully(folders):
    port = free_port()
    words = ["serve", f"a={folders[0]}", str(folders[1]), "--port", str(port)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-c", CODE, *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip
    try:
        _wait_until_it_listens(process, port)
        body = json.dumps([{"months": 12, "status": "a secret"}]).encode()
        head = f"POST /models/a/explain HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
        with socket.create_connection(("127.0.0.1", port), timeout=20) as line:
            line.sendall(head.encode() + body)
            assert process.stdout.readline() == "computing\n"
            process.send_signal(signal.SIGTERM)  # while the answer is computed
            answer = b""
            while part := line.recv(65536):
                answer += part
        assert answer.startswith(b"HTTP/1.1 200")
        assert b"reasons" in answer
        assert b"server:" not in answer.lower()
        _, log = process.communicate(timeout=20)
        assert process.returncode == 128 + signal.SIGTERM
    finally:
        process.kill()
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    done = [one for one in lines if one["event"] == "request" and one["route"].endswith("explain")]
    assert [one["status"] for one in done] == [200]
    assert "secret" not in log
    assert re.search(rf"Serving at http://127.0.0.1:{port}", log)


def _wait_until_it_listens(process, port):
    end = time.monotonic() + 60
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/ping", timeout=5) as answer:
                assert answer.status == 200
                return
        except OSError:
            assert process.poll() is None, process.stderr.read()
            assert time.monotonic() < end
            time.sleep(0.1)


def test_after_a_kill_the_last_saved_model_is_served(models, tmp_path):
    folder, first, last = tmp_path / "m", models["credit"][0], models["mass"][0]
    first.save(folder)
    port = free_port()
    command = [sys.executable, "-m", "sasanet.cli", "serve", str(folder), "--port", str(port)]
    for model in (first, last):
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            _wait_until_it_listens(process, port)
            asked = urllib.request.Request(f"http://127.0.0.1:{port}/models/m/explain", b"[{}]")
            with urllib.request.urlopen(asked, timeout=20) as answer:
                assert json.load(answer)["rows"][0]["raw"] == pytest.approx(model.base_value_[0])
            last.save(folder)
        finally:
            process.kill()  # while it loads the changed folder, or soon after
            process.communicate(timeout=20)


def test_what_cannot_be_served_is_refused_in_a_sentence(folders, tmp_path):
    for words, said in (
        (["--host", "0.0.0.0"], "must have keys"),
        (["--keys", tmp_path / "no"], "cannot be used"),
    ):
        result = run("serve", folders[0], *words)
        assert result.exit_code == 1
        assert said in result.output
    assert run("serve", tmp_path / "nothing").exit_code == 1
    assert run("serve", folders[0], folders[0]).exit_code == 1
