"""The container: who runs it, how its health is asked, and that it starts what the server is."""

import json
import re
import shlex
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml
from fastapi.testclient import TestClient
from typer.testing import CliRunner

from sasanet import serve as room
from sasanet.cli.app import app

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
GUIDE = (ROOT / "docs" / "deploying" / "container.md").read_text("utf-8")


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
    kept = {
        line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line[0] == "!"
    }
    copied = {word for line in value_of("COPY") for word in line.split()[:-1]}
    assert copied == kept
    assert all((ROOT / name).exists() for name in copied)


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


def recipe(begins):
    """Return a recipe of the guide, by its first words."""
    return re.search(rf"```text\n({re.escape(begins)}.*?)```", GUIDE, re.DOTALL)[1]


def check_kserve(text, ask):
    """The recipe mounts what the image reads, and probes a route that needs no key."""
    (one,) = yaml.safe_load(text)["spec"]["predictor"]["containers"]
    mounted = {mount["mountPath"] for mount in one["volumeMounts"]}
    assert "/keys" in json.loads(value_of("ENTRYPOINT")[0])
    assert mounted == {"/models", "/keys"}
    assert all(path.startswith("/models/") for path in one["args"])
    probe = one["readinessProbe"]["httpGet"]
    assert [str(port["containerPort"]) for port in one["ports"]] == value_of("EXPOSE")
    assert str(probe["port"]) == value_of("EXPOSE")[0]
    assert ask(probe["path"]).status_code == 200


def test_the_recipe_for_kserve_fits_the_image(folders):
    text, (_, line) = recipe("apiVersion"), room.make_key("shop")
    assert len(text.splitlines()) <= 20
    with TestClient(room.make_app(folders, keys=room.Keys([line]))) as client:
        check_kserve(text, client.get)
        for old, new in (("/v2/health/ready", "/models"), ("mountPath: /keys", "mountPath: /key")):
            with pytest.raises(AssertionError):  # the twins
                check_kserve(text.replace(old, new), client.get)


class Decorators:
    """What the recipe needs of BentoML, which is not installed here: two decorators."""

    @staticmethod
    def service(**given):
        assert {*given} == {"resources", "traffic"}
        return lambda service: service

    @staticmethod
    def api(method):
        return method


def test_the_recipe_for_bentoml_explains_rows(models, monkeypatch, tmp_path):
    model, table = models["credit"]
    model.save(tmp_path / "model")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "bentoml", Decorators)
    code = recipe("import bentoml")
    exec(code, found := {})
    row = {"months": 24, "status": table["status"].iloc[0]}
    (answer,) = found["Credit"]().explain([row])
    said = model.explain(pd.DataFrame([row]).reindex(columns=table.columns))
    assert answer == {"raw": float(said.prediction[0]), "reasons": said.reasons(0)}
    assert len(code.strip().splitlines()) <= 20
