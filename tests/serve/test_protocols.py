"""Every protocol gives the answers of the model itself; rows may lack columns."""

import numpy as np
import pandas as pd
import pytest
from fastapi.testclient import TestClient

import sasanet
from sasanet.serve import make_app

NAMES = ("credit", "birds", "mass")
DIGITS = {"rtol": 1e-5, "atol": 1e-5}  # float32, in batches of other sizes


def post(client, path, body):
    answer = client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.fixture(params=NAMES)
def case(request, models, to_records):
    """Return a model's name, the model, twelve rows, and the rows as records."""
    model, table = models[request.param]
    rows = table[:12].reset_index(drop=True)
    return request.param, model, rows, to_records(rows)


def check_rows(found, model, rows):
    """Compare explained rows with the model's own explanation."""
    own = model.explain(rows)
    assert [row["prediction"] for row in found] == pytest.approx(model.predict(rows).tolist())
    attributions = [[*row["attributions"].values()] for row in found]
    np.testing.assert_allclose(attributions, own.values, **DIGITS)
    np.testing.assert_allclose([row["base_value"] for row in found], own.base_values, **DIGITS)
    np.testing.assert_allclose([row["raw"] for row in found], own.prediction, **DIGITS)
    assert [*found[0]["attributions"]] == [*own.feature_names]
    assert [row["reasons"] for row in found] == own.all_reasons(5)
    if model.target_.labels:
        shares = [[*row["probabilities"].values()] for row in found]
        np.testing.assert_allclose(shares, model.predict_proba(rows), **DIGITS)


def test_our_own_protocol(client, case):
    name, model, rows, records = case
    check_rows(post(client, f"/models/{name}/explain", records)["rows"], model, rows)
    found = post(client, f"/models/{name}/predict", {"rows": records})
    assert {*found["rows"][0]} <= {"prediction", "probabilities", "warnings"}
    predictions = [row["prediction"] for row in found["rows"]]
    assert predictions == pytest.approx(model.predict(rows).tolist())
    with pytest.raises(AssertionError):  # the twin: other rows have other answers
        check_rows(post(client, f"/models/{name}/explain", records[::-1])["rows"], model, rows)


def test_kserve_v1(client, case):
    name, model, rows, records = case
    lists = [[*record.values()] for record in records]
    for instances in (records, lists):
        found = post(client, f"/v1/models/{name}:predict", {"instances": instances})
        assert found["predictions"] == pytest.approx(model.predict(rows).tolist())
        found = post(client, f"/v1/models/{name}:explain", {"instances": instances})
        check_rows(found["explanations"], model, rows)


def test_mlflow(client, case):
    name, model, rows, records = case
    split = {"columns": [*rows], "data": [[*record.values()] for record in records]}
    for body in ({"dataframe_split": split}, {"dataframe_records": records}):
        found = post(client, f"/invocations?model={name}", body)
        assert found["predictions"] == pytest.approx(model.predict(rows).tolist())
        body["params"] = {"explain": True}
        check_rows(post(client, f"/invocations?model={name}", body)["predictions"], model, rows)


def tensors(rows, columns):
    """Return one input per column."""
    kinds = {"number": "FP64", "category": "BYTES"}
    cells = rows.astype(object).where(rows.notna(), None)
    return [
        {"name": c.name, "shape": [len(rows)], "datatype": kinds[c.kind], "data": [*cells[c.name]]}
        for c in columns
    ]


def test_open_inference(client, case):
    name, model, rows, _ = case
    path, inputs = f"/v2/models/{name}/infer", tensors(rows, model.encoder_.columns)
    plain = post(client, path, {"id": "a", "inputs": inputs})
    assert plain["id"] == "a"
    assert [one["name"] for one in plain["outputs"]] == ["prediction"]
    assert plain["outputs"][0]["data"] == pytest.approx(model.predict(rows).tolist())
    asked = ["attributions", "base_value", "raw", "reasons"]
    found = post(client, path, {"inputs": inputs, "outputs": [{"name": one} for one in asked]})
    outputs = {one["name"]: np.array(one["data"]).reshape(one["shape"]) for one in found["outputs"]}
    own = model.explain(rows)
    np.testing.assert_allclose(outputs["attributions"], own.values, **DIGITS)
    np.testing.assert_allclose(outputs["base_value"], own.base_values, **DIGITS)
    np.testing.assert_allclose(outputs["raw"], own.prediction, **DIGITS)
    assert [[text for text in row if text] for row in outputs["reasons"]] == own.all_reasons(5)
    told = {one["name"]: one for one in client.get(f"/v2/models/{name}").json()["outputs"]}
    for output in (*plain["outputs"], *found["outputs"]):
        assert told[output["name"]]["datatype"] == output["datatype"]
        assert told[output["name"]]["shape"] == [-1, *output["shape"][1:]]


def test_errors_come_when_asked_for(client, models, to_records):
    model, table = models["credit"]
    rows = table[:3]
    body = {"inputs": tensors(rows, model.encoder_.columns), "outputs": [{"name": "error_std"}]}
    found = post(client, "/v2/models/credit/infer", body)["outputs"][0]
    own = model.explain(rows, n_orders=8).error_std  # 8: the limit of this server
    np.testing.assert_allclose(np.array(found["data"]).reshape(found["shape"]), own, rtol=1e-3)
    answer = post(client, "/models/credit/explain", {"rows": to_records(rows), "n_orders": 8})
    np.testing.assert_allclose([*answer["rows"][0]["error_std"].values()], own[0], rtol=1e-3)


def test_rows_may_lack_columns_and_only_some_may_be_used(client, models, to_records):
    model, table = models["credit"]
    record = to_records(table[:1])[0]
    known = ["status", "months"]
    empty = pd.DataFrame({name: [None] for name in table}, dtype=object)
    two = empty.assign(**{name: [record[name]] for name in known})
    expected = model.explain(two)
    bodies = ([{name: record[name] for name in known}], {"rows": [record], "only": known})
    for body in bodies:
        row = post(client, "/models/credit/explain", body)["rows"][0]
        np.testing.assert_allclose([*row["attributions"].values()], expected.values[0], **DIGITS)
        assert row["raw"] == pytest.approx(model.value(table[:1], known)[0], abs=1e-5)
    nothing = post(client, "/models/credit/explain", [{}])["rows"][0]
    assert nothing["raw"] == nothing["base_value"] == model.base_value_[0]


def test_strange_cells_come_back_as_warnings(client, models):
    low, high = next(
        (c.knots[0], c.knots[-1])
        for c in models["credit"][0].encoder_.columns if c.name == "months"
    )  # fmt: skip
    rows = [{"months": 999, "status": "rich", "shoe": 44}, {"months": (low + high) / 2}]
    found = post(client, "/models/credit/explain", rows)
    first, second = (row["warnings"] for row in found["rows"])
    assert second == []
    assert "'rich'" in first[0]
    assert "999" in first[1]
    assert len(first) == 2
    assert found["warnings"] == ["Columns that the model does not know were ignored: 'shoe'."]
    flat = post(client, "/v1/models/credit:predict", {"instances": rows})["warnings"]
    assert flat == [*found["warnings"], *first]


def test_models_describe_themselves(client, models):
    assert [one["name"] for one in client.get("/models").json()["models"]] == [*NAMES]
    about = client.get("/models/birds").json()
    island = next(column for column in about["columns"] if column["name"] == "island")
    assert island["enum"] == ["Biscoe", "Dream", "Torgersen", None]
    assert about["classes"] == models["birds"][0].classes_.tolist()
    assert client.get("/v2/models/birds/ready").json()["ready"] is True
    assert client.get("/v2/health/live").json() == {"live": True}
    assert client.get("/v2/health/ready").json() == {"ready": True}
    assert client.get("/v2").json()["name"] == "sasanet"
    assert client.get("/version").text == sasanet.__version__
    assert client.get("/ping").status_code == 200


def test_openapi_has_the_columns_of_every_model(client, models):
    schema = client.get("/openapi.json").json()
    for name, (model, _) in models.items():
        assert f"/models/{name}/explain" in schema["paths"]
        row = schema["components"]["schemas"][f"{name}.Row"]["properties"]
        assert [*row] == [*model.encoder_.names]
    assert "/models/{model}/explain" not in schema["paths"]
    months = schema["components"]["schemas"]["credit.Row"]["properties"]["months"]
    assert months["minimum"] < months["maximum"]
    status = schema["components"]["schemas"]["credit.Row"]["properties"]["status"]
    (column,) = (c for c in models["credit"][0].encoder_.columns if c.name == "status")
    assert status["enum"] == [*column.levels, None]


def test_the_page_of_the_api_is_there_if_asked_for(client, folders):
    assert client.get("/docs").status_code == 404  # it would load scripts from the network
    with TestClient(make_app(folders[:1], docs=True)) as other:
        answer = other.get("/docs")
        assert answer.status_code == 200
        assert "/openapi.json" in answer.text
        assert "cdn.jsdelivr.net" in answer.headers["content-security-policy"]
        assert "cdn.jsdelivr.net" not in other.get("/").headers["content-security-policy"]
