"""``sasanet explore``: the page with a table's rows and groups, on this machine alone."""

import json

import pytest
from fastapi.testclient import TestClient

from cli_run import done
from sasanet import serve as room

GROUPS = {"loan": ["months", "credit_amount"]}


@pytest.fixture
def started(monkeypatch):
    """Return what the command starts, which does not listen here."""
    found = {}
    monkeypatch.setattr(room, "run", lambda app, **where: found.update(where, app=app))
    return found


def test_the_page_has_the_tables_rows_and_groups(models, tmp_path, started):
    model, table = models["credit"]
    folder = tmp_path / "of=credit"  # no name before a path
    model.save(folder / "credit")
    rows = table[:30].reset_index(drop=True)
    rows.to_csv(tmp_path / "rows.csv", index=False)
    (tmp_path / "groups.json").write_text(json.dumps(GROUPS))
    words = [folder / "credit", tmp_path / "rows.csv", "--groups", tmp_path / "groups.json"]
    result = done("explore", *words, "--port", 8123, "--no-browser")
    assert "Open http://127.0.0.1:8123" in result.output
    assert started["port"] == 8123
    assert "host" not in started  # the default is this machine
    with TestClient(started["app"], base_url="http://127.0.0.1:8123") as client:
        assert "<!doctype html>" in client.get("/").text
        listed = client.get("/models/credit/rows").json()
        live = client.get("/models/credit/live").json()
    assert (listed["all"], live["groups"]) == (30, GROUPS)
    raw = [one["raw"] for one in listed["rows"]]
    right = model.decision_function(rows[: len(raw)])
    assert raw == pytest.approx(right, abs=1e-5)
    with pytest.raises(AssertionError):  # the twin: other rows
        assert raw == pytest.approx(right[::-1], abs=1e-5)


def test_pages_of_other_names_cannot_ask_it(folders, models, tmp_path, started):
    models["credit"][1][:3].to_csv(tmp_path / "rows.csv", index=False)
    done("explore", folders[0], tmp_path / "rows.csv", "--no-browser")
    with TestClient(started["app"], base_url="http://evil.example:8080") as client:
        assert client.get("/models/credit/rows").status_code == 400
    with TestClient(started["app"], base_url="http://localhost:8080") as client:
        assert client.get("/models/credit/rows").status_code == 200
