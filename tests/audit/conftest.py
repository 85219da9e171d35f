"""A model with errors to find, its audit, and models whose errors are known."""

import copy
from dataclasses import replace

import numpy as np
import pytest

from sasanet import Architecture, SASANetClassifier
from sasanet.audit import audit, reference
from sasanet.datasets import load_penguins


@pytest.fixture(scope="session")
def penguins():
    X, y = load_penguins()
    # Distilled, so that there is an error to find.
    learned = Architecture(
        attribution="context",
        width=64,
        marginal_layers=(32,),
        attribution_width=32,
        attribution_layers=(64, 64),
        attribution_steps=200,
    )
    model = SASANetClassifier(learned, random_state=0, max_epochs=10, teacher_weight=0)
    return model.fit(X, y), X, y


@pytest.fixture(scope="session")
def report(penguins):
    model, X, y = penguins
    return audit(model, X, y, n_rows=64)


@pytest.fixture
def explains(monkeypatch):
    """Return a function that makes a copy of the model explain by truth plus known errors."""

    def make(model, size, additive=True):
        model, honest = copy.copy(model), model.explain
        random = np.random.default_rng(5)

        def explain(rows, **_):
            cells = model._encode(rows)[1]
            exact = reference.enumerated(model.network_, cells) * model.target_.scale
            error = size * random.standard_normal(exact.shape)
            error -= error.mean(axis=1, keepdims=True) if additive else 0.0
            error *= np.sqrt(7 / 6) if additive else 1.0  # the size it had before
            return replace(honest(rows), values=exact + error)

        monkeypatch.setattr(model, "explain", explain, raising=False)
        return model

    return make
