"""A file is compared with its model before it is written, and what differs is noticed."""

from dataclasses import replace

import numpy as np
import pytest

from sasanet import SASANetClassifier
from sasanet.datasets import load_german_credit
from sasanet.errors import InvalidInputError
from sasanet.network.attribution import closed_form
from sasanet.onnx import attribution, export, moments
from sasanet.onnx.comparison import draw_rows

pytestmark = pytest.mark.filterwarnings("ignore::sasanet.errors.UnknownLevelWarning")


@pytest.fixture(scope="module")
def model():
    X, y = load_german_credit()
    return SASANetClassifier(random_state=0, max_epochs=3, teacher_weight=0).fit(X, y)


def test_rows_with_a_second_look_are_the_models_own(model, tmp_path, monkeypatch):
    few = draw_rows(model.encoder_.columns, 12)
    plain = model.explain(few).values
    monkeypatch.setattr(closed_form, "INACCURATE", -1.0)  # now every row gets one
    assert np.abs(model.explain(few).values - plain).max() > 1e-4  # which changes them
    errors = model.to_onnx(tmp_path / "m.onnx", few)
    assert errors["largest"] < 1e-5
    assert errors["rows"] == 12
    assert not errors["drawn"]


def test_a_formula_that_forgets_a_part_would_be_noticed(model, tmp_path, monkeypatch):
    def forgetful(*given):
        values, found = moments.expected_value(*given)
        return values, replace(found, presence=found.presence * 0.0)

    monkeypatch.setattr(attribution, "expected_value", forgetful)
    errors = model.to_onnx(tmp_path / "m.onnx", draw_rows(model.encoder_.columns, 12))
    assert errors["largest"] > 1e-4


def test_a_file_that_predicts_otherwise_is_not_written(model, tmp_path, monkeypatch):
    other = replace(export.export(model.network_), cap=3.0)
    monkeypatch.setattr(export, "export", lambda _: other)
    with pytest.raises(InvalidInputError, match="must predict what the model predicts"):
        model.to_onnx(tmp_path / "m.onnx")
    assert not [*tmp_path.iterdir()]


def test_drawn_rows_have_every_kind_of_cell(model):
    rows = draw_rows(model.encoder_.columns, 400)
    assert rows[:200].notna().all(axis=None)
    gone = rows[200:].isna().mean(axis=1)
    assert gone.max() > 0.8
    assert (gone > 0.55).any()  # nine of twenty columns or fewer: enumerated
    for column in model.encoder_.columns:
        if column.levels:
            assert set(column.levels) < set(rows[column.name].dropna())  # and an unknown one
