"""A time limit is kept by every part, and a model that hardly learned says so."""

import time
import warnings

import numpy as np
import pytest

from sasanet import Architecture, SASANetClassifier, SASANetRegressor
from sasanet.errors import ShortFitWarning
from sasanet.estimator.fitting import soft_labels
from sasanet.teachers import SoftLabels, TeacherSettings, panel, soften_labels
from sasanet.teachers.data import TeacherData
from sasanet.teachers.trees import Trees

TINY = Architecture(width=4, marginal_layers=(3,))
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(4000, 5))
Y = X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * RANDOM.normal(size=4000)


def settings(seconds, task="regression"):
    return TeacherSettings(task, 0.5, seconds, n_threads=1, seed=0)


def soften(seconds, labels=Y, task="regression"):
    return soften_labels(X, labels, np.ones(len(X)), [None] * 5, settings(seconds, task))


@pytest.mark.usefixtures("few_trees")
def test_without_a_limit_all_rows_teach():
    assert soften(np.inf).n_rows == len(X)


class Slow:
    """A teacher that takes a tenth of a millisecond a row."""

    def predict(self, data, seen, unseen, seed, end):
        del data, unseen, seed, end
        time.sleep(1e-4 * seen.sum())


def affordable(seconds, labels=Y, n_classes=0):
    data = TeacherData(X, labels, np.ones(len(X)), [None] * 5, n_classes)
    return panel._affordable_rows(data, [Slow()], settings(seconds))


def test_under_a_limit_the_teachers_learn_from_the_rows_they_can_afford():
    assert affordable(np.inf).all()
    assert affordable(100).all()
    # Ten such fits of all 4,000 rows would take four seconds.
    some = affordable(2.0)
    assert 1_000 < some.sum() <= 2_000
    assert affordable(0.1) is None


def test_with_hardly_any_time_labels_stay_as_they_are():
    found = soften(1e-4)
    assert found.n_rows == 0
    assert np.array_equal(found.labels, Y)


def test_trees_stop_growing_in_time_or_by_themselves():
    data = TeacherData(X, Y, np.ones(len(X)), [None] * 5, 0)
    everything = np.ones(len(X), dtype=bool)
    late = Trees(31, 0.1)._grow(data, everything, 0, time.monotonic())
    free = Trees(31, 0.1)._grow(data, everything, 0, np.inf)
    assert late.current_iteration() == 1
    assert 20 < free.current_iteration() < 1000


def test_what_comes_before_cannot_eat_the_networks_share(monkeypatch):
    def slow(cells, labels, weights, levels, settings, knots):
        del cells, weights, levels, settings, knots
        time.sleep(1.0)
        return SoftLabels(labels)

    monkeypatch.setattr(soft_labels, "soften_labels", slow)
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
