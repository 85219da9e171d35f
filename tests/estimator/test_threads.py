"""Fits at the same time do not disturb each other: one seed gives one model, alone or not."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from sasanet import Architecture, SASANetClassifier
from sasanet.baselines import NAMClassifier, SSCNClassifier
from sasanet.training import loop

RANDOM = np.random.default_rng(0)
X = pd.DataFrame({"a": RANDOM.normal(size=80), "b": RANDOM.choice(["x", "y"], 80)})
Y = np.where(X["a"] > 0, "yes", "no")
SETTINGS = {"max_epochs": 2, "batch_size": 16, "random_state": 0}
SEQUENCE = Architecture(
    marginal="sequence",
    attribution="attention",
    width=8,
    marginal_layers=(8,),
    attribution_layers=(8,),
    attribution_steps=3,
    dropout=0.3,
)
MODELS = {
    "set": lambda: SASANetClassifier(
        Architecture(width=8, marginal_layers=(8,), dropout=0.3), teacher_weight=0, **SETTINGS
    ),
    "sequence": lambda: SASANetClassifier(SEQUENCE, **SETTINGS),
    "NAM": lambda: NAMClassifier(layers=(8, 4), dropout=0.3, feature_dropout=0.2, **SETTINGS),
    "SSCN": lambda: SSCNClassifier(width=8, heads=2, dropout=0.3, **SETTINGS),
}


@pytest.fixture(params=list(MODELS))
def make(request):
    return MODELS[request.param]


@pytest.fixture
def alone(make):
    """Return the weights of a fit that nothing disturbs."""
    with globally_seeded():
        return make().fit(X, Y).network_.state_dict()


@contextlib.contextmanager
def globally_seeded():
    """Let torch's global generator always start alike, so that nothing but the threads differs."""
    with torch.random.fork_rng([]):
        torch.manual_seed(5)
        yield


def fit_together(models):
    """Fit several models, each in a thread of its own, all at once."""
    ready = threading.Barrier(len(models))

    def fit(model):
        ready.wait()
        model.fit(X, Y)

    threads = [threading.Thread(target=fit, args=(model,)) for model in models]
    with globally_seeded():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def check_equal(alone, models):
    """All models have the weights of the one fitted alone, bit by bit."""
    for model in models:
        found = model.network_.state_dict()
        assert found.keys() == alone.keys()
        assert all(torch.equal(found[name], weights) for name, weights in alone.items())


def test_two_fits_at_once_with_one_seed_are_the_fit_alone(make, alone):
    models = [make(), make()]
    fit_together(models)
    check_equal(alone, models)


def test_dropout_matters_here(make, alone):
    """Else the test above would say nothing."""
    model = make()
    if isinstance(model, SASANetClassifier):
        model.set_params(network=replace(model.network, dropout=0.0))
    else:
        model.set_params(dropout=0.0)
    with pytest.raises(AssertionError):
        check_equal(alone, [model.fit(X, Y)])


def test_dropout_from_the_global_generator_is_noticed(make, monkeypatch):
    def from_the_global_one(network, generator):
        del generator
        return dropout_from(network, None)

    dropout_from = loop.dropout_from
    monkeypatch.setattr(loop, "dropout_from", from_the_global_one)
    with globally_seeded():
        alone = make().fit(X, Y).network_.state_dict()
    with globally_seeded():  # one after the other it would not be noticed
        check_equal(alone, [make().fit(X, Y)])
    models = [make(), make()]
    fit_together(models)
    with pytest.raises(AssertionError):
        check_equal(alone, models)


def test_a_fit_does_not_move_the_global_generator(make):
    with globally_seeded():
        before = torch.get_rng_state()
        make().fit(X, Y)
        assert torch.equal(torch.get_rng_state(), before)
