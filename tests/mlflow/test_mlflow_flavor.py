"""Models in MLflow: logged, loaded, called with params, and served like the own server serves."""

import json

import numpy as np
import pandas as pd
import pytest
from mlflow.pyfunc import scoring_server

import mlflow
import sasanet.mlflow
from sasanet import SASANetClassifier, SASANetRegressor
from sasanet.datasets import load_penguins
from sasanet.errors import InvalidInputError
from sasanet.mlflow.pyfunc import PyFuncModel
from sasanet.serve import make_app

pytestmark = pytest.mark.usefixtures("small_default")

ROWS = [
    {"island": "Biscoe", "bill_length_mm": 45.5, "body_mass_g": 5000, "sex": "male", "year": 2008},
    {"island": None, "bill_length_mm": None, "body_mass_g": None, "sex": "female", "year": 2009},
]


@pytest.fixture(scope="module")
def table():
    X, y = load_penguins()
    return X.assign(heavy=X["body_mass_g"] > 4000), y


@pytest.fixture(scope="module")
def model(table):
    return SASANetClassifier(random_state=0, max_epochs=2, teacher_weight=0).fit(*table)


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("mlflow") / "penguins"
    sasanet.mlflow.save_model(model, folder)
    return folder


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A local file store, which MLflow takes only if told so."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.chdir(tmp_path)
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(f"file://{tmp_path}/runs")
    yield
    mlflow.set_tracking_uri(before)


def test_a_saved_model_is_the_same_model(model, folder, table):
    again = sasanet.mlflow.load_model(folder)
    np.testing.assert_array_equal(again.predict_proba(table[0]), model.predict_proba(table[0]))
    assert not [*folder.rglob("*.pkl")]  # nothing is pickled


def test_the_generic_function_predicts_and_explains(model, folder, table):
    X, generic = table[0][:20], mlflow.pyfunc.load_model(str(folder))
    assert generic.predict(X).tolist() == model.predict(X).tolist()
    found, own = generic.predict(X, params={"explain": True}), model.explain(X)
    phi = [[*row.values()] for row in found["attributions"]]
    np.testing.assert_array_equal(phi, own.values)
    assert list(found["attributions"][0]) == list(X.columns)
    np.testing.assert_array_equal(np.array(found["base_value"].tolist()), own.base_values)
    np.testing.assert_allclose(
        found["raw"].tolist(), np.sum(phi, 1) + found["base_value"].tolist(), rtol=0, atol=1e-9
    )
    assert found["reasons"].tolist() == own.all_reasons(5)
    refined = generic.predict(X, params={"explain": True, "n_orders": 4, "n_reasons": 1})
    assert {*map(len, refined["reasons"])} == {1}


def test_columns_may_be_absent_and_cells_missing(model, folder, table):
    generic, X = mlflow.pyfunc.load_model(str(folder)), table[0]
    found = generic.predict(X[["island", "year"]][:3], params={"explain": True})
    assert set(found["attributions"][0]["sex"]) == {0.0}
    alone = model.value(X[:3], ["island", "year"])
    np.testing.assert_allclose(found["raw"].tolist(), alone, rtol=0, atol=1e-6)
    holes = X[:3].assign(year=[2007, None, 2009], heavy=[True, None, False])
    assert len(generic.predict(holes)) == 3


def test_invocations_match_those_of_the_own_server(model, folder, tmp_path):
    from fastapi.testclient import TestClient

    generic = mlflow.pyfunc.load_model(str(folder))
    model.save(tmp_path / "penguins")
    with TestClient(make_app([str(tmp_path / "penguins")])) as client:
        for params in ({}, {"explain": True, "n_reasons": 2}):
            split = pd.DataFrame(ROWS, dtype=object).to_dict(orient="split")
            for body in ({"dataframe_records": ROWS}, {"dataframe_split": split}):
                body = json.dumps(body | {"params": params})
                mine = client.post("/invocations", content=body).json()["predictions"]
                answer = scoring_server.invocations(
                    body, "application/json", generic, generic.metadata.get_input_schema()
                )
                theirs = json.loads(answer.response)["predictions"]
                assert theirs == without_warnings(mine)
                assert theirs[0] != theirs[1]


def without_warnings(rows):
    """Return rows without what only the server tells."""
    plain = isinstance(rows[0], str)
    return rows if plain else [{k: v for k, v in row.items() if k != "warnings"} for row in rows]


@pytest.mark.usefixtures("store")
def test_a_logged_model_has_signature_metrics_and_audit(model, table):
    X, y = table
    with mlflow.start_run() as run:
        info = sasanet.mlflow.log_model(model, X=X[:30], y=y[:30])
    logged = mlflow.get_run(run.info.run_id)
    assert 0.999 < logged.data.metrics["audit_self_game_r2"] <= 1
    assert logged.data.metrics["audit_additivity_gap"] < 1e-9
    text = mlflow.artifacts.load_text(f"{logged.info.artifact_uri}/audit.txt")
    assert "self-game RMSE" in text
    card = mlflow.artifacts.load_text(f"{logged.info.artifact_uri}/model_card.md")
    assert card == model.card()
    assert "Not audited" not in card
    names = info.signature.inputs.input_names()
    assert names == list(X.columns)
    assert info.signature.params.to_dict()[0]["name"] == "explain"
    again = sasanet.mlflow.load_model(info.model_uri)
    assert again.predict(X[:5]).tolist() == model.predict(X[:5]).tolist()
    with mlflow.start_run():
        assert sasanet.mlflow.log_model(model).model_uri != info.model_uri  # without an audit


# MLflow compares an index with a range, which pandas is going to deprecate.
@pytest.mark.filterwarnings("ignore:Operation with range is deprecated")
def test_regression_and_numbers_are_typed(table, tmp_path):
    X = table[0][["bill_length_mm", "year"]][:40].fillna(40.0)
    model = SASANetRegressor(random_state=0, max_epochs=1, teacher_weight=0).fit(X, X["year"])
    sasanet.mlflow.save_model(model, tmp_path / "m", input_example=X[:2])
    generic = mlflow.pyfunc.load_model(str(tmp_path / "m"))
    types = {c.name: str(c.type) for c in generic.metadata.get_input_schema()}
    assert types == {"bill_length_mm": "DataType.double", "year": "Any"}
    assert generic.predict(X).shape == (40,)


def test_what_cannot_be_answered_is_refused(model, tmp_path):
    with pytest.raises(InvalidInputError, match="params must be among"):
        PyFuncModel(model).predict(pd.DataFrame(ROWS), {"explanation": True})
    mlflow.models.Model().save(str(tmp_path / "MLmodel"))
    with pytest.raises(InvalidInputError, match=r"must hold a model of sasanet\.mlflow"):
        sasanet.mlflow.load_model(tmp_path)
