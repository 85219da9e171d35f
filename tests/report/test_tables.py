"""Tables as they come: levels no row has, columns empty in training; all are encoded once."""

import base64

import numpy as np
import pandas as pd
import pytest

from reported import credit, fitted, penguins
from sasanet import SASANetClassifier
from sasanet.report import write_report
from sasanet.report.summary import gather
from sasanet.table.encoder import EncodedTable, TableEncoder


def without_seconds(found):
    """Return nested data without the times that measurements took."""
    if isinstance(found, dict):
        return {key: without_seconds(part) for key, part in found.items() if key != "seconds"}
    return [without_seconds(part) for part in found] if isinstance(found, list) else found


def test_levels_that_no_row_has_change_nothing():
    """A `category` column keeps the levels of the table it was cut from."""
    model, table = penguins()
    plain = gather(model, table, "species", "island")
    levels = pd.CategoricalDtype(["Torgersen", "Atlantis", "Dream", "Biscoe"])
    species = pd.CategoricalDtype([*model.classes_, "Emperor"])
    typed = table.assign(
        island=table["island"].astype(levels), species=table["species"].astype(species)
    )
    found = gather(model, typed, "species", "island")
    words = next(c for c in found["data"]["rows"]["columns"] if c["name"] == "island")["words"]
    assert "Atlantis" not in words
    for part in ("dependence", "calibration", "base"):
        assert found["data"][part] == plain["data"][part]
    for part in ("quality", "importance", "audit"):
        assert without_seconds(found["facts"][part]) == without_seconds(plain["facts"][part])


def test_a_category_column_is_reported_whole(tmp_path):
    model, table = credit()
    typed = table.assign(purpose=table["purpose"].astype("category"))[:40]
    assert typed["purpose"].value_counts().min() == 0  # some levels are not among these rows
    assert write_report(model, typed, tmp_path / "page.html", "bad", "purpose").exists()


@pytest.fixture
def half_empty():
    """Return a model of two columns, one of them empty in training, and rows that fill it."""
    random = np.random.default_rng(0)
    X = pd.DataFrame({"a": random.normal(size=60), "b": np.full(60, np.nan)})
    model = fitted(SASANetClassifier, X, random.random(60) < 0.5)
    return model, X.assign(b=random.normal(size=60))


def test_cells_of_a_column_empty_in_training_are_absent_in_the_page_too(half_empty):
    model, X = half_empty
    content = gather(model, X, None, None)
    packed = content["data"]["rows"]["columns"][1]["values"]
    values = np.frombuffer(base64.b64decode(packed["text"]), dtype=f"<{packed['kind']}")
    assert np.isnan(values).all()
    assert not model.explain(X).values[:, 1].any()  # as in the model
    by_key = {caveat["key"]: caveat for caveat in content["facts"]["caveats"]}
    assert [column["name"] for column in by_key["missing"]["columns"]] == ["b"]
    assert "b" not in [column["name"] for column in by_key["beyond"]["columns"]]


# --- encoding --------------------------------------------------------------------------------


@pytest.fixture
def encoded_rows(monkeypatch):
    """Return a list that grows by the number of rows whenever some are encoded."""
    counts, transform = [], TableEncoder.transform

    def watched(self, X, warn=True):
        counts.append(len(X))
        return transform(self, X, warn)

    monkeypatch.setattr(TableEncoder, "transform", watched)
    return counts


def test_a_report_encodes_its_table_once(encoded_rows, monkeypatch):
    monkeypatch.setattr("sasanet.report.summary._AUDITED_ROWS", 4)
    gather(*penguins(), "species", None)
    assert encoded_rows.count(90) == 1
    assert sum(encoded_rows) <= 90 + 2 * 4  # the audit reads its few rows as a user would


def test_an_encoded_table_is_taken_for_the_table_itself(encoded_rows):
    model, table = penguins()
    X = table.drop(columns="species")
    rows, cells = model._encode(X)
    encoded = EncodedTable(rows, cells.numpy())
    assert encoded_rows == [90]
    found = model.explain(encoded).values, model.predict_proba(encoded)
    assert encoded_rows == [90]
    np.testing.assert_array_equal(found[0], model.explain(X).values)
    np.testing.assert_array_equal(found[1], model.predict_proba(X))
    few = encoded.take(np.array([3, 1]))
    np.testing.assert_array_equal(model.value(few, ["sex"]), model.value(X.iloc[[3, 1]], ["sex"]))


# --- the file --------------------------------------------------------------------------------


def test_a_full_disk_keeps_the_old_page(tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    path.write_text("yesterday's")

    def write_some(self, data):
        with self.open("wb") as file:
            file.write(data[:100])
        raise OSError(28, "No space left on device", str(self))

    monkeypatch.setattr("pathlib.Path.write_bytes", write_some)
    with pytest.raises(OSError, match="No space left"):
        write_report(*credit(), path, "bad")
    assert path.read_text() == "yesterday's"
    assert list(tmp_path.iterdir()) == [path]


def test_a_place_that_cannot_be_written_is_refused_before_the_work(tmp_path, encoded_rows):
    (tmp_path / "file").write_text("no directory")
    for place in ("none/page.html", "file/page.html", "."):
        with pytest.raises(ValueError, match=r"There is no directory|got the directory"):
            write_report(*credit(), tmp_path / place, "bad")
    assert encoded_rows == []
