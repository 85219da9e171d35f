"""Teachers of rates: Poisson trees and splines, weighed by their deviance."""

import numpy as np
import pytest

from sasanet.objectives import deviance
from sasanet.teachers import TeacherSettings, panel, soften_labels
from sasanet.teachers.data import TeacherData
from sasanet.teachers.linear import Linear
from sasanet.teachers.scikit_trees import ScikitTrees
from sasanet.teachers.stacking import combine, losses, mean_loss, stack
from sasanet.teachers.trees import Trees, make_detailed_trees

N = 1200


@pytest.fixture(scope="module")
def rates():
    """Return cells, true relative rates, relative rates as observed, and exposures."""
    random = np.random.default_rng(0)
    cells = random.normal(size=(N, 3))
    true = np.exp(0.8 * cells[:, 0] - 0.5 * cells[:, 1] ** 2)
    exposure = random.uniform(0.2, 2.0, N)
    observed = random.poisson(true * exposure) / exposure
    mean = np.average(observed, weights=exposure)
    return cells, true / mean, observed / mean, exposure


def test_rates_are_weighed_by_their_deviance(rates):
    _, true, observed, exposure = rates
    noisy = true * np.exp(np.random.default_rng(1).normal(0, 0.5, N))
    found, mixed = stack([true**0.5 * 3, noisy], observed, exposure, "poisson")
    assert found[0] == pytest.approx(2.0, abs=0.25)  # a teacher of half the log rates
    assert found[1] < 0.1
    assert np.average(mixed, weights=exposure) == pytest.approx(1.0, abs=0.02)
    best = mean_loss(observed, mixed, exposure, "poisson")
    for other in ([0.0, 1.0], [1.0, 0.0], [0.5, 0.5]):  # the twins: other weights
        guess = combine([true**0.5 * 3, noisy], np.array(other), observed, exposure, "poisson")
        assert mean_loss(observed, guess, exposure, "poisson") > best
    np.testing.assert_allclose(losses(observed, mixed, "tweedie"), deviance(observed, mixed, 1.5))


@pytest.mark.parametrize(
    ("teacher", "task"),
    [
        (Trees(12, 0.1), "poisson"),
        (Trees(12, 0.1), "gamma"),
        (Trees(12, 0.1), "tweedie"),
        (Linear(False), "gamma"),
        (Linear(False), "poisson"),
        (ScikitTrees(12, 0.1), "tweedie"),
    ],
)
def test_teachers_foresee_rates(rates, teacher, task):
    cells, true, observed, exposure = rates
    labels = observed + 0.05 if task == "gamma" else observed
    data = TeacherData(cells, labels, exposure, (None,) * 3, 0, task=task)
    seen = np.arange(N) % 3 > 0
    found = teacher.predict(data, seen, ~seen, 0)
    assert found.min() > 0
    logs = np.corrcoef(np.log(found), np.log(true[~seen]))[0, 1]
    assert logs**2 > 0.5  # most of what the true log rates vary
    swapped = TeacherData(cells, labels[::-1], exposure, (None,) * 3, 0, task=task)
    other = teacher.predict(swapped, seen, ~seen, 0)  # the twin: labels of other rows
    assert np.corrcoef(np.log(other), np.log(true[~seen]))[0, 1] ** 2 < 0.5


def test_softened_rates_are_closer_to_the_true_ones(rates):
    cells, true, observed, exposure = rates
    settings = TeacherSettings("poisson", 0.8, np.inf, n_threads=1, seed=0)
    soft = soften_labels(cells, observed, exposure, (None,) * 3, settings)
    assert 0.1 < soft.clarity < 0.9
    assert (soft.labels >= 0).all()
    before, after = ((part - true) ** 2 @ exposure for part in (observed, soft.labels))
    assert after < before / 5


@pytest.mark.parametrize("task", ["poisson", "binary", ""])
def test_rates_of_large_tables_alone_have_detailed_trees(task, monkeypatch):
    monkeypatch.setattr(panel, "_LARGE", 100)
    labels, levels = np.arange(100.0) % 2, (None, None)
    n_classes = 2 if task == "binary" else 0
    data = TeacherData(np.zeros((100, 2)), labels, np.ones(100), levels, n_classes, task=task)
    names = [teacher.name for teacher in panel._make_panel(data)]
    assert ("trees of 127 leaves" in names) == (task == "poisson")
    assert {"trees of 31 leaves", "splines"} <= set(names)
    few = TeacherData(
        np.zeros((99, 2)), labels[:99], np.ones(99), levels, n_classes, task=task
    )  # the twin: a small table
    assert "trees of 127 leaves" not in [teacher.name for teacher in panel._make_panel(few)]


def test_detailed_trees_find_what_few_leaves_do_not():
    random = np.random.default_rng(0)
    n = 20_000
    cells = random.integers(0, 2, (n, 6)).astype(float)
    places = (cells @ 2 ** np.arange(6)).astype(int)
    rate = random.gamma(1.0, 1.0, 64)[places]  # a rate of its own for each of 64 cells
    observed = random.poisson(rate).astype(float)
    relative = observed / observed.mean()
    data = TeacherData(cells, relative, np.ones(n), (None,) * 6, 0, task="poisson")
    seen = np.arange(n) % 4 > 0

    def lost(teacher):
        found = teacher.predict(data, seen, ~seen, 0)
        return mean_loss(relative[~seen], found, np.ones((~seen).sum()), "poisson")

    true = mean_loss(relative[~seen], rate[~seen] / observed.mean(), np.ones(n // 4), "poisson")
    assert lost(make_detailed_trees()) < 1.02 * true
    assert lost(Trees(4, 0.15)) > 1.02 * true  # the twin: few leaves
