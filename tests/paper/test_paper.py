"""The paper's experiments, end to end on a bundled table; `make paper-quick` has the real ones."""

import json

import pandas as pd
import pytest

from bench import runner
from bench.tables import data as bench_data
from bench.tables.data import Split
from paper import (
    data,
    explainers,
    figures,
    masking,
    page,
    prediction,
    settings,
    systems,
    timing,
    values,
)
from paper.run import all_jobs, is_done
from sasanet.datasets import load_german_credit

SYSTEMS = settings.read_settings("prediction")["systems"]


# On a busy machine a network gets few steps in the second it has here.
pytestmark = pytest.mark.filterwarnings("ignore::sasanet.errors.ShortFitWarning")

BRIEFLY = {
    "rows = 1500": "rows = 300",
    "income = 1,": "income = 0.2,",
    "insurance = 1 ": "insurance = 0.2 ",
    "time_limit = 2": "time_limit = 0.4",
    "explained = 150": "explained = 40",
    "explained = 60": "explained = 20",
    "kernel_rows = 20": "kernel_rows = 5",
    "kernel_rows = 10": "kernel_rows = 5",
}


@pytest.fixture
def quick(monkeypatch, tmp_path):
    """Quick settings, a folder of their own, and German credit for every data set."""
    X, y = load_german_credit()
    words = X.select_dtypes(exclude="number").columns
    X = X.astype(dict.fromkeys(words, "category"))
    split = Split(X[:600], y[:600], X[600:], y[600:])
    monkeypatch.setenv("SASANET_PAPER", "quick")
    monkeypatch.setattr(bench_data, "splits", lambda _, count: [split] * count)
    source, copy = settings.FOLDER / settings.SETTINGS, tmp_path / settings.SETTINGS
    for room in (settings, prediction, explainers):
        monkeypatch.setattr(room, "FOLDER", tmp_path)
    copy.mkdir()
    for file in (*settings.EXPERIMENTS, "printed"):
        text = (source / f"{file}.toml").read_text()
        for before, after in BRIEFLY.items():
            text = text.replace(before, after)
        (copy / f"{file}.toml").write_text(text)
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


def change(folder, before, after, experiment="prediction"):
    file = folder / settings.SETTINGS / f"{experiment}.toml"
    quick_part = file.read_text().index("[quick]")
    text = file.read_text()
    file.write_text(text[:quick_part] + text[quick_part:].replace(before, after))


def test_more_splits_go_on_where_a_result_ends(quick):
    first = run(
        "prediction-income-constant", lambda: prediction.predict("income", "constant"), quick
    )
    file = quick / "quick" / "prediction-income-constant.json"
    assert is_done(file)
    change(quick, "splits = 1\nslow", "splits = 3\nslow")
    assert not is_done(file)
    for half_done in (quick / "partial").glob("*"):
        half_done.unlink()  # a machine that has the results only
    more = run(
        "prediction-income-constant", lambda: prediction.predict("income", "constant"), quick
    )
    assert len(more["splits"]) == 3
    assert more["splits"][0] == first["splits"][0]  # its seconds too: it was not fitted again
    assert is_done(file)


def test_a_result_of_another_budget_is_not_gone_on_with(quick):
    first = run("prediction-income-mlp", lambda: prediction.predict("income", "MLP"), quick)
    change(quick, "time_limit = { income = 0.2,", "time_limit = { income = 0.1,")
    assert not is_done(quick / "quick" / "prediction-income-mlp.json")
    again = run("prediction-income-mlp", lambda: prediction.predict("income", "MLP"), quick)
    assert len(again["splits"]) == 1
    assert again["splits"] != first["splits"]


def test_an_ablation_takes_the_settings_of_the_whole(quick):
    change(quick, "search = 1", "search = 2")
    with pytest.raises(SystemExit, match="run the job prediction-income-sasanet_paper first"):
        prediction.predict("income", "SASANet-d")
    file = quick / "quick" / "prediction-income-sasanet_paper.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"tuning": {"chosen": {"learning_rate": 0.0123}}}))
    found = prediction.predict("income", "SASANet-d")
    assert found["tuning"] == {"chosen": {"learning_rate": 0.0123}, "tried": []}


@pytest.mark.parametrize(
    ("seconds", "wanted"),
    [([], 3), ([5, 5], 3), ([59] * 3, 10), ([61] * 3, 3), ([61] * 3 + [5] * 7, 3), ([5] * 10, 10)],
)
def test_fits_of_less_than_a_minute_have_more_splits(seconds, wanted):
    full = {"splits": 10, "slow_splits": 3}
    assert prediction._wanted([{"fit_seconds": one} for one in seconds], full) == wanted


def test_quick_fits_go_on_to_all_splits(quick):
    change(quick, "splits = 1\nslow", "splits = 4\nslow")
    found = prediction.predict("income", "constant")
    assert len(found["splits"]) == 4
    assert prediction.is_current(found)
    assert not prediction.is_current(found | {"splits": found["splits"][:3]})


@pytest.mark.usefixtures("quick")
def test_every_network_has_the_same_time(monkeypatch):
    monkeypatch.setenv("SASANET_PAPER", "full")
    full = settings.read_settings("prediction")
    free = {"constant", "LightGBM", "EBM", "decision tree", "logistic regression", "SASANet"}
    free |= {systems.LONG}
    for name, limit in full["time_limit"].items():
        limits = {one: systems.limits_of(one, name, full).fit for one in SYSTEMS}
        assert {one for one in SYSTEMS if limits[one] == limit} == set(SYSTEMS) - free
        assert limits[systems.LONG] > limit


def test_the_other_experiments_and_the_page(quick):
    run("prediction-income-sasanet", lambda: prediction.predict("income", "SASANet"), quick)
    run("prediction-income-lightgbm", lambda: prediction.predict("income", "LightGBM"), quick)
    run("masking-income-0", lambda: masking.mask("income", 0), quick)
    timed = run("timing-income-0", lambda: timing.measure_time("income", 0), quick)
    assert timed["as_given"]["SASANet"] < timed["as_given"]["KernelSHAP"]
    run("values-income-0", lambda: values.value_curve("income", 0), quick)
    run("figures-income", lambda: figures.draw("income"), quick)
    page.write_page(quick / "quick")
    text = (quick / "quick" / "paper.md").read_text()
    for title in ("## Prediction", "## What the paper claims", "## Which features", "## Time",
                  "## Predicting from some", "## Pictures"):  # fmt: skip
        assert title in text
    for picture in ("overall", "positive", "negative", "values"):
        assert (quick / "quick" / f"income-{picture}.png").stat().st_size > 5_000


def test_a_result_of_other_settings_is_not_done(quick):
    file = quick / "quick" / "masking-income-0.json"
    assert not is_done(file)
    found = run("masking-income-0", all_jobs()["masking-income-0"], quick)
    assert set(found["rankings"]) == {"SASANet", *explainers.POSTHOC, "random"}
    assert is_done(file)
    change(quick, "seeds = [0]", "seeds = [0, 1]", "masking")  # which are run changes no result
    assert is_done(file)
    change(quick, "kernel_samples = 100", "kernel_samples = 101", "masking")
    assert not is_done(file)


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
