"""Nothing a client sends makes a 500, a hang, or an answer that tells too much."""

import json

import pytest

PATHS = (
    "/models/credit/explain",
    "/models/credit/predict",
    "/v1/models/credit:predict",
    "/v1/models/credit:explain",
    "/v2/models/credit/infer",
    "/invocations?model=credit",
)
DEEP = b"[" * 100_000 + b"]" * 100_000
VALUES = [
    None, True, 0, -1, 1e308, 10**400, "", "x" * 101, "\x00", "\u202e", [], {}, [[]], [{}], [None],
    [[1]], {"rows": None}, {"rows": [{}], "only": "months"}, {"rows": [{}], "only": ["no"]},
    {"rows": [{}], "n_orders": 10**9}, {"rows": [{}], "n_orders": True},
    {"rows": [{}], "only": [[]]},
    {"rows": [{}], "n_reasons": 0}, {"rows": [{}], "n_reasons": 1.5}, {"rows": [{}] * 51},
    [{"months": "12"}], [{"months": True}], [{"months": [1]}], [{"months": {}}],
    [{"months": 10**400}],
    [{"months": 1e400}], [{"status": "x" * 101}], [{"status": ["a"]}], [{"status": {"a": 1}}],
    [{"status": "\ud800"}], [{"status": 10**400}], [{"\ud800": 1}], [{"a": {"b": {"c": []}}}],
    {"instances": None}, {"instances": [1]}, {"instances": [[1, 2]]}, {"instances": [{}, []]},
    {"instances": [{}], "parameters": []}, {"instances": [[None] * 20, {}]},
    {"dataframe_split": None}, {"dataframe_split": {}}, {"dataframe_records": 3},
    {"dataframe_split": {"columns": ["a", "a"], "data": [[1, 2]]}},
    {"dataframe_split": {"columns": ["a"], "data": [[1], [1, 2]]}},
    {"dataframe_split": {"columns": [], "data": []}}, {"dataframe_records": [{}], "params": [1]},
    {"dataframe_records": [{}], "params": {"explain": "yes"}},
    {"inputs": []}, {"inputs": [1]}, {"inputs": [{"name": "months"}]},
    {"inputs": [{"name": "months", "shape": [2], "datatype": "FP64", "data": [1]}]},
    {"inputs": [{"name": "months", "shape": [1], "datatype": "FP65", "data": [1]}]},
    {"inputs": [{"name": "months", "shape": [1], "datatype": "BYTES", "data": [1]}]},
    {"inputs": [{"name": "months", "shape": [1], "datatype": "FP64", "data": [[[1]]]}]},
    {"inputs": [{"name": "months", "shape": ["1"], "datatype": "FP64", "data": [1]}]},
]  # fmt: skip
GOOD = {"inputs": [{"name": "months", "shape": [1], "datatype": "FP64", "data": [12]}]}
VALUES += [
    GOOD | {"outputs": [{"name": "secrets"}]},
    GOOD | {"outputs": [{"name": []}]},
    GOOD | {"outputs": {"name": "raw"}},
    GOOD | {"id": 7},
    GOOD | {"id": "x" * 101},
    GOOD | {"parameters": {"n_orders": 3}},
    {"inputs": GOOD["inputs"] * 2},
]
BODIES = [
    b"", b"{", b"\xff\xfe", b"nul", b"[{},]", DEEP, b'{"a":' * 50_000, b'[{"months": Infinity}]',
    b'[{"months": -Infinity}]', b'[{"months": 1, "months": 2}]', b"9" * 10_000, b"\x00" * 10,
    b'[{"months": 1e999}]', b'"\\ud800"', "[{\"status\": \"\u2028\"}]".encode("utf-16"),
    b"a=1&b=2", b"[" + b"{}," * 60_000 + b"{}]",
]  # fmt: skip
SENTENCE = 400  # characters


def check(answer):
    """A refusal is one sentence of JSON that names no file and no line of code."""
    assert answer.status_code < 500
    text = answer.json().get("error") if answer.status_code >= 400 else "fine."
    assert text.endswith((".", "?"))
    assert len(text) < SENTENCE
    assert "Traceback" not in text
    assert "/tmp" not in text


@pytest.mark.parametrize("path", PATHS)
def test_bodies_that_make_no_sense_are_refused_in_a_sentence(client, path):
    wrong = 0
    for value in VALUES:
        answer = client.post(path, content=json.dumps(value).encode())
        check(answer)
        wrong += answer.status_code == 422
    for body in BODIES:
        answer = client.post(path, content=body)
        check(answer)
        assert answer.status_code in (413, 422), body[:40]
    assert wrong > 40
    assert client.post("/models/credit/predict", json=[{}]).status_code == 200  # still there


def test_nan_is_a_missing_cell(client):
    answer = client.post("/models/credit/explain", content=b'[{"months": NaN}]')
    row = answer.json()["rows"][0]
    assert row["raw"] == row["base_value"]


def test_the_twin_a_spoilt_row_would_be_noticed(client, monkeypatch):
    from sasanet.serve import inference

    monkeypatch.setattr(inference, "find_warnings", lambda *_: 1 / 0)
    answer = client.post("/models/credit/predict", json=[{"months": 3}])
    assert answer.status_code == 500
    assert "ZeroDivisionError" not in answer.text
    with pytest.raises(AssertionError):
        check(answer)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("GET", "/models/../../etc/passwd", 404),
        ("GET", "/models/%2e%2e%2fetc%2fpasswd", 404),
        ("GET", "/models/credit%00", 404),
        ("GET", "/models/" + "x" * 5000, 404),
        ("GET", "/models/%ff%fe", 404),
        ("POST", "/models/nobody/explain", 404),
        ("POST", "/v1/models/credit:delete", 404),
        ("DELETE", "/models/credit/explain", 405),
        ("GET", "/models/credit/explain", 405),
        ("POST", "/invocations", 422),  # which of three models?
    ],
)
def test_other_paths_and_methods(client, method, path, status):
    answer = client.request(method, path, content=b"[{}]" if method == "POST" else None)
    assert answer.status_code == status
    check(answer)


def test_a_large_body_is_refused_before_it_is_read(client):
    answer = client.post("/models/credit/predict", content=b"[" + b" " * 200_000 + b"{}]")
    assert answer.status_code == 413
    check(answer)


def test_answers_have_safe_headers_and_a_request_id(client):
    for path in ("/ping", "/nothing", "/models"):
        headers = client.get(path, headers={"X-Request-ID": "mine-1"}).headers
        assert headers["x-request-id"] == "mine-1"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert "access-control-allow-origin" not in headers
    forged = client.get("/ping", headers={"X-Request-ID": 'a"b c'}).headers["x-request-id"]
    assert len(forged) == 32
