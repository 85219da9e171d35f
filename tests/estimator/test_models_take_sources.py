"""Fitted models take sources where they take tables: the same answers, read part by part."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pytest

from sasanet import SASANetClassifier
from sasanet.errors import InvalidInputError
from small_models import fitted, rows

MODEL, ROWS = fitted("binary"), rows()
LABELS = pd.Series(MODEL.predict(ROWS), name="label")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("rows")
    full = ROWS.assign(label=LABELS, id=range(len(ROWS)))
    full[:10].to_parquet(place / "1.parquet", row_group_size=4)
    full[10:].to_parquet(place / "2.parquet")
    return place


def sources(folder):
    full = ROWS.assign(label=LABELS)
    return {
        "text": lambda: str(folder),
        "folder": lambda: folder,
        "dataset": lambda: pa.dataset.dataset(folder),
        "reader": lambda: pa.Table.from_pandas(full).to_reader(7),
        "frames": lambda: [full[:9], full[9:]],
        "generator": lambda: (full[i : i + 8] for i in range(0, len(full), 8)),
    }


@pytest.mark.parametrize("kind", ["text", "folder", "dataset", "reader", "frames", "generator"])
def test_every_source_gets_the_answers_of_the_table(folder, kind):
    source = sources(folder)[kind]
    known = list(ROWS.columns[:2])
    alike = {"rtol": 0, "atol": 1e-6}  # products of other heights are rounded in other ways
    found = MODEL.predict_proba(source())
    np.testing.assert_allclose(found, MODEL.predict_proba(ROWS), **alike)
    np.testing.assert_array_equal(MODEL.predict(source()), MODEL.predict(ROWS))
    np.testing.assert_allclose(MODEL.value(source(), known), MODEL.value(ROWS, known), **alike)
    explanation = MODEL.explain(source())
    np.testing.assert_allclose(explanation.values, MODEL.explain(ROWS).values, **alike)
    assert explanation.data.shape == ROWS.shape


def test_coalitions_of_each_row_go_with_their_rows(folder):
    known = np.random.default_rng(0).random(ROWS.shape) < 0.5
    found = MODEL.value(folder, known)
    np.testing.assert_allclose(found, MODEL.value(ROWS, known), rtol=0, atol=1e-6)
    assert not np.allclose(found, MODEL.value(ROWS, known[::-1]))  # the twin: of other rows
    with pytest.raises(InvalidInputError, match="as many as the 24 rows, got 48"):
        MODEL.value(folder, np.concatenate([known, known]))


def test_an_audit_draws_its_rows_from_a_source(folder):
    found = MODEL.audit(folder, target="label", n_rows=3, n_orders=4)
    assert found.n_rows == 3
    assert found.calibration  # the labels were read
    assert not MODEL.audit(folder, n_rows=3, n_orders=4).calibration
    whole = MODEL.audit(folder, target="label", n_rows=24, n_orders=4)
    assert whole.n_rows == 24


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda model, _: model.predict("nowhere"), "no file or folder nowhere"),
        (lambda model, folder: model.audit(folder, LABELS), "must be columns of a source"),
        (lambda model, folder: model.audit(folder, target="nix"), "must have the column 'nix'"),
        (lambda model, _: model.predict(iter([])), "must have rows"),
        (lambda model, _: model.predict([ROWS.iloc[:, :1]]), "must have the column"),
    ],
)
def test_what_a_source_lacks_is_said_in_a_sentence(folder, ask, words):
    with pytest.raises(InvalidInputError, match=words):
        ask(MODEL, folder)


def test_too_many_columns_are_refused_before_anything_is_learned(tmp_path, monkeypatch):
    wide = pd.DataFrame(np.zeros((40, 2**15 + 1)))
    with pytest.raises(InvalidInputError, match="at most 32,768 columns, got 32,769: "):
        SASANetClassifier().fit(wide, [0, 1] * 20)
    few = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 4)), columns=list("abcy"))
    few.to_parquet(tmp_path / "t.parquet")
    quick = {"max_epochs": 1, "teacher_weight": 0}
    for limit, refused in ((2, True), (3, False)):  # the twin: as many as are allowed
        monkeypatch.setattr("sasanet.table.reading.MOST_COLUMNS", limit)
        for source in (tmp_path, [few[:20], few[20:]]):
            model = SASANetClassifier(**quick)
            labelled = [f.assign(y=[0, 1] * 10) for f in source] if source != tmp_path else source
            if source == tmp_path:
                few.assign(y=[0, 1] * 20).to_parquet(tmp_path / "t.parquet")
            if refused:
                with pytest.raises(InvalidInputError, match="at most 2 columns, got 3"):
                    model.fit(labelled, target="y")
            else:
                model.fit(labelled, target="y")
