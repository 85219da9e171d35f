"""The kernel machine: it learns which columns matter, keeps to its time, and bears odd tables."""

from __future__ import annotations

import time

import numpy as np
import pytest

from sasanet.teachers import kernel
from sasanet.teachers.data import TeacherData
from sasanet.teachers.kernel import Features, Kernel, Ridge, distances
from sasanet.teachers.linear import Linear
from sasanet.teachers.stacking import losses

N_ROWS, N_NOISE = 500, 6


def make_data(n_classes=0, seed=0):
    """Return a table whose truth bends with two columns at once, and six that say nothing."""
    random = np.random.RandomState(seed)
    cells = random.randn(N_ROWS, 2 + N_NOISE).astype(np.float32)
    truth = np.sin(2 * cells[:, 0]) * cells[:, 1]
    labels = truth + 0.1 * random.randn(N_ROWS)
    if n_classes:
        labels = np.digitize(labels, [-0.5, 0.5][: n_classes - 1]).astype(float)
    return TeacherData(cells, labels, np.ones(N_ROWS), (None,) * cells.shape[1], n_classes), truth


def halves():
    seen = np.arange(N_ROWS) < 400
    return seen, ~seen


def error(teacher, data):
    seen, unseen = halves()
    found = teacher.predict(data, seen, unseen, seed=0)
    return losses(data.expectations[unseen], found, data.loss).mean()


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_it_foresees_what_splines_and_products_cannot(n_classes):
    data, _ = make_data(n_classes)
    assert error(Kernel(), data) < 0.8 * error(Linear(with_products=True), data)


def test_learned_scales_are_what_makes_it_good(monkeypatch):
    data, _ = make_data()
    learned = error(Kernel(), data)
    monkeypatch.setattr(kernel, "_ROUNDS", 1)  # the twin: every column counts the same
    assert learned < 0.5 * error(Kernel(), data)


def test_columns_that_matter_get_the_largest_scales():
    data, _ = make_data()
    rows = np.arange(N_ROWS)
    plain = Features.learn(data, rows)
    found = kernel._scaled(plain, data, rows[:400], rows[400:], 0, np.inf)
    assert found is not None
    assert found.scales[:2].min() > 3 * found.scales[2:].max()


def test_the_slopes_are_those_of_the_fitted_function():
    random = np.random.RandomState(0)
    rows = random.randn(60, 3).astype(np.float32)
    labels = np.column_stack([np.sin(rows[:, 0]), rows[:, 1]]).astype(np.float32)
    ridge = Ridge.fit(rows[:40], labels[:40], np.arange(40), rows[40:], labels[40:])
    space, step = ridge.space, 1e-2

    def function(points):
        return space.kernel(distances(points, space.landmarks)) @ ridge.weights

    numeric = np.zeros_like(rows[40:])
    for feature in range(3):
        moved = np.eye(3, dtype=np.float32)[feature] * step
        ahead, behind = function(rows[40:] + moved), function(rows[40:] - moved)
        numeric[:, feature] = np.linalg.norm((ahead - behind) / (2 * step), axis=1)
    np.testing.assert_allclose(ridge.slopes(rows[40:]), numeric, atol=0.02 * numeric.max())


def test_late_it_says_nothing():
    data, _ = make_data()
    seen, unseen = halves()
    found = Kernel().predict(data, seen, unseen, 0, end=time.monotonic() - 1)
    assert np.isnan(found).all()
    assert found.shape == (100,)


@pytest.mark.filterwarnings("error")
def test_odd_columns_are_no_trouble():
    random = np.random.RandomState(0)
    cells = random.randn(N_ROWS, 5).astype(np.float32)
    cells[:, 1] = 3.0  # constant
    cells[:, 2] = np.nan  # empty
    cells[:, 3] = random.randint(0, 4, N_ROWS)
    cells[::3, 0] = np.nan
    cells[:, 4] = random.randint(0, 3, N_ROWS)  # places between knots of enormous values
    knots = ((), (), (), (), (-1.7e308, 0.0, 1.7e308))
    levels = (None, None, None, 4, None)
    labels = (cells[:, 3] == 1) + 0.1 * random.randn(N_ROWS)
    data = TeacherData(cells, labels, np.ones(N_ROWS), levels, 0, knots)
    seen, unseen = halves()
    found = Kernel().predict(data, seen, unseen, 0)
    assert np.isfinite(found).all()
    assert np.mean((found - labels[unseen]) ** 2) < 0.3 * labels.var()


def test_wide_tables_cost_no_more(monkeypatch):
    data, _ = make_data()
    counts = []
    original = Features.__call__

    def count(self, data, rows):
        counts.append(len(rows) * len(self.scales))
        return original(self, data, rows)

    monkeypatch.setattr(kernel, "_MOST_CELLS", 1_000)
    monkeypatch.setattr(Features, "__call__", count)
    seen, unseen = halves()
    Kernel().predict(data, seen, unseen, 0)
    assert max(counts[1:-1]) <= 1_000  # all but the choice of features and the prediction


def test_rows_that_are_the_same_are_no_trouble():
    data, _ = make_data(2)
    few = np.round(data.cells[:, :2])  # hardly a row that is not there several times
    data = TeacherData(few, data.labels, data.weights, (None, None), 2)
    seen, unseen = halves()
    found = Kernel().predict(data, seen, unseen, 0)
    assert np.isfinite(found).all()
    assert losses(data.expectations[unseen], found, "binary").mean() < np.log(2)


@pytest.mark.filterwarnings("error")
def test_numbers_of_every_size_beside_each_other_are_no_trouble():
    knots = np.array([-1e308, 0.0, 1.0, 1.7e308])
    cells = np.array([*knots, np.nan, 0.2, 5e-324])
    assert np.isfinite(kernel._number(cells, knots)).all()
    with np.errstate(all="ignore"):  # the twin: a slope without end, times nothing
        relative = knots / 1.7e308
        assert not np.isfinite(np.interp(np.median(relative), relative, np.linspace(-1.7, 1.7, 4)))


def test_a_table_of_levels_that_hardly_come_twice_has_nothing_to_compare():
    random = np.random.RandomState(0)
    ids = np.arange(N_ROWS, dtype=np.float32)[:, None]
    data = TeacherData(ids, random.randn(N_ROWS), np.ones(N_ROWS), (N_ROWS,), 0)
    assert len(Features.learn(data, np.arange(N_ROWS)).scales) == 0
    seen, unseen = halves()
    assert np.isnan(Kernel().predict(data, seen, unseen, seed=0)).all()
