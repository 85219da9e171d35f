"""Warnings point at the user's line, however deep inside the package the reason was found."""

from __future__ import annotations

import linecache
import warnings

import numpy as np
import pandas as pd
import pytest

from sasanet import Architecture, SASANetClassifier
from sasanet.baselines import NAMClassifier
from sasanet.errors import InterruptedFitWarning, RefinementWarning, UnknownLevelWarning
from sasanet.estimator.fitting import checks
from sasanet.network.refinement import effort
from sasanet.table.encoder import TableEncoder
from sasanet.training import loop

RANDOM = np.random.default_rng(0)
X = pd.DataFrame(RANDOM.normal(size=(60, 11))).add_prefix("x")
X["b"] = RANDOM.choice(["x", "y"], 60)
Y = X["x0"] > 0
QUICK = {"max_epochs": 2, "random_state": 0}
SMALL = Architecture(width=4, marginal_layers=(3,))
STRANGE = X[:5].assign(b="z")


@pytest.fixture(scope="module", params=[SASANetClassifier, NAMClassifier])
def model(request):
    if request.param is NAMClassifier:
        return NAMClassifier(layers=(4,), **QUICK).fit(X, Y)
    return SASANetClassifier(SMALL, teacher_weight=0, **QUICK).fit(X, Y)


def check_points_here(caught, category, call):
    """One warning, at a line of this file that has the call."""
    (warning,) = [w for w in caught if w.category is category]
    assert warning.filename == __file__
    assert call in linecache.getline(__file__, warning.lineno)


def test_unknown_levels_point_at_the_prediction(model):
    with pytest.warns(UnknownLevelWarning) as caught:
        model.predict(STRANGE)
    check_points_here(caught, UnknownLevelWarning, "model.predict(STRANGE)")
    with pytest.warns(UnknownLevelWarning) as caught:
        model.predict_proba(STRANGE)
    check_points_here(caught, UnknownLevelWarning, "model.predict_proba(STRANGE)")


def test_unknown_levels_point_at_the_explanation(model):
    with pytest.warns(UnknownLevelWarning) as caught:
        model.explain(STRANGE)
    check_points_here(caught, UnknownLevelWarning, "model.explain(STRANGE)")


def test_unknown_levels_of_validation_rows_point_at_the_fit(model):
    learner = type(model)(**model.get_params())
    with pytest.warns(UnknownLevelWarning) as caught:
        learner.fit(X, Y, validation=(STRANGE, Y[:5]))
    check_points_here(caught, UnknownLevelWarning, "learner.fit(X, Y, validation")


def test_unknown_levels_point_at_whoever_uses_the_encoder_itself():
    encoder = TableEncoder().fit(X)
    with pytest.warns(UnknownLevelWarning) as caught:
        encoder.transform(STRANGE)
    check_points_here(caught, UnknownLevelWarning, "encoder.transform(STRANGE)")


def test_an_interrupt_points_at_the_fit(model, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(loop, "clip_gradients", interrupt)
    learner = type(model)(**model.get_params())
    with pytest.warns(InterruptedFitWarning) as caught:
        learner.fit(X, Y)
    check_points_here(caught, InterruptedFitWarning, "learner.fit(X, Y)")


def test_an_error_that_was_not_reached_points_at_the_explanation(monkeypatch):
    monkeypatch.setattr(effort, "_MOST_ORDERS", 4)
    model = SASANetClassifier(SMALL, teacher_weight=0, **QUICK).fit(X, Y)
    with pytest.warns(RefinementWarning) as caught:
        model.explain(X[:3], max_error=1e-9)
    check_points_here(caught, RefinementWarning, "model.explain(X[:3], max_error=1e-9)")


def test_a_warning_that_points_into_the_package_is_noticed(monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    def warn_here(message, category):
        warnings.warn(message, category, stacklevel=2)

    monkeypatch.setattr(loop, "clip_gradients", interrupt)
    monkeypatch.setattr(checks, "warn_user", warn_here)
    learner = NAMClassifier(layers=(4,), **QUICK)
    with pytest.warns(InterruptedFitWarning) as caught:
        learner.fit(X, Y)
    with pytest.raises(AssertionError):
        check_points_here(caught, InterruptedFitWarning, "learner.fit(X, Y)")
