"""The module that the formula taught: close to it, additive, and honest about strange rows."""

import math

import numpy as np
import pandas as pd
import pytest
import torch

from sasanet import Architecture, SASANetClassifier, SASANetRegressor, load
from sasanet.datasets import load_german_credit, load_penguins
from sasanet.errors import InvalidInputError
from sasanet.network import inference
from sasanet.training.distillation import distil

SMALL = Architecture(width=32, marginal_layers=(16,))
QUICK = {"random_state": 0, "max_epochs": 1, "teacher_weight": 0}


def _wide_table(n_rows, missing=0.0):
    random = np.random.RandomState(0)
    numbers = random.randn(n_rows, 12)
    X = pd.DataFrame(numbers, columns=[f"x{j}" for j in range(12)])
    X["kind"] = pd.Categorical(np.where(numbers[:, 0] > 0, "up", "down"))
    signal = numbers[:, 0] * numbers[:, 1] + numbers[:, 2] + np.abs(numbers[:, 3])
    return X.mask(random.random_sample(X.shape) < missing), signal


@pytest.fixture(scope="module")
def taught():
    """Return a taught model of 13 columns and rows that it has not seen, some cells missing."""
    X, signal = _wide_table(1_500, missing=0.03)
    model = SASANetClassifier(SMALL, **QUICK | {"max_epochs": 4})
    model.fit(X[:1_000], signal[:1_000] > 0.5)
    return model.learn_attributions(X[:1_000], n_rows=1_000), X[1_000:].reset_index(drop=True)


def agreement(found, true):
    return 1 - ((found - true) ** 2).sum() / ((true - true.mean()) ** 2).sum()


def test_it_comes_close_to_the_formula(taught):
    model, X = taught
    formula, learned = (model.explain(X, method=how).values for how in ("formula", "learned"))
    assert agreement(learned, formula) > 0.99
    assert not np.array_equal(learned, formula)
    assert model.learned_attributions_["r2"]["as given"] > 0.99


def test_what_it_learned_is_better_than_the_coarse_formula_alone(taught):
    model, X = taught
    cells, network = model._encode(X)[1], model.network_
    true = inference.attributions(network, cells).numpy()
    found = inference.attributions(network, cells, quickly=True).numpy()
    context = network.distilled.context[-1]
    weights = [part.clone() for part in context.parameters()]
    with torch.no_grad():
        for part in context.parameters():
            part.zero_()
    coarse = inference.attributions(network, cells, quickly=True).numpy()
    with torch.no_grad():
        for part, kept in zip(context.parameters(), weights, strict=True):
            part.copy_(kept)
    assert ((found - true) ** 2).sum() < ((coarse - true) ** 2).sum()


def test_it_adds_up_and_absent_cells_get_exactly_nothing(taught):
    model, X = taught
    found = model.explain(X, method="learned")
    assert np.abs(found.prediction - model.decision_function(X)).max() < 1e-9
    absent = X.isna().to_numpy()
    assert absent.any()
    assert (found.values[absent] == 0).all()
    empty = X[:2].copy()
    empty.loc[:, :] = np.nan
    assert (model.explain(empty, method="learned").values == 0).all()


def test_a_row_is_the_same_alone_and_among_others(taught):
    model, X = taught
    together = model.explain(X[:20], method="learned").values
    rows = [X[i : i + 1] for i in range(20)]
    alone = np.concatenate([model.explain(row, method="learned").values for row in rows])
    np.testing.assert_allclose(alone, together, atol=1e-5)


def test_rows_unlike_those_taught_go_to_the_formula(taught):
    model, X = taught
    network, cells = model.network_, model._encode(X[:50])[1]
    exact = inference.attributions(network, cells)
    gap, reach = network.distilled.largest_gap.clone(), network.distilled.reach.clone()
    try:
        network.distilled.largest_gap.zero_()
        torch.testing.assert_close(inference.attributions(network, cells, quickly=True), exact)
        network.distilled.largest_gap.copy_(gap)
        network.distilled.reach.zero_()
        torch.testing.assert_close(inference.attributions(network, cells, quickly=True), exact)
    finally:
        network.distilled.largest_gap.copy_(gap)
        network.distilled.reach.copy_(reach)
    assert not torch.allclose(inference.attributions(network, cells, quickly=True), exact)


def test_auto_takes_the_module_only_where_it_is_good(taught):
    model, X = taught
    record = model.learned_attributions_
    learned, formula = (model.explain(X, method=how).values for how in ("learned", "formula"))
    try:
        model.learned_attributions_ = {**record, "r2": {"as given": 0.9981}}
        assert np.array_equal(model.explain(X).values, learned)
        first = model.explain_one(list(X.iloc[0])).values
        assert np.array_equal(first, model.explain(X[:1]).values[0])
        model.learned_attributions_ = {**record, "r2": {"as given": 0.9979}}
        assert np.array_equal(model.explain(X).values, formula)
    finally:
        model.learned_attributions_ = record


def test_it_is_saved_and_loaded_with_the_model(taught, tmp_path):
    model, X = taught
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    before, after = (m.explain(X, method="learned").values for m in (model, again))
    assert np.array_equal(before, after)
    assert again.learned_attributions_ == model.learned_attributions_


def test_an_audit_names_the_method_and_measures_it(taught):
    model, X = taught
    learned = model.audit(X, n_rows=16, n_orders=100, method="learned")
    formula = model.audit(X, n_rows=16, n_orders=100, method="formula")
    assert "learned Shapley module" in str(learned)
    assert "learned Shapley module" not in str(formula)
    assert learned["self-game R²"].value < formula["self-game R²"].value
    assert not hasattr(model, "audit_")


def test_the_next_fit_forgets_it():
    X, signal = _wide_table(200)
    model = SASANetRegressor(SMALL, **QUICK).fit(X, signal)
    model.learn_attributions(X, n_rows=200)
    model.fit(X, signal)
    assert model.network_.distilled is None
    assert not hasattr(model, "learned_attributions_")


@pytest.mark.parametrize("preset", ["default", "best"])
def test_every_task_and_members(preset):
    X, y = load_german_credit()
    model = SASANetClassifier(preset=preset, random_state=0, max_epochs=1, teacher_weight=0)
    model.fit(X, y).learn_attributions(X, n_rows=200)
    formula, learned = (model.explain(X[:60], method=how) for how in ("formula", "learned"))
    assert agreement(learned.values, formula.values) > 0.97
    assert np.abs(learned.prediction - formula.prediction).max() < 1e-9


def test_several_classes():
    X, y = load_penguins()
    model = SASANetClassifier(random_state=0, max_epochs=3, teacher_weight=0).fit(X, y)
    model.learn_attributions(X, n_rows=300)
    formula, learned = (model.explain(X, method=how).values for how in ("formula", "learned"))
    assert learned.shape == (344, 7, 3)
    assert agreement(learned, formula) > 0.97


def test_several_quantiles():
    X, signal = _wide_table(600)
    model = SASANetRegressor(SMALL, objective="quantile", quantile=[0.1, 0.5, 0.9], **QUICK)
    model.fit(X, signal).learn_attributions(X, n_rows=400)
    formula, learned = (model.explain(X, method=how) for how in ("formula", "learned"))
    assert learned.values.shape == (600, X.shape[1], 3)
    assert agreement(learned.values, formula.values) > 0.97
    assert np.abs(learned.prediction - formula.prediction).max() < 1e-9


def test_one_seed_gives_one_module(taught):
    model, X = taught
    cells = model._encode(X)[1]
    first, second = (
        distil(model.network_, cells, 200, math.inf, torch.Generator().manual_seed(0))[0]
        for _ in range(2)
    )
    for a, b in zip(first.state_dict().values(), second.state_dict().values(), strict=True):
        assert torch.equal(a, b)


def test_what_cannot_be_done_is_refused(taught):
    model, X = taught
    with pytest.raises(InvalidInputError, match="n_orders"):
        model.explain(X[:2], method="learned", n_orders=8)
    with pytest.raises(InvalidInputError, match="method must be one of"):
        model.explain(X[:2], method="guess")
    with pytest.raises(InvalidInputError, match="n_rows must be"):
        model.learn_attributions(X, n_rows=10)
    table, signal = _wide_table(60)
    plain = SASANetRegressor(SMALL, **QUICK).fit(table, signal)
    with pytest.raises(InvalidInputError, match="call learn_attributions"):
        plain.explain(table, method="learned")
    context = Architecture(attribution="context", attribution_steps=1)
    distilled = SASANetRegressor(context, **QUICK)
    distilled.fit(table, signal)
    with pytest.raises(InvalidInputError, match="network='set'"):
        distilled.learn_attributions(table)
