"""A time limit is kept by every part, and a model that hardly learned says so."""

import time
import warnings

import numpy as np
import pytest

from sasanet import Architecture, SASANetClassifier, SASANetRegressor
from sasanet.errors import ShortFitWarning
from sasanet.estimator import sasanet as estimator
from sasanet.estimator import soft_labels
from sasanet.estimator.soft_labels import SoftLabels, TeacherSettings, soften_labels

TINY = Architecture(width=4, marginal_layers=(3,))
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(4000, 5))
Y = X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * RANDOM.normal(size=4000)


def settings(seconds, task="regression"):
    return TeacherSettings(task, 0.5, seconds, n_threads=1, seed=0)


def soften(seconds, labels=Y, task="regression"):
    return soften_labels(X, labels, np.ones(len(X)), [None] * 5, settings(seconds, task))


def test_without_a_limit_all_rows_teach():
    assert soften(np.inf).n_rows == len(X)


def test_under_a_limit_the_teacher_takes_the_rows_it_can_afford():
    a_row = 5 * (soft_labels._BINNING + soft_labels._USUAL_ITERATIONS * soft_labels._GROWING) * 4
    found = soften(1_000 * a_row)
    assert found.n_rows in (0, 1_000)  # none where the machine is too slow for a single fold
    some = soft_labels._affordable_rows(
        soft_labels._Data(X, Y, None, np.ones(len(X)), [None] * 5, Y.shape), settings(1_000 * a_row)
    )
    assert some.sum() == 1_000


def test_with_hardly_any_time_labels_stay_as_they_are():
    found = soften(1e-4)
    assert found.n_rows == 0
    assert np.array_equal(found.labels, Y)


def test_many_classes_cost_as_many_trees():
    labels = RANDOM.integers(0, 30, len(X)).astype(float)
    a_row = 5 * (soft_labels._BINNING + soft_labels._USUAL_ITERATIONS * soft_labels._GROWING) * 4
    assert soften(2_000 * a_row, labels, "multiclass").n_rows == 0  # enough for one tree at a time


def test_trees_grown_in_parts_stop_by_themselves_too():
    data = soft_labels._Data(X, Y, None, np.ones(len(X)), [None] * 5, Y.shape)
    everything = np.ones(len(X), dtype=bool)
    late = time.monotonic() + 1e6
    trees = soft_labels._grow(data, everything, settings(1e6), late)
    assert soft_labels._FIRST_ITERATIONS < trees.n_iter_ < trees.max_iter
    now = time.monotonic()
    assert soft_labels._grow(data, everything, settings(1), now).n_iter_ == 10


def test_what_comes_before_cannot_eat_the_networks_share(monkeypatch):
    def slow(cells, labels, weights, levels, settings):
        del cells, weights, levels, settings
        time.sleep(1.0)
        return SoftLabels(labels)

    monkeypatch.setattr(estimator, "soften_labels", slow)
    model = SASANetRegressor(TINY, random_state=0, max_epochs=10**6, time_limit=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShortFitWarning)
        model.fit(X, Y)
    assert model.history_[-1]["seconds"] >= 0.2


def test_a_model_that_hardly_learned_warns_at_the_users_line():
    model = SASANetClassifier(TINY, random_state=0, max_epochs=10**6, time_limit=1e-3)
    with pytest.warns(ShortFitWarning, match=r"time_limit=0.001 s ended training after") as caught:
        model.fit(X, Y > 0)
    assert caught[0].filename == __file__


def test_a_fit_that_ended_by_its_steps_does_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SASANetClassifier(TINY, random_state=0, max_epochs=1, time_limit=100, teacher_weight=0).fit(
            X[:200], Y[:200] > 0
        )
