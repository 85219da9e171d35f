"""The container: who runs it, how its health is asked, and that it starts what the server is."""

import json
import re
import shlex
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from typer.testing import CliRunner

from sasanet import serve as room
from sasanet.cli.app import app

DOCKERFILE = (Path(__file__).parents[2] / "Dockerfile").read_text("utf-8")


def instructions(text):
    """Return every instruction with its words, lines that go on joined."""
    joined = re.sub(r"\\\n\s*", "", text)
    lines = [line.split(None, 1) for line in joined.splitlines() if line and line[0] != "#"]
    return [(name, rest) for name, rest in lines]


def value_of(name, text=DOCKERFILE):
    return [rest for found, rest in instructions(text) if found == name]


def check_rights(text):
    """The last user is one that was made, and not root."""
    user = value_of("USER", text)[-1]
    assert user not in ("root", "0")
    assert re.search(rf"useradd .*\b{user}$", value_of("RUN", text)[0])
    after = [name for name, _ in instructions(text)]
    assert "RUN" not in after[after.index("USER") :]


def test_nobody_with_rights_runs_it():
    check_rights(DOCKERFILE)
    with pytest.raises((AssertionError, IndexError)):
        check_rights(DOCKERFILE.replace("USER sasanet\n", ""))


def test_what_is_copied_is_there_and_not_ignored():
    root = Path(__file__).parents[2]
    kept = {
        line[1:] for line in (root / ".dockerignore").read_text().splitlines() if line[0] == "!"
    }
    copied = {word for line in value_of("COPY") for word in line.split()[:-1]}
    assert copied == kept
    assert all((root / name).exists() for name in copied)


def test_the_health_check_asks_a_route_that_needs_no_key(folders, tmp_path):
    command = json.loads(re.search(r"CMD (\[.*\])", value_of("HEALTHCHECK")[0])[1])
    path = re.search(r"http://127\.0\.0\.1:8080(/[\w/]+)", command[-1])[1]
    _, line = room.make_key("shop")
    (tmp_path / "keys").write_text(line + "\n")
    with TestClient(room.make_app(folders, keys=room.Keys.read(tmp_path / "keys"))) as client:
        assert client.get(path).status_code == 200
        assert client.get("/models").status_code == 401


def test_it_starts_the_server_with_keys(monkeypatch, tmp_path, folders):
    started = {}
    monkeypatch.setattr(room, "run", lambda app, **where: started.update(where, app=app))
    _, line = room.make_key("shop")
    (tmp_path / "keys").write_text(line + "\n")
    words = json.loads(value_of("ENTRYPOINT")[0])
    words = [str(tmp_path / "keys") if word == "/keys" else word for word in words]
    result = CliRunner().invoke(app, [*words[1:], str(folders[0]).rpartition("=")[2]])
    assert result.exit_code == 0, result.output
    assert started["host"] == "0.0.0.0"
    assert shlex.join(words).startswith("sasanet serve")
