"""The page runs the file itself: its numbers are the model's, for every kind of model."""

import json

import numpy as np
import pandas as pd
import pytest

from browsers import opened_browser
from sasanet import Architecture, SASANetClassifier, SASANetRegressor
from sasanet.datasets import load_german_credit, load_penguins
from sasanet.onnx import write_page

SHORT = {"random_state": 0, "max_epochs": 2, "teacher_weight": 0}
CLOSE = {"rtol": 0, "atol": 1e-5}  # relative to the target's scale: of float32
RUN = """given => {
  const text = atob(document.getElementById("model").textContent.trim());
  const { graph } = readModel(Uint8Array.from(text, (sign) => sign.charCodeAt(0)));
  const known = {};
  for (const [name, cells] of Object.entries(given)) {
    const texts = cells.some((cell) => typeof cell === "string");
    known[name] = tensor([cells.length], texts ? cells.map((cell) => cell ?? "")
      : Float64Array.from(cells, (cell) => cell ?? NaN));
  }
  runGraph(graph, known);
  const outputs = ["raw", "attributions", "prediction"];
  return outputs.map((name) => ({ shape: known[name].shape, data: Array.from(known[name].data) }));
}"""


def fitted(kind):
    """Return a model and rows, some of whose cells are missing."""
    credit, bad = load_german_credit()
    birds, species = load_penguins()
    several = Architecture(members=2)
    made = {
        "binary": (SASANetClassifier(**SHORT), credit, bad),
        "members of three classes": (SASANetClassifier(network=several, **SHORT), birds, species),
        "rates": (SASANetRegressor(objective="poisson", **SHORT), credit, credit["months"]),
    }
    model, X, y = made[kind]
    rows = X[:12].astype(object).reset_index(drop=True)
    return model.fit(X, y), rows.mask(np.random.default_rng(0).random(rows.shape) < 0.25)


@pytest.fixture(scope="module")
def browser():
    with opened_browser() as opened:
        yield opened


@pytest.fixture(params=["binary", "members of three classes", "rates"])
def case(request, browser, tmp_path):
    model, rows = fitted(request.param)
    model.to_onnx(tmp_path / "model.onnx")
    write_page(tmp_path / "model.onnx", tmp_path / "model.html")
    page, trouble = browser.new_page(), []
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("console", lambda message: trouble.append(message.text))
    page.on("request", lambda asked: trouble.append(asked.url)
            if not asked.url.startswith("file:") else None)  # fmt: skip
    page.goto((tmp_path / "model.html").as_uri())
    page.wait_for_selector("#prediction")
    yield model, rows, page
    page.close()
    assert trouble == []


def test_it_answers_what_the_model_answers(case):
    model, rows, page = case
    given = {name: [None if pd.isna(c) else c for c in rows[name]] for name in rows}
    raw, phi, prediction = (
        np.reshape(one["data"], one["shape"]) for one in page.evaluate(RUN, given)
    )
    said, scale = model.explain(rows), model.target_.scale
    np.testing.assert_allclose(raw / scale, said.prediction.reshape(raw.shape) / scale, **CLOSE)
    np.testing.assert_allclose(phi / scale, said.values.reshape(phi.shape) / scale, **CLOSE)
    assert (phi[rows.isna().to_numpy()] == 0).all()
    if model.target_.labels:
        assert prediction.tolist() == model.predict(rows).tolist()
    else:
        np.testing.assert_allclose(prediction / scale, model.predict(rows) / scale, **CLOSE)
    with pytest.raises(AssertionError):  # the twin: other rows have other answers
        np.testing.assert_allclose(raw, said.prediction.reshape(raw.shape)[::-1], **CLOSE)


def test_a_change_in_the_form_is_computed_anew(case):
    model, _, page = case
    columns = model.encoder_.columns
    word = next(j for j, column in enumerate(columns) if column.kind == "category")
    number = next(j for j, column in enumerate(columns) if column.kind == "number")
    fields = page.locator("#form label")
    fields.nth(word).locator("select").select_option(label=str(columns[word].levels[-1]))
    fields.nth(number).locator("input").fill("")
    cells = [field.input_value() for field in page.locator("#form select, #form input").all()]
    row = {c.name: [cell or None] for c, cell in zip(columns, cells, strict=True)}
    table = pd.DataFrame(row, dtype=object)
    for column in columns:
        if column.kind == "number":
            table[column.name] = table[column.name].astype(float)
    said = model.explain(table)
    shown = page.locator("#said")
    found = json.loads(shown.get_attribute("data-attributions"))
    np.testing.assert_allclose(found, said.values.ravel(), rtol=0, atol=1e-5)
    raw = json.loads(shown.get_attribute("data-raw"))
    np.testing.assert_allclose(raw, np.ravel(said.prediction), rtol=0, atol=1e-5)
    assert row[columns[word].name] == [str(columns[word].levels[-1])]
    assert page.locator("#features tr").count() == len(columns)
