"""`sasanet cohorts`: every cohort of a file against its other rows."""

import json

import numpy as np
import pandas as pd
import pytest

from cli_run import done, run
from sasanet import SASANetClassifier
from sasanet.datasets import load_penguins
from sasanet.explanation.cohorts import against_others


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Return a directory with a model of three classes and its table."""
    folder = tmp_path_factory.mktemp("cohorts")
    X, y = load_penguins()
    model = SASANetClassifier(random_state=0, max_epochs=2, teacher_weight=0).fit(X, y)
    model.save(folder / "m")
    X.assign(species=y, half=np.arange(len(X)) % 2).to_csv(folder / "t.csv", index=False)
    return folder, model, X


def test_cohorts_of_a_file_are_those_of_its_explanation(place, tmp_path):
    folder, model, X = place
    given, out = (folder / "m", folder / "t.csv", "--class", "Gentoo"), tmp_path / "c.csv"
    told = json.loads(done("cohorts", *given, "--by", "island", "--out", out, "--json").stdout)
    e, found = model.explain(X).output("Gentoo"), pd.read_csv(out)
    assert set(found["cohort"]) == {"Biscoe", "Dream", "Torgersen"}
    assert told["cohorts"][0]["cohort"] == found["cohort"][0] == "Biscoe"
    parts = e.cohorts("island")
    for name, lines in found.groupby("cohort"):
        inside, others = parts[name], e[(X["island"] != name).to_numpy()]
        gap = inside.prediction.mean() - others.prediction.mean()
        assert lines["difference"].sum() == pytest.approx(gap)
        assert (lines["rows"] == len(inside)).all()
        whole = inside.prediction.mean() - e.prediction.mean()  # the twin: against all rows
        assert abs(lines["difference"].sum() - whole) > 1e-3
    said = done("cohorts", *given, "--by", "half", "--rows", 50).stdout  # no feature
    assert "less those of all other rows, in units of" in said
    wanted = against_others(e, "island")
    np.testing.assert_allclose(found["low"].sort_values(), wanted["low"].sort_values(), atol=2e-5)


def test_what_makes_no_cohorts_is_refused(place):
    folder, model, X = place
    assert "--class must choose" in run("cohorts", folder / "m", folder / "t.csv", "--by",
                                        "island").output  # fmt: skip
    one = model.explain(X).output("Gentoo")
    with pytest.raises(ValueError, match="into cohorts of two or more"):
        against_others(one, np.zeros(len(X)))
    missing = run("cohorts", folder / "m", folder / "t.csv", "--by", "moon", "--class", "Gentoo")
    assert missing.exit_code == 1
    assert "moon" in missing.output


def test_decisions_ask_for_a_class_in_words_of_the_command_line(place, tmp_path):
    folder = place[0]
    (tmp_path / "change.json").write_text('{"year": null}')
    given = (folder / "m", folder / "t.csv", "--threshold", 0.5, "--out", tmp_path / "o.csv")
    change = ("--change", tmp_path / "change.json", "--force")
    for command in (("reasons", *given), ("recourse", *given, *change)):
        assert "--class must choose one of ['Adelie'" in run(*command).output
        done(*command, "--class", "Gentoo")  # the twin
