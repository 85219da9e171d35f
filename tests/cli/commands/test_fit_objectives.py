"""What a command line predicts and in which units: rates, quantiles, groups, pairs, free text."""

import json

import numpy as np
import pandas as pd
import pytest

from cli_run import done, run
from sasanet import SASANetRegressor, load

QUICK = ("--time-limit", 2)

pytestmark = pytest.mark.usefixtures("small_default", "few_trees")


@pytest.fixture(scope="module")
def claims(tmp_path_factory):
    """Return a table of claims with the years each policy was insured."""
    random = np.random.default_rng(0)
    n = 240
    X = pd.DataFrame({"age": random.integers(18, 80, n), "power": random.normal(size=n).round(3)})
    X["area"] = random.choice(["town", "land"], n)
    X["years"] = random.uniform(0.2, 1.0, n).round(3)
    X["claims"] = random.poisson(np.exp(1 - X["age"] / 50) * X["years"])
    X["minutes"] = (X["age"] / 10 + random.normal(size=n)).round(3)
    path = tmp_path_factory.mktemp("claims") / "claims.csv"
    X.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def rates(claims):
    """Return a model of claims per year, fitted by the command line."""
    folder = claims.parent / "rates"
    done("fit", claims, "--target", "claims", "--exclude", "minutes", "--exposure", "years",
         "--objective", "poisson", "--task", "regression", *QUICK, "--out", folder)  # fmt: skip
    return folder


def test_rates_are_predicted_for_their_exposure(claims, rates, tmp_path):
    model, table = load(rates), pd.read_csv(claims)
    assert model.target_.objective == "poisson"
    assert model.encoder_.names == ("age", "power", "area")
    done("predict", rates, claims, "--exposure", "years", "--out", tmp_path / "p.csv")
    done("predict", rates, claims, "--out", tmp_path / "q.csv")
    of_years, of_one = (pd.read_csv(tmp_path / f"{name}.csv")["prediction"] for name in "pq")
    np.testing.assert_allclose(of_years, of_one * table["years"], rtol=1e-5)
    np.testing.assert_allclose(of_one, model.predict(table[["age", "power", "area"]]), rtol=1e-5)


def test_rates_are_explained_in_their_own_units_or_as_logarithms(claims, rates, tmp_path):
    told = {}
    for units in ("raw", "response"):
        out = tmp_path / f"{units}.csv"
        said = done("explain", rates, claims, "--units", units, "--out", out, "--json").stdout
        found = pd.read_csv(out)
        sums = found["base_value"] + found.filter(like="phi_").sum(axis=1)
        np.testing.assert_allclose(sums, found["prediction"], rtol=1e-4)
        told[units] = json.loads(said)["units"], found["prediction"]
    assert (told["raw"][0], told["response"][0]) == ("log rate", "rate")
    np.testing.assert_allclose(np.exp(told["raw"][1]), told["response"][1], rtol=1e-3)


def test_rates_are_audited_and_reported_by_exposure(claims, rates, tmp_path):
    given = rates, claims, "--target", "claims", "--exposure", "years"
    said = done("audit", *given, "--rows", 8, "--orders", 8, "--json").stdout
    names = [finding["name"] for finding in json.loads(said)["findings"]]
    assert "value calibration error" in names
    done("report", *given, "--out", tmp_path / "report.html")
    assert "D² of the deviance" in (tmp_path / "report.html").read_text()


def test_several_quantiles_are_columns_in_order(claims, tmp_path):
    levels = [word for level in (0.1, 0.5, 0.9) for word in ("--quantile", level)]
    done("fit", claims, "--target", "minutes", "--objective", "quantile", *levels, *QUICK,
         "--exclude", "claims,years", "--out", tmp_path / "m")  # fmt: skip
    assert load(tmp_path / "m").target_.quantiles == (0.1, 0.5, 0.9)
    given = tmp_path / "m", claims, "--out", tmp_path / "pairs.csv", "--top", 1
    assert "--class must choose one of" in run("interactions", *given).output
    done("interactions", *given, "--class", "q0.9")
    assert len(pd.read_csv(tmp_path / "pairs.csv")) == 240
    done("predict", tmp_path / "m", claims, "--out", tmp_path / "p.csv")
    found = pd.read_csv(tmp_path / "p.csv").filter(like="q0").to_numpy()
    assert found.shape == (240, 3)
    assert (np.diff(found, axis=1) > 0).all()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--target", "area", "--objective", "poisson"], "must hold numbers for --task regression"),
        (["--target", "minutes", "--exposure", "years"], "unless a rate is predicted"),
        (["--target", "minutes", "--quantile", 0.9], "left out unless objective='quantile'"),
        (["--target", "minutes", "--objective", "gamma"], "above 0 for objective='gamma'"),
        (["--target", "claims", "--exposure", "age,power"], "--exposure must name a column"),
    ],
)
def test_what_does_not_go_together_is_refused(claims, tmp_path, words, says):
    result = run("fit", claims, *words, "--out", tmp_path / "m", *QUICK)
    assert result.exit_code != 0
    assert says in " ".join(result.output.split())
    assert not (tmp_path / "m").exists()


def test_units_that_a_model_has_not_are_refused(claims, rates, tmp_path):
    result = run("explain", rates, claims, "--units", "probability", "--out", tmp_path / "e.csv")
    assert "for classifiers, got a regressor" in " ".join(result.output.split())


def test_groups_are_divided_and_pairs_refined(claims, rates, tmp_path):
    groups = {"policy": ["age", "power"]}
    (tmp_path / "groups.json").write_text(json.dumps(groups))
    given = rates, claims, "--groups", tmp_path / "groups.json"
    done("explain", *given, "--within", "--out", tmp_path / "w.csv")
    done("explain", *given, "--out", tmp_path / "g.csv")
    members, whole = (pd.read_csv(tmp_path / f"{name}.csv") for name in "wg")
    assert list(members.filter(like="phi_")) == ["phi_age", "phi_power", "phi_area"]
    np.testing.assert_allclose(
        members["phi_age"] + members["phi_power"], whole["phi_policy"], atol=1e-4
    )
    refused = run("explain", rates, claims, "--within", "--out", tmp_path / "n.csv")
    assert "got no groups" in " ".join(refused.output.split())
    done("interactions", rates, claims, "--orders", 8, "--out", tmp_path / "pairs.csv", "--top", 1)
    assert len(pd.read_csv(tmp_path / "pairs.csv")) == 240


def test_a_column_of_sentences_in_a_csv_file_is_text(tmp_path):
    random = np.random.default_rng(1)
    words = ["lid", "the", "broken", "came", "fine"]
    notes = [" ".join(random.choice(words, 6)) for _ in range(150)]
    table = pd.DataFrame({"note": notes, "x": random.normal(size=150)})
    table["y"] = 2 * table["note"].str.contains("broken") + table["x"]
    table.to_csv(tmp_path / "notes.csv", index=False)
    done("fit", tmp_path / "notes.csv", "--target", "y", *QUICK, "--out", tmp_path / "m")
    model = load(tmp_path / "m")
    assert isinstance(model, SASANetRegressor)
    assert [column.kind for column in model.encoder_.columns] == ["text", "number"]
    out = tmp_path / "e.csv"
    done("explain", tmp_path / "m", tmp_path / "notes.csv", "--top", 2, "--out", out)
    said = pd.read_csv(out)[["reason_1", "reason_2"]].stack()
    assert said.str.startswith("note with '").any()
    assert "text" in done("inspect", tmp_path / "m").stdout
