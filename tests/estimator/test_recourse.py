"""Recourse: changes that the model itself confirms, as few and as small as found."""

import numpy as np
import pandas as pd
import pytest

from sasanet import SASANetClassifier
from sasanet.datasets import load_german_credit
from sasanet.errors import InvalidInputError
from small_models import fitted, rows

CHANGE = {"months": (6, 36), "credit_amount": None, "savings": None}


@pytest.fixture(scope="module")
def credit():
    """Return a model of German credit and rows it has not seen."""
    X, y = load_german_credit()
    model = SASANetClassifier(random_state=0, max_epochs=10, teacher_weight=0).fit(X[:800], y[:800])
    return model, X[800:860]


def changed(X, found, label):
    """Return a row with its changes made."""
    row = X.loc[[label]].astype(object)
    for line in found[found["row"] == label].itertuples():
        row.loc[label, line.feature] = line.to
    return row.infer_objects()


@pytest.mark.parametrize("side", ["above", "below"])
def test_the_model_confirms_every_change(credit, side):
    model, X = credit
    found = model.recourse(X, 0.5, CHANGE, refuse=side)
    score = model.predict_proba(X)[:, 1]
    refused = score >= 0.5 if side == "above" else score < 0.5
    assert {*found["row"]} == {*X.index[refused]}
    done = found.dropna(subset="feature")
    assert len(done) > 5
    for label in done["row"].unique():
        row = changed(X, found, label)
        after = float(model.predict_proba(row)[0, 1])
        assert (after < 0.5) == (side == "above")
        assert after == pytest.approx(done[done["row"] == label]["new_score"].iloc[0], abs=1e-6)


def test_only_what_may_change_changes_and_stays_in_its_range(credit):
    model, X = credit
    found = model.recourse(X, 0.5, CHANGE).dropna(subset="feature")
    assert {*found["feature"]} <= {*CHANGE}
    months = found[found["feature"] == "months"]["to"]
    assert months.between(6, 36).all()
    assert all(isinstance(value, int) for value in months)  # a column of whole numbers
    assert (found["from"] != found["to"]).all()


def test_one_change_is_the_smallest_of_all(credit):
    """No smaller change of that number alone crosses the threshold."""
    model, X = credit
    found = model.recourse(X, 0.5, {"months": [6, 12, 18, 24, 30, 36, 48]}, max_changes=1)
    assert found["feature"].notna().any()
    for line in found.dropna(subset="feature").itertuples():
        options = [6, 12, 18, 24, 30, 36, 48]
        row = pd.concat([X.loc[[line.row]]] * len(options))
        row["months"] = options
        works = model.predict_proba(row)[:, 1] < 0.5
        nearest = min(abs(o - line._5) for o, ok in zip(options, works, strict=True) if ok)
        assert abs(line.to - line._5) == nearest
    far = found[found["feature"].isna()]
    for label in far["row"]:  # the twin: where none was found, none works
        row = pd.concat([X.loc[[label]]] * 7)
        row["months"] = [6, 12, 18, 24, 30, 36, 48]
        assert (model.predict_proba(row)[:, 1] >= 0.5).all()


def test_more_changes_reach_more_rows(credit):
    model, X = credit
    one, three = (model.recourse(X, 0.35, CHANGE, max_changes=n) for n in (1, 3))
    missed = [found[found["feature"].isna()]["row"].nunique() for found in (one, three)]
    assert missed[1] < missed[0]
    counts = three.dropna(subset="feature").groupby("row").size()
    assert counts.max() <= 3
    easy = one.dropna(subset="feature")["row"]
    assert (counts[easy] == 1).all()  # where one change is enough, one is made


def test_missing_cells_stay_missing():
    model, X = fitted("binary"), rows()
    name = X.columns[3]
    found = model.recourse(X, 0.0, {name: None}, refuse="above")  # nothing is below 0
    assert found["feature"].isna().all()
    gone = X[name].isna()
    middle = float(np.median(model.predict_proba(X)[:, 1]))
    changed_rows = model.recourse(X, middle, {name: None}).dropna(subset="feature")["row"]
    assert not gone.loc[changed_rows].any()


def test_classes_and_numbers():
    X = rows(8)
    classes, name = fitted("classes"), X.columns[0]
    score = classes.predict_proba(X)[:, 1]
    found = classes.recourse(X, float(np.median(score)), {name: None}, output="b")
    assert found["score"].min() >= np.median(score) - 1e-9
    with pytest.raises(InvalidInputError, match="choose one with output"):
        classes.recourse(X, 0.3, {name: None})
    number = fitted("number")
    low = number.recourse(X, 0.0, {name: None, X.columns[2]: None}, refuse="below")
    assert (low["score"] < 0).all()
    assert (low["new_score"].dropna() >= 0).all()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"months": (None, None)}, "a pair"),
        ({"months": (6, np.inf)}, "a pair"),
        ({}, "dict of the features"),
        (["months"], "dict of the features"),
        ({"mouths": None}, "change must name features"),
        ({"months": "short"}, "a list of values"),
        ({"months": (36, 6)}, "from low to high"),
        ({"savings": (1, 2)}, "for a number"),
    ],
)
def test_other_changes_are_refused(credit, change, says):
    model, X = credit
    with pytest.raises(InvalidInputError, match=says):
        model.recourse(X, 0.5, change)
