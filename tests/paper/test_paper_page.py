"""The paper's page: our figure, the printed one, the difference, spreads and verdicts."""

from __future__ import annotations

import pytest

from paper import prediction as measured
from paper.sections import subsets as subsets_section
from paper.sections.aims import aims
from paper.sections.prediction import claims, prediction, seconds
from paper.sections.rankings import rankings
from paper.sections.results import verdict
from paper.sections.subsets import subsets
from paper.sections.timing import timing


def row_of(text, first):
    """Return the cells of every table row that begins with a word."""
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
    return [cells for cells in rows if cells[0] == first]


def predicted(system, auc, data="fraud"):
    splits = [{"auc": one, "ap": one / 2, "fit_seconds": 75} for one in auc]
    return {"data": data, "system": system, "splits": splits, "test_share": 0.25}


def ranked(ours, theirs, random):
    def flat(auc):
        both = {"ap": [auc / 2] * 5, "auc": [auc] * 5}
        return {"masking": both, "adding": both}

    found = {"SASANet": flat(ours), "KernelSHAP": flat(theirs), "random": flat(random)}
    return {"data": "fraud", "test_share": 0.25, "rankings": found}


def timed(ours, theirs):
    errors = {"SASANet": ours, "KernelSHAP": theirs, "noise of the truth": 0.01, "spread": 0.5}
    return {
        "data": "fraud",
        "test_share": 0.25,
        "threads": 1,
        "truth_rows": 100,
        "orders": 4_000,
        "seconds": {"SASANet": 2.0, "KernelSHAP": 60.0, "LIME": 200.0},
        "training_seconds": {},
        "as_given": errors,
        "shifted": errors,
    }


@pytest.mark.parametrize(
    ("centre", "half", "sign", "word"),
    [
        (0.02, 0.01, 1, "yes"),
        (0.02, 0.01, -1, "no"),
        (-0.02, 0.01, -1, "yes"),
        (0.01, 0.02, 1, "undecided"),
        (0.5, float("nan"), 1, "one only"),
    ],
)
def test_a_verdict_needs_an_interval_without_zero(centre, half, sign, word):
    assert verdict(centre, half, sign)[1] == word


def test_limits_are_told_with_their_exceptions():
    usual = {"income": 40, "higgs": 40, "fraud": 40, "insurance": 40}
    assert seconds(usual) == "40 seconds"
    assert seconds(usual | {"income": 120}) == "40 seconds (Income 120)"


def test_predictions_stand_beside_the_printed_ones():
    text = prediction({"prediction-fraud-nam": predicted("NAM", [0.90, 0.92])})
    (cells,) = row_of(text, "NAM")
    assert cells[1:] == [
        "2",
        "75",
        "0.4550 ± 0.0071",
        "0.7986 ± 0.0026",
        "-0.3436",
        "0.9100 ± 0.0141",
        "0.9590 ± 0.0075",
        "-0.0490",
    ]


def test_results_of_another_budget_are_named(monkeypatch):
    run = predicted("NAM", [0.90, 0.92]) | {"budget": "of long ago"}
    late = "to be measured again: NAM on Fraud."
    assert late in prediction({"prediction-fraud-nam": run})
    assert late not in prediction({"prediction-fraud-nam": predicted("NAM", [0.90, 0.92])})
    monkeypatch.setattr(measured, "is_current", lambda _: True)
    assert late not in prediction({"prediction-fraud-nam": run})


def test_claims_are_judged_by_paired_differences():
    runs = {
        "prediction-fraud-a": predicted("SASANet (paper)", [0.95, 0.96, 0.97]),
        "prediction-fraud-b": predicted("NAM", [0.90, 0.91, 0.921]),
        "prediction-fraud-c": predicted("MLP", [0.80, 0.99, 0.97]),
    }
    claim = "it beats other self-attributing networks"
    ((_, _, which, gap, word, *precision),) = row_of(claims(runs), claim)
    assert which == "SASANet (paper) − NAM"
    assert (gap[:9], word) == ("+0.0497 [", "yes")
    assert (precision[0][:9], precision[1]) == ("+0.0248 [", "yes")
    ((*_, word, _, _),) = row_of(claims(runs), "SASANet matches black boxes")
    assert word == "undecided"


def test_income_has_no_interval_of_precision_as_its_test_rows_were_not_redrawn_for_it():
    runs = {
        "prediction-income-a": predicted("SASANet (paper)", [0.95, 0.96, 0.97], "income"),
        "prediction-income-b": predicted("NAM", [0.90, 0.91, 0.921], "income"),
    }
    ((*_, word, gap, none),) = row_of(claims(runs), "it beats other self-attributing networks")
    assert (word, gap, none) == ("yes", "+0.0248", "–")


def test_our_default_is_held_to_the_printed_figures_and_to_lightgbm():
    runs = {
        "prediction-income-a": predicted("SASANet", [0.95, 0.96], "income"),
        "prediction-fraud-a": predicted("SASANet", [0.95, 0.96, 0.97]),
        "prediction-fraud-b": predicted("LightGBM", [0.94, 0.97, 0.97]),
    }
    precision, area = row_of(aims(runs), "Income")
    assert precision[1:] == ["AP", "0.4775 ± 0.0035", "0.6864, printed for SASANet", "no"]
    assert area[1:] == ["AUC", "0.9550 ± 0.0071", "0.9542, printed for SASANet", "yes"]
    ((*_, held, reached),) = row_of(aims(runs), "Fraud")
    assert held.startswith("LightGBM; difference +0.0000 [")
    assert reached == "yes"
    runs["prediction-fraud-b"] = predicted("LightGBM", [0.98, 0.991, 0.999])
    assert row_of(aims(runs), "Fraud")[0][-1] == "no"


def test_rankings_have_spreads_differences_and_verdicts():
    runs = [ranked(0.90, 0.95, 0.97), ranked(0.91, 0.96, 0.98), ranked(0.92, 0.97, 0.99)]
    text = rankings({f"masking-fraud-{seed}": run for seed, run in enumerate(runs)})
    ours = row_of(text, "SASANet")[0]
    assert ours[1] == "0.455 / 0.910 ± 0.005 / 0.010"
    differences = row_of(text, "*difference*")[0]
    assert differences[1] == "*-0.334 / -0.052*"  # printed: 0.789 / 0.962
    words = {(cells[0], cells[2]): cells[4] for cells in row_of(text, "masking")}
    assert words["masking", "KernelSHAP"] == "yes"
    words = {cells[2]: cells[4] for cells in row_of(text, "adding")}
    assert words["KernelSHAP"] == "no"  # the same order, where higher is better


def test_one_model_has_no_verdicts():
    text = rankings({"masking-fraud-0": ranked(0.9, 0.95, 0.97)})
    assert "SASANet's ranking against the others" not in text


def test_seconds_are_compared_as_ratios_and_distances_as_differences():
    runs = {f"timing-fraud-{seed}": timed(0.01 + seed / 1000, 0.5) for seed in range(3)}
    text = timing(runs)
    seconds, distances = row_of(text, "KernelSHAP")
    assert seconds[1:4] == ["60.00 ± 0.00", "38.4", "+21.6"]
    assert seconds[4:6] == ["30.00 ± 0.00", "192"]
    assert distances[1:4] == ["0.5000 ± 0.0000", "0.514", "-0.014"]
    (verdicts,) = row_of(text, "as given")
    assert verdicts[2:] == ["KernelSHAP", "-0.4890 [-0.4923, -0.4857]", "yes"]
    assert "on 1 CPU core, " in text


def test_subsets_are_judged_by_seed_and_drawn(monkeypatch, tmp_path):
    monkeypatch.setattr(subsets_section, "picture_folder", lambda: tmp_path)
    runs = {}
    for seed in range(3):
        curve = [
            {"features": n, "SASANet": 0.7, "SASANet (sep)": 0.69 - seed / 1000, "MLP (sep)": 0.71}
            for n in (1, 14)
        ]
        runs[f"values-higgs-{seed}"] = {"data": "higgs", "test_share": 0.25, "curve": curve}
    (cells,) = row_of(subsets(runs), "14")
    assert cells[1] == "0.7000 ± 0.0000"
    assert (cells[5], cells[7]) == ("yes", "no")
    assert (tmp_path / "higgs-values.png").stat().st_size > 5_000


def test_an_experiment_without_results_has_no_section():
    for section in (prediction, aims, claims, rankings, timing, subsets):
        assert section({}) == ""
