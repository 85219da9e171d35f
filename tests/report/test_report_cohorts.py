"""The page says why groups of rows differ, and where to find what it does not show."""

import numpy as np
import pytest

from sasanet import SASANetClassifier, SASANetRegressor
from sasanet.report import write_report
from sasanet.report.summary import gather
from small_models import fitted, rows

QUICK = {"random_state": 0, "max_epochs": 2, "teacher_weight": 0}


def told(facts):
    return {what: why for what, why, _ in facts["elsewhere"]}


def test_cohorts_are_those_of_the_rows_shown(tmp_path):
    model, X = fitted("number"), rows(60)
    table = X.assign(side=np.where(X["x0"].fillna(0) > 0, "right", "left"))
    facts = gather(model, table, None, "side")["facts"]
    e = model.explain(X)
    sides = (table["side"] == "right").to_numpy()
    wanted = e[sides].compare(e[~sides])
    found = {part["name"]: part for part in facts["cohorts"]["parts"]}
    assert found["right"]["rows"] == sides.sum()
    names = [name for name, *_ in found["right"]["features"]]
    assert names == wanted.index[:3].tolist()
    gaps = [gap for _, gap, *_ in found["right"]["features"]]
    np.testing.assert_allclose(gaps, wanted["difference"][:3], rtol=1e-4)
    with pytest.raises(AssertionError):  # the twin: the other group's
        np.testing.assert_allclose(
            [gap for _, gap, *_ in found["left"]["features"]], wanted["difference"][:3], rtol=1e-4
        )
    assert "Why groups of rows differ" not in told(facts)
    page = write_report(model, table, tmp_path / "r.html", group="side")
    assert "Why groups of rows differ" in page.read_text("utf-8")


def test_what_is_not_shown_is_said_with_the_reason():
    X = rows(20)
    plain = told(gather(fitted("number"), X, None, None)["facts"])
    assert plain["Why groups of rows differ"] == "no column to group rows by was given"
    assert not any("itself" in what for what in plain)  # numbers have one unit
    rate = gather(fitted("rate"), X, None, None, groups={"two": ["x0", "x1"]})["facts"]
    assert "Attributions of the rate itself" in told(rate)
    assert "Groups of columns as one player" not in told(rate)
    assert "Columns within groups" in told(rate)
    assert "Columns within groups" not in plain
    assert plain["Groups of columns as one player"] == "none were given"
    assert plain["Reasons for a refusal"] == "a decision needs a threshold"
    levels = {"objective": "quantile", "quantile": [0.1, 0.9]}
    several = SASANetRegressor(**levels, **QUICK).fit(X.fillna(0.0), np.arange(20.0))
    quantiles = told(gather(several, X, None, None)["facts"])
    assert "fit one quantile" in quantiles["Reasons for a refusal"]  # as the model itself says
    assert {"Drift", "The model card", "Importances in training"} < {*plain}
    classes = gather(fitted("classes"), X.assign(g=["a", "b"] * 10), None, "g")["facts"]
    assert "several outputs" in told(classes)["Why groups of rows differ"]
    assert "Attributions of the probability itself" in told(classes)
    single = gather(fitted("number"), X.assign(g="one"), None, "g")["facts"]
    assert "choose a column that repeats" in told(single)["Why groups of rows differ"]


def test_class_weights_are_said():
    X = rows(40).fillna(0.0)
    weighted = SASANetClassifier(class_weight="balanced", **QUICK).fit(X, np.arange(40) > 30)
    terms = dict(gather(weighted, X, None, None)["facts"]["model"])
    assert terms["Class weights"].startswith("balanced")
    number = SASANetRegressor(**QUICK).fit(X, np.arange(40.0))
    assert "Class weights" not in dict(gather(number, X, None, None)["facts"]["model"])
