"""Reasons for a decision: only what moved the score to the refused side, protected ones unsaid."""

import numpy as np
import pytest

from sasanet import SASANetClassifier
from sasanet.errors import InvalidInputError
from small_models import fitted, rows


@pytest.fixture
def told():
    """Return a model, its rows and a threshold that refuses half of them."""
    model, X = fitted("binary"), rows()
    X.index = [f"row {i}" for i in range(len(X))]
    return model, X, float(np.median(model.predict_proba(X)[:, 1]))


def test_refused_rows_and_no_others_have_reasons(told):
    model, X, threshold = told
    score = model.predict_proba(X)[:, 1]
    above, below = (model.reasons(X, threshold, refuse=side) for side in ("above", "below"))
    assert {*above["row"]} == {*X.index[score >= threshold]}
    assert {*below["row"]} == {*X.index[score < threshold]}
    np.testing.assert_allclose(above.groupby("row")["score"].first().min(), threshold, atol=0.1)


@pytest.mark.parametrize(("side", "sign"), [("above", 1), ("below", -1)])
def test_reasons_are_the_strongest_attributions_of_that_side(told, side, sign):
    model, X, threshold = told
    found, e = model.reasons(X, threshold, refuse=side, k=3), model.explain(X)
    for label, lines in found.groupby("row"):
        values = sign * e.values[list(X.index).index(label)]
        wanted = np.sort(values[values > 0])[::-1][:3]
        np.testing.assert_allclose(sign * lines["attribution"], wanted)
        assert lines["rank"].tolist() == list(range(1, len(wanted) + 1))
    words = "raises" if sign > 0 else "lowers"
    assert found["reason"].str.contains(words).all()
    other = model.reasons(X, threshold, refuse="below" if side == "above" else "above")
    assert not other["reason"].str.contains(words).any()  # the twin: the other side's words


def test_excluded_features_are_not_told_but_said_to_matter(told):
    model, X, threshold = told
    free = model.reasons(X, threshold)
    protected = str(free["feature"].value_counts().index[0])
    found = model.reasons(X, threshold, exclude=[protected])
    assert protected in set(free["feature"])  # the twin: it would be told
    assert protected not in set(found["feature"])
    moved = free.loc[free["feature"] == protected, "row"]
    assert found[found["row"].isin(moved)]["excluded"].eq(protected).all()
    assert (free["excluded"] == "").all()


def test_a_row_with_nothing_to_tell_has_one_line_of_rank_0(told):
    model, X, threshold = told
    found = model.reasons(X, threshold, exclude=list(X.columns))
    assert (found["rank"] == 0).all()
    assert found["reason"].isna().all()
    assert found["row"].is_unique
    assert (found["excluded"] != "").all()


def test_codes_and_sentences_are_written(told):
    model, X, threshold = told
    names = list(X.columns)
    codes = {name: f"R{i}" for i, name in enumerate(names)}
    found = model.reasons(X, threshold, codes=codes)
    assert [codes[name] for name in found["feature"]] == found["code"].tolist()
    spoken = {name: [code, f"says {name}"] for name, code in codes.items()}
    said = model.reasons(X, threshold, codes=spoken)
    assert [f"says {name}" for name in said["feature"]] == said["reason"].tolist()
    with pytest.raises(InvalidInputError, match="got none for"):
        model.reasons(X, threshold, codes={names[0]: "R0"})
    model.reasons(X, threshold, codes={names[0]: "R0"}, exclude=names[1:])  # the others need none
    with pytest.raises(InvalidInputError, match="a code and a sentence"):
        model.reasons(X, threshold, codes=codes | {names[0]: ["R0"]})
    with pytest.raises(InvalidInputError, match="codes must be a dict"):
        model.reasons(X, threshold, codes=["R0"])


def test_missing_cells_are_no_reason(told):
    model, X, _ = told
    found = model.reasons(X, 0.0, k=12)
    missing = X.isna()
    assert not any(
        missing.loc[line.row, line.feature] for line in found[found["rank"] > 0].itertuples()
    )


def test_groups_numbers_and_several_classes():
    X = rows()
    names = list(X.columns)
    found = fitted("binary").reasons(X, 0.0, groups={"front": names[:6]}, exclude=["front"])
    assert "front" not in set(found["feature"])
    number = fitted("number")
    scores = number.reasons(X, 0.0)["score"]
    assert (scores >= 0).all()
    assert "raises the target by" in number.reasons(X, 0.0)["reason"].iloc[0]
    classes = fitted("classes")
    of_b = classes.reasons(X, 0.3, output="b")
    assert (of_b["score"] >= 0.3).all()
    e = classes.explain(X, units="probability").output("b")
    assert of_b["attribution"].isin(e.values.ravel()).all()
    again = classes.reasons(X, 0.3, output="b", units="probability")
    assert again.equals(of_b)
    with pytest.raises(InvalidInputError, match="about one score"):
        classes.reasons(X, 0.3)
    with pytest.raises(InvalidInputError, match="output must be left out"):
        fitted("binary").reasons(X, 0.3, output="b")


def test_reasons_in_units_of_the_probability(told):
    model, X, threshold = told
    found = model.reasons(X, threshold, units="probability", k=12)
    plain = model.reasons(X, threshold, k=12)
    np.testing.assert_allclose(found["score"].unique(), plain["score"].unique(), atol=1e-9)
    e = model.explain(X, units="probability")
    for line in found[found["rank"] > 0].itertuples():
        position = X.index.get_loc(line.row), e.feature_names.index(line.feature)
        assert line.attribution == e.values[position]
    assert found["reason"].str.contains("raises the probability by").all()
    assert not np.allclose(found["attribution"].max(), plain["attribution"].max())  # the twin
    with pytest.raises(InvalidInputError, match="for classifiers"):
        fitted("number").reasons(rows(), 0.0, units="probability")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"threshold": "0.5"}, "threshold must be a number"),
        ({"threshold": float("nan")}, "threshold must be a number"),
        ({"threshold": 0.5, "k": 0}, "k must be an integer"),
        ({"threshold": 0.5, "refuse": "up"}, "refuse must be one of"),
        ({"threshold": 0.5, "exclude": "age"}, "put it into brackets"),
        ({"threshold": 0.5, "exclude": ["agee"]}, "exclude must name features"),
    ],
)
def test_other_arguments_are_refused(given, says):
    with pytest.raises(InvalidInputError, match=says):
        fitted("binary").reasons(rows(), **given)


def test_a_model_that_is_not_fitted_says_so():
    with pytest.raises(ValueError, match="not fitted"):
        SASANetClassifier().reasons(rows(), 0.5)
