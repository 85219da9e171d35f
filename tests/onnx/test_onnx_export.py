"""An exported model answers in onnxruntime what it answers in Python."""

import json
from dataclasses import replace

import numpy as np
import onnxruntime
import pandas as pd
import pytest

import bag_models
import onnx
from cli_run import run
from sasanet import Architecture, SASANetClassifier, SASANetRegressor
from sasanet.datasets import load_german_credit, load_penguins
from sasanet.errors import InvalidInputError, UnknownLevelWarning
from training_rows import briefly

pytestmark = pytest.mark.usefixtures("small_default")  # exported as it is

SHORT = {"random_state": 0, "max_epochs": 3, "teacher_weight": 0}
CLOSE = {"rtol": 0, "atol": 1e-5}


def tables():
    """Yield names, estimators, tables and targets of every task."""
    credit, bad = load_german_credit()
    birds, species = load_penguins()
    known = birds["body_mass_g"].notna()
    codes = credit.assign(months=credit["months"] // 12, young=credit["age"] < 30)
    several = Architecture(width=32, marginal_layers=(16,), members=3)
    yield "binary", SASANetClassifier(**SHORT), credit, bad
    yield "text", SASANetClassifier(**SHORT), credit, bad.map({0: "good", 1: "bad"})
    yield "classes", SASANetClassifier(**SHORT), birds, species
    yield "regression", SASANetRegressor(**SHORT), birds[known].drop(columns="body_mass_g"), \
        birds.loc[known, "body_mass_g"]  # fmt: skip
    yield "members", SASANetClassifier(network=several, **SHORT), birds, species
    yield "rates", SASANetRegressor(objective="poisson", **SHORT), credit, credit["months"]
    yield "quantile", SASANetRegressor(objective="quantile", **SHORT), credit, credit["age"]
    yield "codes", SASANetClassifier(categorical_features=["months"], **SHORT), codes, bad == 1


@pytest.fixture(scope="module", params=tables(), ids=lambda case: case[0])
def case(request, tmp_path_factory):
    """Return a model, rows with missing cells, unknown levels and far numbers, and a session."""
    _, model, X, y = request.param
    model.fit(X, y)
    path = tmp_path_factory.mktemp("onnx") / "model.onnx"
    model.to_onnx(path)
    return model, strange(X[:60]), path


def strange(X):
    """Return rows of which some have missing cells, unknown levels, or numbers out of range."""
    rows = X.astype(object).reset_index(drop=True)
    gone = np.random.default_rng(0).random(rows.shape) < 0.3
    gone[:20] = False
    rows = rows.mask(gone)
    for j, name in enumerate(rows):
        number = pd.api.types.is_numeric_dtype(X[name])
        rows.iloc[j % 20, j] = 1e9 if number else "never seen"
    rows.iloc[59] = None
    return rows


def inputs(model, rows):
    """Return the cells as ONNX reads them."""
    found = {}
    for column in model.encoder_.columns:
        cells = rows[column.name]
        if column.levels and isinstance(column.levels[0], str):
            found[column.name] = np.array(["" if pd.isna(c) else c for c in cells], dtype=object)
        else:
            plain = [np.nan if pd.isna(c) or isinstance(c, str) else float(c) for c in cells]
            found[column.name] = np.array(plain)
    return found


def ask(path, given):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_outputs()]
    return dict(zip(names, session.run(names, given), strict=True))


@pytest.mark.filterwarnings(f"ignore::{UnknownLevelWarning.__module__}.UnknownLevelWarning")
def test_it_predicts_what_python_predicts(case):
    model, rows, path = case
    for column in model.encoder_.columns:  # ONNX has no text among numbers and truths
        if column.levels and not isinstance(column.levels[0], str):
            rows[column.name] = rows[column.name].mask(rows[column.name].map(type).eq(str))
    found = ask(path, inputs(model, rows))
    scale = model.target_.scale
    own = model.explain(rows)
    raw = own.prediction.reshape(len(rows), -1)
    np.testing.assert_allclose(found["raw"] / scale, raw / scale, **CLOSE)
    np.testing.assert_array_equal(found["base_value"], model.base_value_)
    np.testing.assert_array_equal(found["raw"][59], model.base_value_)  # of an empty row
    if model.target_.labels:
        np.testing.assert_allclose(found["probabilities"], model.predict_proba(rows), **CLOSE)
        assert found["prediction"].tolist() == model.predict(rows).tolist()
    else:
        np.testing.assert_allclose(
            found["prediction"] / scale, model.predict(rows) / scale, **CLOSE
        )
    values = own.values.reshape(found["attributions"].shape)
    np.testing.assert_allclose(found["attributions"] / scale, values / scale, **CLOSE)
    total = found["attributions"].sum(1) + found["base_value"]
    np.testing.assert_allclose(total / scale, found["raw"] / scale, rtol=0, atol=1e-12)
    assert (found["attributions"][rows.isna().to_numpy()] == 0).all()
    with pytest.raises(AssertionError):  # the twin: other rows have other outputs
        np.testing.assert_allclose(found["raw"][::-1] / scale, raw / scale, **CLOSE)


def test_a_row_alone_and_no_row_are_answered_too(case):
    model, rows, path = case
    given = inputs(model, rows)
    whole = ask(path, given)
    alone = ask(path, {name: cells[7:8] for name, cells in given.items()})
    none = ask(path, {name: cells[:0] for name, cells in given.items()})
    for name in ("raw", "attributions"):
        np.testing.assert_allclose(alone[name][0], whole[name][7], rtol=1e-5, atol=1e-5)
        assert none[name].shape == (0, *whole[name].shape[1:])


def test_the_file_tells_what_it_is(case):
    model, _, path = case
    about = about_of(path)
    assert about["task"] == model.target_.task
    assert about["attributions"] == ("exact" if len(model.encoder_.columns) <= 9 else "formula")
    assert [c["name"] for c in json.loads(about["columns"])] == list(model.encoder_.names)
    errors = json.loads(about["errors"])
    assert errors["drawn"]
    assert errors["rows"] == 128
    assert 0 < errors["rmse"] <= errors["largest"] < 1e-5 * model.target_.scale
    assert 0 < errors["prediction"] < 1e-5 * model.target_.scale
    assert 1 - 1e-9 < errors["r2"] < 1


def about_of(path):
    return {one.key: one.value for one in onnx.load(path).metadata_props}


X = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": ["x", "y", "x", "z"]})
Y = [0, 1, 0, 1]
LEARNED = Architecture(attribution="context")


@pytest.mark.parametrize(
    ("table", "settings", "said"),
    [
        (X, {"network": briefly("sequence")}, "set network"),
        (X, {"network": briefly(LEARNED)}, "attribution='closed_form'"),
        (X, {"network": briefly(replace(LEARNED, activation="gelu"))}, "closed_form"),
        (X.rename(columns={"a": "raw"}), {}, "other names"),
        (X.assign(b=["", "y", "", "z"]), {}, "empty text"),
    ],
)
def test_what_cannot_be_exported_is_refused(table, settings, said, tmp_path):
    model = SASANetClassifier(**SHORT | settings).fit(table, Y)
    plain = said == "set network"
    with pytest.raises(InvalidInputError, match=said):
        model.to_onnx(tmp_path / "m.onnx", attributions=not plain)
    assert not [*tmp_path.iterdir()]


def test_columns_of_several_parts_and_several_quantiles_are_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="'posted', a column of dates"):
        bag_models.fitted().to_onnx(tmp_path / "m.onnx")
    model = SASANetRegressor(objective="quantile", quantile=(0.1, 0.9), **SHORT).fit(X, Y)
    with pytest.raises(InvalidInputError, match="several quantiles"):
        model.to_onnx(tmp_path / "m.onnx")
    assert not [*tmp_path.iterdir()]


def test_the_command_writes_the_same_file(tmp_path):
    model = SASANetClassifier(**SHORT).fit(X, Y)
    model.save(tmp_path / "m")
    model.to_onnx(tmp_path / "a.onnx")
    assert run("export", tmp_path / "m", tmp_path / "b.onnx").exit_code == 0
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()
    assert run("export", tmp_path / "m", tmp_path / "b.onnx").exit_code == 1  # it exists
    X.to_csv(tmp_path / "rows.csv")
    short = ("--rows", tmp_path / "rows.csv", "--no-attributions", "--page", tmp_path / "c.html")
    done = run("export", tmp_path / "m", tmp_path / "c.onnx", *short)
    assert "On 4 rows its predictions differ" in done.output
    assert (tmp_path / "c.html").read_text("utf-8").startswith("<!DOCTYPE html>")
    assert about_of(tmp_path / "c.onnx")["attributions"] == "none"
    assert "attributions" not in ask(tmp_path / "c.onnx", inputs(model, X))
