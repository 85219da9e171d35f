"""Monotone columns of fitted models: searched for violations, and everything else still works."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bench.practice.monotone import find_violations
from sasanet import Architecture, SASANetClassifier, SASANetRegressor, load
from sasanet.errors import InvalidInputError, SavedFileError
from sasanet.network.export import export
from sasanet.report.summary import gather

DIRECTIONS = {"up": 1, "down": -1}
QUICK = {"random_state": 0, "max_epochs": 4, "teacher_weight": 0}
SMALL = Architecture(width=16, marginal_layers=(12,), n_knots=16)
PAIRS = 4_000


@pytest.fixture(scope="module")
def table():
    """Return 500 rows of eleven columns; what is constrained goes the other way in half of them."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(500, 10)), columns=[*DIRECTIONS, *"abcdefgh"])
    X["kind"] = rng.choice(["red", "blue"], 500)
    turned = np.where(X["kind"] == "red", 1.0, -0.7)
    score = turned * (X["up"] - X["down"]) + X["a"] * X["b"] + X["c"]
    X = X.mask(rng.random(X.shape) < 0.05)
    return X, score + rng.normal(size=500)


@pytest.fixture(scope="module")
def model(table):
    X, y = table
    return SASANetClassifier(SMALL, monotonic_cst=DIRECTIONS, **QUICK).fit(X, y > 0)


@pytest.fixture(scope="module")
def free(table):
    X, y = table
    return SASANetClassifier(SMALL, **QUICK).fit(X, y > 0)


def test_no_row_coalition_or_value_breaks_it(model, table):
    found = find_violations(model, table[0], DIRECTIONS, PAIRS)
    assert found.violations == 0
    assert found.pairs == PAIRS
    assert found.moved > PAIRS / 4  # it is not constant


def test_the_same_search_breaks_a_free_twin(free, table):
    found = find_violations(free, table[0], DIRECTIONS, PAIRS)
    assert found.violations > PAIRS / 20
    assert found.largest > 0.01


@pytest.mark.parametrize("layers", [(12,), (12, 12)])
def test_members_and_regressions_keep_it_too(table, layers):
    X, y = table
    shape = Architecture(width=16, marginal_layers=layers, n_knots=16, members=2)
    model = SASANetRegressor(shape, monotonic_cst=[1, -1, *[0] * 9], **QUICK).fit(X, y)
    assert find_violations(model, X, DIRECTIONS, 2_000).violations == 0
    assert model.monotonic_cst_.tolist() == [1, -1, *[0] * 9]
    assert len(np.unique(model.network_.marginal.factors.detach()[:, :2])) > 1  # members differ


def test_attributions_are_as_true_as_without(model, free, table):
    """Eleven columns are not enumerated: this is the formula."""
    X = table[0].dropna()[:24]
    bound, unbound = (m.audit(X, n_orders=400)["self-game R²"].value for m in (model, free))
    assert bound > 0.999
    assert bound > unbound - 0.001


@pytest.mark.parametrize(
    "game", [{}, {"units": "probability"}, {"groups": {"both": ["up", "down"]}}], ids=str
)
def test_explanations_add_up_and_what_is_absent_has_none(model, table, game):
    X = table[0][:20]
    explanation = model.explain(X, **game)
    total = explanation.base_values + explanation.values.sum(1)
    known = model.predict_proba(X)[:, 1] if game.get("units") else model.decision_function(X)
    assert np.allclose(total, known, atol=1e-6)
    if "groups" not in game:
        assert (explanation.values[X.isna().to_numpy()] == 0).all()


def test_saved_and_loaded_it_is_the_same(model, table, tmp_path):
    X = table[0][:50]
    model.save(tmp_path)
    again = load(tmp_path)
    assert again.monotonic_cst == DIRECTIONS
    assert again.monotonic_cst_.tolist() == model.monotonic_cst_.tolist()
    assert (again.predict_proba(X) == model.predict_proba(X)).all()
    assert (again.explain(X).values == model.explain(X).values).all()


def test_a_file_cannot_claim_it_of_other_weights(model, free, tmp_path):
    columns, free_columns = model.network_.columns, free.network_.columns
    try:
        free.network_.columns = columns  # as if somebody had edited the description
        free.save(tmp_path)
    finally:
        free.network_.columns = free_columns
    with pytest.raises(SavedFileError, match="directions"):
        load(tmp_path)


def test_plain_arrays_compute_the_same(model, table):
    """What a report's JavaScript and ONNX files are made from."""
    X = table[0][:30]
    cells = model.encoder_.transform(X)
    arrays = export(model.network_)
    found = arrays.values(cells, np.ones(X.shape, dtype=bool))[:, 0] + model.base_value_[0]
    assert np.allclose(found, model.decision_function(X), atol=1e-5)


def test_arrays_name_columns_by_position(table):
    X, y = table
    numbers = X.drop(columns="kind").to_numpy()
    given = SASANetClassifier(SMALL, monotonic_cst={0: 1}, **QUICK).fit(numbers, y > 0)
    assert given.monotonic_cst_.tolist() == [1, *[0] * 9]


def test_no_direction_at_all_is_the_free_model(free, table):
    X, y = table
    zeros = SASANetClassifier(SMALL, monotonic_cst={"up": 0}, **QUICK).fit(X, y > 0)
    assert (zeros.predict_proba(X) == free.predict_proba(X)).all()


REFUSED = {
    "a word": ("up", "monotonic_cst must be None, a dict"),
    "a name": ({"upp": 1}, "must name columns of X, got 'upp'"),
    "a direction": ({"up": 2}, "must hold -1 .*, got 2 for 'up'"),
    "a truth": ({"up": True}, "must hold -1"),
    "a length": ([1, 0], "one direction for each of the 11 columns, got 2"),
    "a category": ({"kind": 1}, "got 1 for 'kind', a category"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_kept_is_refused_in_one_sentence(name, table):
    given, words = REFUSED[name]
    X, y = table
    with pytest.raises(InvalidInputError, match=words) as caught:
        SASANetClassifier(SMALL, monotonic_cst=given, **QUICK).fit(X, y > 0)
    assert "\n" not in str(caught.value)


def test_classes_without_a_direction_are_refused(table):
    X, y = table
    model = SASANetClassifier(SMALL, monotonic_cst=DIRECTIONS, **QUICK)
    with pytest.raises(InvalidInputError, match="two classes, got more"):
        model.fit(X, pd.cut(y, 3, labels=["a", "b", "c"]))


@pytest.mark.parametrize("network", ["sequence", Architecture(numbers="mlp")], ids=["seq", "mlp"])
def test_networks_that_cannot_keep_it_are_refused(table, network):
    X, y = table
    with pytest.raises(InvalidInputError, match="monotonic_cst needs a network"):
        SASANetClassifier(network, monotonic_cst=DIRECTIONS, **QUICK).fit(X, y > 0)


def test_the_report_says_it(model, table):
    facts = gather(model, table[0][:60], None, None)["facts"]
    told = dict(facts["model"])["Monotone"]
    assert told == "by construction the prediction only rises with up, only falls with down"
