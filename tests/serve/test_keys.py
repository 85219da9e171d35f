"""Keys: only their digest is kept, each has a rate, and beyond this machine they are needed."""

import hashlib

import pytest
from fastapi.testclient import TestClient

from sasanet.errors import InvalidInputError
from sasanet.serve import Keys, Limits, make_app, make_key
from sasanet.serve.limits import Refusal
from sasanet.serve.process import check_reach


def test_a_server_with_keys_answers_those_who_have_one(folders):
    key, line = make_key("web", per_minute=3)
    with TestClient(make_app(folders[:1], keys=Keys([line]))) as client:
        bearer = {"Authorization": f"Bearer {key}"}
        for headers in ({}, {"Authorization": key}, {"Authorization": f"Bearer {key}x"}):
            answer = client.get("/models", headers=headers)
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"] == "Bearer"
        assert client.get("/ping").status_code == 200  # health needs none
        assert client.get("/v2/health/ready").status_code == 200
        statuses = [client.get("/models", headers=bearer).status_code for _ in range(5)]
        assert statuses == [200, 200, 200, 429, 429]
        last = client.get("/metrics", headers=bearer)
        assert last.status_code == 429
        assert 1 <= int(last.headers["retry-after"]) <= 20


def test_the_file_holds_digests_and_not_keys(tmp_path):
    key, line = make_key("web")
    (tmp_path / "keys").write_text(f"# clients\n\n{line}\n")
    assert key not in line
    assert hashlib.sha256(key.encode()).hexdigest() in line
    keys = Keys.read(tmp_path / "keys")
    assert keys.who(key) == "web"
    assert keys.who(line.split()[1]) is None  # the digest itself opens nothing


def test_a_rate_refills_with_time():
    now = [0.0]
    key, line = make_key("web", per_minute=60)
    keys = Keys([line], clock=lambda: now[0])
    for _ in range(60):
        keys.admit(key)
    with pytest.raises(Refusal, match="try again in 1 s"):
        keys.admit(key)
    now[0] = 1.0
    assert keys.admit(key) == "web"
    with pytest.raises(Refusal):
        keys.admit(key)


def test_every_key_is_compared(monkeypatch):
    seen = []
    monkeypatch.setattr("hmac.compare_digest", lambda a, b: seen.append(b) or a == b)
    made = [make_key(f"k{i}") for i in range(4)]
    keys = Keys([line for _, line in made])
    assert keys.who(made[0][0]) == "k0"
    assert len(seen) == 4  # leaving at the first would tell its position


@pytest.mark.parametrize(
    "lines", [[], ["web"], ["web abc"], ["a " + "0" * 64] * 2, ["é " + "0" * 63]]
)
def test_bad_lines_are_refused(lines):
    with pytest.raises(InvalidInputError, match="key"):
        Keys(lines)


def test_a_server_beyond_this_machine_needs_keys():
    for host in ("0.0.0.0", "::", "192.168.1.7", "example.org"):
        with pytest.raises(InvalidInputError, match="must have keys"):
            check_reach(host, has_keys=False, insecure=False)
        check_reach(host, has_keys=True, insecure=False)
        check_reach(host, has_keys=False, insecure=True)
    for host in ("127.0.0.1", "::1", "localhost", "127.9.9.9"):
        check_reach(host, has_keys=False, insecure=False)


def test_limits_are_checked():
    with pytest.raises(InvalidInputError, match="above 0, got rows=-1"):
        Limits(rows=-1)
