"""``partial_fit`` goes on from the weights, changes nothing else, and refuses what cannot hold."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import pytest
import torch

from sasanet import Architecture, SASANetClassifier, SASANetRegressor, load
from sasanet.errors import InvalidInputError, UnknownLevelWarning
from sasanet.estimator import continuing

RANDOM = np.random.default_rng(0)
CITIES = RANDOM.choice(["Bern", "Oslo", "Rome"], 900)
X = pd.DataFrame({"a": RANDOM.normal(size=900), "b": RANDOM.normal(size=900), "city": CITIES})
Y = (2 * X["a"] + (CITIES == "Rome")).to_numpy()
FIRST, NEW, TEST = slice(0, 300), slice(300, 700), slice(700, 900)
SETTINGS = {"max_epochs": 10, "teacher_weight": 0, "random_state": 0, "batch_size": 16}
SETTINGS["learning_rate"] = 0.02


def regressor(**settings):
    return SASANetRegressor(Architecture(width=8, marginal_layers=(8,)), **SETTINGS | settings)


def classifier(**settings):
    return SASANetClassifier(Architecture(width=8, marginal_layers=(8,)), **SETTINGS | settings)


@pytest.fixture(scope="module")
def first():
    """A model of the first rows."""
    return regressor().fit(X[FIRST], Y[FIRST])


def error(model, labels):
    return float(np.sqrt(np.mean((model.predict(X[TEST]) - labels[TEST]) ** 2)))


def adapts(model):
    """Tell whether five passes over rows of another kind at least halve the error on them."""
    shifted = Y + 2 * X["b"].to_numpy()
    before = error(model, shifted)
    for _ in range(5):
        model.partial_fit(X[NEW], shifted[NEW])
    return error(model, shifted) < before / 2


def test_new_rows_are_learned(first, monkeypatch):
    assert adapts(copy.deepcopy(first))
    monkeypatch.setattr(continuing, "_RATE", 0.0)  # the twin learns nothing
    assert not adapts(copy.deepcopy(first))


def test_it_begins_with_the_weights_not_anew(first):
    model = copy.deepcopy(first).partial_fit(X[NEW], Y[NEW])
    anew = regressor(random_state=1).fit(X[FIRST], Y[FIRST])
    assert 0 < distance(model, first) < distance(anew, first)


@torch.no_grad()
def distance(one, other):
    """Return how far the weights of two models are from each other."""
    pairs = zip(one.network_.matrices(), other.network_.matrices(), strict=True)
    return sum(float((a - b).square().sum()) for a, b in pairs) ** 0.5


def test_what_the_first_fit_decided_stays(first):
    model = copy.deepcopy(first)
    model.partial_fit(X[NEW], 100 + Y[NEW])
    assert model.encoder_.to_dict() == first.encoder_.to_dict()
    assert repr(model.target_) == repr(first.target_)
    assert len(model.history_) == len(first.history_) + 1
    e = model.explain(X[TEST])
    np.testing.assert_allclose(e.base_values + e.values.sum(1), model.predict(X[TEST]), rtol=1e-4)


def test_one_seed_gives_equal_weights(first, tmp_path):
    first.save(tmp_path / "model")
    one, other = copy.deepcopy(first), load(tmp_path / "model")
    for model in (one, other):
        model.partial_fit(X[NEW], Y[NEW])
    same = zip(one.network_.parameters(), other.network_.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in same)


def test_levels_that_were_unseen_stay_without_information(first):
    new = X[NEW].assign(city="Paris")
    model = copy.deepcopy(first)
    with pytest.warns(UnknownLevelWarning, match="Paris"):
        model.partial_fit(new, Y[NEW] + 5)
    with pytest.warns(UnknownLevelWarning):
        found = model.explain(new[:20])[:, "city"].values
    np.testing.assert_allclose(found, 0, atol=1e-6)


def test_a_failed_call_leaves_the_model_as_it_was(first, monkeypatch):
    model, before = copy.deepcopy(first), first.predict(X[TEST])
    with pytest.raises(InvalidInputError, match="finite weights"):
        model.set_params(learning_rate=1e30).partial_fit(X[NEW], Y[NEW])
    np.testing.assert_array_equal(model.predict(X[TEST]), before)
    monkeypatch.setattr(continuing.copy, "deepcopy", lambda network: network)  # the twin
    with pytest.raises(InvalidInputError, match="finite weights"):
        model.partial_fit(X[NEW], Y[NEW])
    assert not np.array_equal(model.predict(X[TEST]), before)


def test_what_was_measured_on_other_weights_is_forgotten(first):
    model = copy.deepcopy(first)
    model.audit_ = "of the old weights"
    model.partial_fit(X[NEW], Y[NEW])
    assert not hasattr(model, "audit_")
    assert not np.array_equal(model.feature_importances_, first.feature_importances_)


def test_classes_are_those_of_the_first_rows():
    labels = np.where(Y > 0, "yes", "no")
    model = classifier(class_weight={"yes": 2.0})
    model.partial_fit(X[FIRST], labels[FIRST], classes=["yes", "no"])
    model.partial_fit(X[NEW][labels[NEW] == "yes"], labels[NEW][labels[NEW] == "yes"])
    assert model.classes_.tolist() == ["no", "yes"]
    with pytest.raises(InvalidInputError, match="classes must be those of the first rows"):
        model.partial_fit(X[NEW], labels[NEW], classes=["yes", "no", "maybe"])
    with pytest.raises(InvalidInputError, match="must hold the classes"):
        model.partial_fit(X[NEW], np.full(400, "maybe"))
    with pytest.raises(InvalidInputError, match="must be a dict for partial_fit"):
        model.set_params(class_weight="balanced").partial_fit(X[NEW], labels[NEW])
    with pytest.raises(InvalidInputError, match="all classes, got none of"):
        classifier().partial_fit(X[FIRST], labels[FIRST], classes=["yes", "no", "maybe"])


def test_what_cannot_be_continued_is_refused(first, tmp_path):
    with pytest.raises(InvalidInputError, match="takes a table in memory"):
        copy.deepcopy(first).partial_fit(tmp_path, "y")
    with pytest.raises(InvalidInputError, match="weight"):
        copy.deepcopy(first).partial_fit(X[NEW].rename(columns={"a": "weight"}), Y[NEW])
    shape = Architecture(attribution="context", width=4, attribution_steps=2)
    learned = SASANetRegressor(shape, **SETTINGS | {"max_epochs": 1}).fit(X[FIRST], Y[FIRST])
    with pytest.raises(InvalidInputError, match="attributions that come from the formula"):
        learned.partial_fit(X[NEW], Y[NEW])


def test_weights_of_rows_count(first):
    new, labels = pd.concat([X[NEW], X[NEW]]), np.concatenate([Y[NEW] + 3, Y[NEW]])
    heavy = np.repeat([1.0, 0.0], 400)
    one, other = copy.deepcopy(first), copy.deepcopy(first)
    one.partial_fit(new, labels, sample_weight=heavy)
    other.partial_fit(new, labels, sample_weight=heavy[::-1])
    assert one.predict(X[TEST]).mean() > other.predict(X[TEST]).mean() + 0.5
