"""The certificate tells the truth: right on an exact model, alarmed on a broken one."""

import copy
import json

import numpy as np
import pytest
import torch

from sasanet import SASANetClassifier, SASANetRegressor, audit
from sasanet.datasets import load_german_credit, load_penguins
from sasanet.network import SASANet


@pytest.fixture(scope="module")
def penguins():
    X, y = load_penguins()
    return SASANetClassifier(random_state=0, max_epochs=10, attribution_steps=400).fit(X, y), X, y


def test_enumeration_and_orders_agree_within_the_stated_noise(penguins):
    model, X, _ = penguins
    cells = model._encode(X[:40])[1]
    generator = torch.Generator().manual_seed(0)
    with torch.inference_mode():
        exact, none = audit._enumerated(model.network_, cells)
        sampled, variance = audit._sampled(
            model.network_, cells, SASANet.value_steps, 2_000, generator
        )
    assert (none == 0).all()
    z = (sampled - exact)[variance > 1e-14] / np.sqrt(variance[variance > 1e-14])
    assert 0.8 < np.sqrt((z**2).mean()) < 1.25


def test_a_trained_model_is_certified_and_a_broken_one_is_not(penguins):
    model, X, _ = penguins
    good = model.audit(X, n_rows=64)
    assert good.n_orders == 0
    assert good["self-game R²"].value > 0.98
    assert good["additivity gap"].value < 1e-9
    assert good["order gap"].value < 1e-5
    broken = copy.deepcopy(model)
    with torch.no_grad():
        for weight in broken.network_.attribution.context.parameters():
            weight.add_(0.3)
    bad = broken.audit(X, n_rows=64)
    assert bad["self-game R²"].value < 0.9
    assert bad["additivity gap"].value < 1e-9  # adding up alone proves nothing


def test_the_sequence_model_reports_its_order_gap_and_distillation_error():
    X, y = load_german_credit()
    model = SASANetClassifier("sequence", random_state=0, max_epochs=1, attribution_steps=5)
    report = model.fit(X, y).audit(X, n_rows=16, n_orders=20)
    assert report["order gap"].value > 1e-3
    assert report["distillation RMSE"].noise > 0
    assert report.n_orders == 20


def test_calibration_starts_at_the_base_value_and_improves(penguins):
    model, X, y = penguins
    steps = model.audit(X, y, n_rows=64).calibration
    assert steps[0]["features"] == 0
    assert steps[0]["loss"] == pytest.approx(steps[0]["base_loss"])
    assert steps[-1]["loss"] < 0.5 * steps[-1]["base_loss"]


def test_it_prints_as_a_table_and_converts(penguins, tmp_path):
    model, X, y = penguins
    report = model.audit(X, y, n_rows=8)
    assert "exact enumeration" in str(report)
    assert report.to_frame().loc["additivity gap", "value"] < 1e-9
    report.save(tmp_path / "audit.json")
    assert json.loads((tmp_path / "audit.json").read_text())["n_rows"] == 8
    with pytest.raises(ValueError, match="there are"):
        report["luck"]


def test_regression_errors_are_in_the_targets_units():
    X, _ = load_penguins()
    X = X.dropna(subset="body_mass_g")
    y = X.pop("body_mass_g")
    quick = {"random_state": 0, "max_epochs": 3, "attribution_steps": 20}
    grams = SASANetRegressor(**quick).fit(X, y).audit(X, n_rows=32)["self-game RMSE"].value
    kilos = SASANetRegressor(**quick).fit(X, y / 1000).audit(X, n_rows=32)["self-game RMSE"].value
    assert grams == pytest.approx(1000 * kilos, rel=0.01)
