"""One row at a time: what a table of that row gives, bit by bit, on every task."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from people import people, score
from sasanet import Architecture, SASANetClassifier, SASANetRegressor
from sasanet.table.encoder import TableEncoder
from training_rows import briefly

TABLE = people(300)
CASES = {
    "binary": (SASANetClassifier, (score(TABLE) > 1).astype(int)),
    "multiclass": (SASANetClassifier, np.array(["a", "b", "c"])[np.digitize(score(TABLE), [0, 2])]),
    "regression": (SASANetRegressor, 100 * score(TABLE)),
}
NETWORKS = {
    "set": Architecture(width=8, marginal_layers=(6,)),
    "members": Architecture(width=8, marginal_layers=(6,), members=3),
    "sequence": briefly("sequence", 2),
}
ROWS = people(20, seed=1)


@pytest.fixture(scope="module", params=[*CASES, "members", "sequence"])
def model(request):
    kind, y = CASES.get(request.param, CASES["multiclass"])
    network = NETWORKS.get(request.param, NETWORKS["set"])
    return kind(network, max_epochs=2, teacher_weight=0, random_state=0).fit(TABLE, y)


def check_equal(model, rows):
    for place, row in enumerate(rows.to_dict("records")):
        table = rows[place : place + 1]
        assert model.predict_one(row) == model.predict(table)[0]
        found, expected = model.explain_one(row), model.explain(table)
        np.testing.assert_array_equal(found.values, expected.values[0], strict=True)
        np.testing.assert_array_equal(found.prediction, expected.prediction[0])
        assert found.feature_names == expected.feature_names
        assert (found.output_names, found.units) == (expected.output_names, expected.units)
        if hasattr(model, "predict_proba"):
            both = model.predict_proba_one(row), model.predict_proba(table)[0]
            np.testing.assert_array_equal(*both, strict=True)


def test_one_row_equals_a_table_of_one_row(model):
    check_equal(model, ROWS)


def test_other_cells_are_noticed(model, monkeypatch):
    read = TableEncoder.transform_row
    monkeypatch.setattr(TableEncoder, "transform_row", lambda *given: read(*given) * 0.5)
    with pytest.raises(AssertionError):
        check_equal(model, ROWS)


def check_cells(model, rows):
    """Encoded rows have the attributions and the raw predictions of their table, bit by bit."""
    values, raw = model.explain_cells(model.encoder_.transform(rows))
    table, one = model.explain(rows), values.shape[2] == 1
    np.testing.assert_array_equal(values[..., 0] if one else values, table.values, strict=True)
    if hasattr(model, "decision_function"):
        own = model.decision_function(rows)
    else:
        own = model.predict(rows)
    np.testing.assert_array_equal(raw[:, 0] if one else raw, own, strict=True)


def test_encoded_rows_are_explained_without_their_table(model, monkeypatch):
    check_cells(model, ROWS)
    right = model.explain_cells
    monkeypatch.setattr(model, "explain_cells", lambda cells: right(cells[::-1].copy()))
    with pytest.raises(AssertionError):  # the twin: rows in another order
        check_cells(model, ROWS)


def test_missing_cells_have_no_attribution(model):
    found = model.explain_one([None, 1.0, None, "S", True])
    assert (found.values[[0, 2]] == 0).all()
    assert np.abs(found.values).sum() > 0
    nothing = model.explain_one([None] * 5)
    np.testing.assert_array_equal(nothing.prediction, model.base_value_.squeeze())


def test_copies_and_new_fits_read_rows_with_their_own_columns(model):
    row = ROWS.iloc[0].to_dict()
    expected = model.explain_one(row).values
    for again in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.explain_one(row).values, expected)
    other = copy.deepcopy(model)
    other.fit(TABLE[["age", "income"]], CASES["binary"][1])
    check_equal(other, ROWS[["age", "income"]])


def test_an_unfitted_model_refuses():
    for method in ("predict_one", "explain_one", "predict_proba_one"):
        with pytest.raises(NotFittedError):
            getattr(SASANetClassifier(), method)([1])


def test_a_model_without_a_shapley_module_refuses():
    network = Architecture(width=8, marginal_layers=(6,), attribution="none")
    model = SASANetRegressor(network, max_epochs=1, teacher_weight=0).fit(
        [[0], [1], [2]], [1, 2, 3]
    )
    with pytest.raises(ValueError, match="needs a Shapley module"):
        model.explain_one([1])


def test_no_table_is_made(model, monkeypatch):
    row = ROWS.iloc[0].to_dict()

    def refuse(*_, **__):
        raise AssertionError("a table was made")

    monkeypatch.setattr(pd.DataFrame, "__init__", refuse)
    monkeypatch.setattr(pd.Series, "__init__", refuse)
    model.predict_one(row)
    model.explain_one(row)
    with pytest.raises(AssertionError, match="a table was made"):
        model.predict([list(row.values())])


def test_the_explanation_of_a_row_becomes_one_of_a_table(model):
    row = ROWS.iloc[0].to_dict()
    found = model.explain_one(row)
    whole = found.to_explanation()
    assert whole.data.iloc[0].to_dict() == pytest.approx(row, nan_ok=True)
    assert found.reasons(2) == model.explain(ROWS[:1]).reasons(0, 2)
    told = found.to_dict()
    np.testing.assert_array_equal(told["prediction"], found.prediction)
    assert list(told["attributions"]) == list(TABLE.columns)
