"""The paper's experiments, end to end on a bundled table; `make paper-quick` has the real ones."""

import json

import pandas as pd
import pytest
from bench import data as bench_data
from bench import runner
from bench.data import Split
from paper import data, explainers, figures, masking, page, prediction, settings, timing, values
from paper.run import all_jobs

from sasanet.datasets import load_german_credit

SYSTEMS = settings.read_settings("prediction")["systems"]


@pytest.fixture
def quick(monkeypatch, tmp_path):
    """Quick settings, a folder of their own, and German credit for every data set."""
    X, y = load_german_credit()
    words = X.select_dtypes(exclude="number").columns
    X = X.astype(dict.fromkeys(words, "category"))
    split = Split(X[:600], y[:600], X[600:], y[600:])
    monkeypatch.setenv("SASANET_PAPER", "quick")
    monkeypatch.setattr(bench_data, "splits", lambda _, count: [split] * count)
    for room in (settings, prediction, explainers, figures):
        monkeypatch.setattr(room, "FOLDER", tmp_path)
    for file in (*settings.EXPERIMENTS, "printed"):
        source = (settings.Path(settings.__file__).parent / f"{file}.toml").read_text()
        (tmp_path / f"{file}.toml").write_text(source.replace("rows = 1500", "rows = 300"))
    return tmp_path


def run(name, job, folder):
    runner._run(job, folder / "quick" / f"{name}.json")
    return json.loads((folder / "quick" / f"{name}.json").read_text())


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_system_predicts(quick, system):
    found = run("prediction-income-x", lambda: prediction.predict("income", system), quick)
    (scores,) = found["splits"]
    assert 0 <= scores["auc"] <= 1
    assert scores["fit_seconds"] > 0


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("system", ["constant", "LightGBM", "NAM", "SASANet"])
def test_insurance_is_a_regression(system):
    (scores,) = prediction.predict("insurance", system)["splits"]
    assert {"rmse", "mae", "r2", "auc"} <= set(scores)


@pytest.mark.usefixtures("quick")
def test_what_cannot_regress_is_left_out():
    names = prediction.jobs()
    assert "prediction-fraud-site" in names
    assert "prediction-insurance-site" not in names


def test_the_other_experiments_and_the_page(quick):
    run("prediction-income-sasanet", lambda: prediction.predict("income", "SASANet"), quick)
    run("prediction-income-lightgbm", lambda: prediction.predict("income", "LightGBM"), quick)
    ranked = run("masking-income-0", lambda: masking.mask("income", 0), quick)
    assert set(ranked["rankings"]) == {"SASANet", *explainers.POSTHOC, "random"}
    timed = run("timing-income", lambda: timing.measure_time("income"), quick)
    assert timed["as_given"]["SASANet"] < timed["as_given"]["KernelSHAP"]
    run("values-income-0", lambda: values.value_curve("income", 0), quick)
    run("figures-income", lambda: figures.draw("income"), quick)
    page.write_page(quick / "quick")
    text = (quick / "quick" / "paper.md").read_text()
    for title in ("## Prediction", "## What the paper claims", "## Which features", "## Time",
                  "## Predicting from some", "## Pictures"):  # fmt: skip
        assert title in text
    assert (quick / "quick" / "income-overall.png").exists()


@pytest.mark.usefixtures("quick")
def test_every_job_has_a_name_of_its_own():
    names = all_jobs()
    assert len(names) > 60
    assert all("/" not in name and " " not in name for name in names)


def test_rare_rows_are_taken_more_often_and_weigh_less():
    y = pd.Series([1] * 20 + [0] * 9_980)
    places, weights = data.sample(y, 400, 0)
    rare = (y.iloc[places] == 1).to_numpy()
    assert len(places) == len(set(places)) == 400
    assert rare.sum() == 20
    assert weights[rare].sum() == pytest.approx(20)
    assert weights.sum() == pytest.approx(10_000)
