"""The certificate tells the truth: right on an exact model, alarmed on a broken one."""

import copy
import json

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from sklearn.base import clone

from sasanet import SASANetClassifier, SASANetRegressor
from sasanet.audit import Audit, Finding, audit, comparison, reference
from sasanet.datasets import load_german_credit, load_penguins
from sasanet.errors import InvalidInputError, SavedFileError
from training_rows import briefly

QUANTITIES = ("additivity gap", "self-game RMSE", "distillation RMSE", "order gap")


def test_a_trained_model_is_certified_and_a_broken_one_is_not(penguins, report):
    assert report.n_orders == 0
    assert report.n_exact == report.n_rows == 64
    assert report["self-game R²"].value > 0.98
    assert report["additivity gap"].value < 1e-9
    assert report["order gap"].value < 1e-5
    model, X, _ = penguins
    broken = copy.deepcopy(model)
    with torch.no_grad():
        for weight in broken.network_.attribution.context.parameters():
            weight.add_(0.3)
    bad = broken.audit(X, n_rows=64)
    assert bad["self-game R²"].value < 0.9
    assert bad["additivity gap"].value < 1e-9  # adding up alone proves nothing
    assert bad.weights != report.weights


def test_an_error_of_known_size_is_found_inside_the_interval(penguins, explains):
    model, X, _ = penguins
    right = audit(explains(model, 0.0), X)
    assert right["self-game RMSE"].value < 1e-6
    assert right["self-game R²"].value == pytest.approx(1)
    assert right["self-game rank agreement"].value == pytest.approx(1)
    assert right["self-game top-3 overlap"].value == 1
    wrong = audit(explains(model, 0.2), X)["self-game RMSE"]
    assert wrong.low < 0.2 < wrong.high < 1.1 * 0.2
    assert audit(explains(model, 0.2, additive=False), X)["additivity gap"].value > 0.2


def test_noise_of_the_truth_is_reported_and_not_hidden_in_the_error(
    penguins, explains, monkeypatch
):
    model, X, _ = penguins
    monkeypatch.setattr(reference, "EXACT_UP_TO", 0)  # orders for all, enumeration stays the truth
    few, many = (audit(explains(model, 0.1), X, n_orders=n) for n in (4, 200))
    for found in (few["self-game RMSE"], many["self-game RMSE"]):
        assert found.low < 0.1 < found.high
    assert few["self-game RMSE"].noise > 4 * many["self-game RMSE"].noise > 0
    for name in ("RMSE share", "R²", "rank agreement", "top-3 overlap"):
        assert few[f"self-game {name}"].noise > many[f"self-game {name}"].noise > 0
    hidden = np.hypot(few["self-game RMSE"].value, few["self-game RMSE"].noise)
    assert hidden > few["self-game RMSE"].high  # what it would be with the noise left in
    assert few["self-game RMSE"].n_orders == few.n_orders == 4
    assert "4 random orders per row" in str(few)


def test_every_quantity_has_interval_orders_time_and_a_place(report):
    for name in (*QUANTITIES, "value calibration error"):
        found = report[name]
        assert found.low <= found.value <= found.high
        assert found.seconds > 0


def test_the_share_is_relative_to_the_largest_true_value_of_a_row(penguins, explains):
    model, X, _ = penguins
    found = audit(explains(model, 0.1), X)
    exact = reference.enumerated(model.network_, model._encode(X)[1])
    largest = np.abs(exact).max(axis=1).mean()
    expected = found["self-game RMSE"].value / largest
    assert found["self-game RMSE share"].value == pytest.approx(expected, rel=0.05)


def test_rows_with_nothing_present_leave_findings_undefined(penguins):
    model, X, _ = penguins
    found = model.audit(X.iloc[:5].mask(X.iloc[:5].notna()))
    assert np.isnan(found["self-game R²"].value)
    assert found["additivity gap"].value == 0
    assert "undefined" in str(found)
    assert json.loads(found.to_json())["findings"]


def test_the_set_module_is_distilled_from_its_own_game(report):
    own, lesson = report["self-game RMSE"], report["distillation RMSE"]
    assert (own.value, own.low, own.high) == (lesson.value, lesson.low, lesson.high)
    assert "same measurement" in lesson.note


def test_the_sequence_model_reports_its_order_gap_and_distillation_error():
    X, y = load_german_credit()
    model = SASANetClassifier(briefly("sequence"), random_state=0, max_epochs=1)
    found = model.fit(X, y).audit(X, n_rows=16, n_orders=20)
    assert found["order gap"].value > 1e-3
    assert found["distillation RMSE"].noise > 0
    assert found["distillation RMSE"].value != found["self-game RMSE"].value
    assert found.n_orders == 20


def test_regression_errors_are_in_the_targets_units():
    X, _ = load_penguins()
    X = X.dropna(subset="body_mass_g")
    y = X.pop("body_mass_g")
    quick = {"random_state": 0, "max_epochs": 3, "teacher_weight": 0}
    grams = SASANetRegressor(**quick).fit(X, y).audit(X, y, n_rows=32)
    kilos = SASANetRegressor(**quick).fit(X, y / 1000).audit(X, y / 1000, n_rows=32)
    for name in ("self-game RMSE", "value calibration error"):
        assert grams[name].value == pytest.approx(1000 * kilos[name].value, rel=0.01)
    assert grams["self-game RMSE share"].value == pytest.approx(
        kilos["self-game RMSE share"].value, rel=0.01
    )
    assert grams.calibration[-1].loss == pytest.approx(1e6 * kilos.calibration[-1].loss, rel=0.01)
    assert "units of the target" in str(grams)


def test_ranks_are_those_of_present_features():
    random = np.random.default_rng(1)
    a, b = random.standard_normal((2, 3, 6, 1))
    present = np.ones((3, 6), dtype=bool)
    present[1, 4:] = False
    a[1, 4:] = b[1, 4:] = 0.0
    found = comparison._spearman(a, b, present[..., None])
    expected = [spearmanr(a[i, present[i], 0], b[i, present[i], 0])[0] for i in range(3)]
    np.testing.assert_allclose(found, expected)
    assert found[1] != pytest.approx(spearmanr(a[1, :, 0], b[1, :, 0])[0])  # zeros would flatter
    assert comparison._spearman(np.zeros_like(a), b, present[..., None]).tolist() == [0, 0, 0]
    assert len(comparison._spearman(a, np.zeros_like(b), present[..., None])) == 0


# --- the certificate ----------------------------------------------------------------------------


def test_it_reads_like_a_certificate(report):
    text = str(report)
    assert max(map(len, text.splitlines())) <= 100
    for part in (
        "SASANetClassifier",
        "set network",
        "64",
        "exact enumeration",
        "log-odds",
        *QUANTITIES,
    ):
        assert part in text
    ends = [part.splitlines()[0] for part in text.split("\n\n")[-2:]]
    assert ends[0].startswith("Attributions differ from the Shapley values")
    assert ends[1].startswith("v(S) is calibrated as far as 344 labels can tell")


def test_it_survives_dict_frame_and_file(report, tmp_path):
    assert report.to_frame().loc["additivity gap", "value"] < 1e-9
    assert Audit.from_dict(report.to_dict()) == report
    report.save(tmp_path / "audit.json")
    assert json.loads((tmp_path / "audit.json").read_text())["n_rows"] == 64
    assert Audit.load(tmp_path / "audit.json") == report
    with pytest.raises(ValueError, match="there are"):
        report["luck"]


def test_undefined_numbers_are_null_in_json_and_words_in_print():
    found = Finding("self-game R²", np.nan, np.nan, np.nan)
    plain = Audit((found,), (), 2, 0, 0.1).to_dict()
    assert plain["findings"][0]["value"] is None
    assert np.isnan(Audit.from_dict(plain)["self-game R²"].value)
    assert "undefined" in str(Audit.from_dict(plain))


def test_audits_of_earlier_versions_are_read():
    old = {
        "name": "self-game RMSE",
        "value": 0.02,
        "low": 0.01,
        "high": 0.03,
        "noise": 0.0,
        "note": "",
    }
    kept = {"n_rows": 8, "n_orders": 400, "seconds": 1.0, "units": "log-odds"}
    found = Audit.from_dict({"findings": [old], "calibration": [], **kept})
    assert "0.02 log-odds" in str(found)


def test_an_edited_or_foreign_file_is_refused(report, tmp_path):
    path = tmp_path / "audit.json"
    path.write_text(report.to_json().replace('"n_rows": 64', '"n_rows": 99'))
    with pytest.raises(SavedFileError, match="was changed"):
        Audit.load(path)
    for text in ("[1]", "{}", "nonsense", '{"seal": "", "findings": 3}'):
        path.write_text(text)
        with pytest.raises(SavedFileError, match="not a saved audit"):
            Audit.load(path)
    with pytest.raises(InvalidInputError, match="to_dict"):
        Audit.from_dict({"findings": [{"size": 3}], "calibration": []})


def test_the_model_keeps_it_until_the_next_fit():
    X, y = load_penguins()
    model = SASANetClassifier(random_state=0, max_epochs=1, teacher_weight=0).fit(X, y)
    assert not hasattr(model, "audit_")
    assert model.audit(X, n_rows=4) is model.audit_
    assert not hasattr(clone(model), "audit_")
    assert not hasattr(model.fit(X, y), "audit_")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"n_rows": 1}, "n_rows must be"),
        ({"n_rows": 2.5}, "n_rows must be"),
        ({"n_orders": 2}, "n_orders must be"),
        ({"random_state": -1}, "random_state must be"),
        ({"y": [1, 2]}, "inconsistent"),
    ],
)
def test_bad_arguments_are_refused(penguins, change, sentence):
    model, X, _ = penguins
    with pytest.raises(ValueError, match=sentence):
        model.audit(X, **change)


def test_a_single_row_has_no_interval(penguins):
    model, X, _ = penguins
    with pytest.raises(InvalidInputError, match="at least 2 rows"):
        model.audit(X[:1])


@pytest.mark.parametrize("text", ["[" * 100_000, '{"seal": NaN}', "[]", None])
def test_what_is_no_audit_is_refused_in_a_sentence(text, tmp_path):
    path = tmp_path / "audit.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(SavedFileError, match="is not a saved audit"):
        Audit.load(path)
