"""Each teacher alone: what it learns, what it returns, and what stops it."""

from __future__ import annotations

import builtins
import math

import numpy as np
import pytest

from sasanet.errors import SlowTeacherWarning
from sasanet.teachers.data import TeacherData, stopping_rows
from sasanet.teachers.linear import Design, Linear
from sasanet.teachers.scikit_trees import ScikitTrees
from sasanet.teachers.trees import Trees, make_trees

TEACHERS = [Trees(31, 0.1), ScikitTrees(31, 0.1), Linear(False), Linear(True)]
RANDOM = np.random.RandomState(0)
CELLS = np.column_stack([RANDOM.rand(500, 3) * 9, RANDOM.randint(1, 4, 500)]).astype(np.float32)
CELLS[RANDOM.rand(*CELLS.shape) < 0.1] = np.nan
TRUTH = np.nan_to_num(CELLS[:, 0]) / 3 + (CELLS[:, 3] == 2)
LABELS = {0: TRUTH + 0.3 * RANDOM.randn(500)}
LABELS |= {2: (LABELS[0] > 2) * 1.0, 3: np.digitize(LABELS[0], [1.0, 2.5]) * 1.0}
SEEN = np.arange(500) < 400


def data(n_classes, cells=CELLS, labels=None, weights=None):
    labels = LABELS[n_classes] if labels is None else labels
    weights = np.ones(len(labels)) if weights is None else weights
    return TeacherData(cells, labels, weights, (None, None, None, 4), n_classes)


@pytest.mark.parametrize("n_classes", [0, 2, 3])
@pytest.mark.parametrize("teacher", TEACHERS, ids=lambda teacher: teacher.name)
def test_it_foresees_rows_it_has_not_seen(teacher, n_classes):
    rows = data(n_classes)
    found = teacher.predict(rows, SEEN, ~SEEN, 0)
    wanted = rows.expectations[~SEEN]
    assert found.shape == wanted.shape
    prior = rows.expectations[SEEN].mean(0)
    assert np.mean((found - wanted) ** 2) < 0.6 * np.mean((prior - wanted) ** 2)
    if n_classes == 3:
        np.testing.assert_allclose(found.sum(1), 1, atol=1e-6)
    if n_classes == 2:
        assert ((found >= 0) & (found <= 1)).all()


@pytest.mark.parametrize("teacher", TEACHERS, ids=lambda teacher: teacher.name)
def test_empty_and_constant_columns_and_missing_classes_do_not_stop_it(teacher):
    cells = CELLS.copy()
    cells[:, 1], cells[:, 2] = np.nan, 5.0
    labels = np.where(SEEN, LABELS[2], 2.0)  # the third class is in no row seen
    found = teacher.predict(data(3, cells, labels), SEEN, ~SEEN, 0)
    assert np.isfinite(found).all()


@pytest.mark.parametrize("teacher", TEACHERS, ids=lambda teacher: teacher.name)
def test_the_largest_numbers_are_learned_like_others(teacher):
    knots = np.array([-1.7e308, -1e308, 1e300, 1e308, 1.7e308])
    cells = RANDOM.randint(0, 5, (500, 1)).astype(np.float32)
    labels = cells[:, 0] * 1.0
    found = [
        teacher.predict(
            TeacherData(cells, labels, np.ones(500), (None,), 0, [known]), SEEN, ~SEEN, 0
        )
        for known in (knots / 1e308, knots)
    ]
    np.testing.assert_allclose(found[1], found[0], atol=1e-6)


@pytest.mark.parametrize("teacher", TEACHERS, ids=lambda teacher: teacher.name)
def test_heavy_rows_count_more(teacher):
    labels = np.where(np.arange(500) % 2, 0.0, 1.0)  # nothing to foresee but the mean
    heavy = np.where(labels == 1, 9.0, 1.0)
    found = teacher.predict(data(0, labels=labels, weights=heavy), SEEN, ~SEEN, 0)
    assert found.mean() == pytest.approx(0.9, abs=0.07)


def test_without_time_trees_predict_nothing():
    assert np.isnan(Trees(31, 0.1).predict(data(0), SEEN, ~SEEN, 0, end=0.0)).all()
    assert np.isnan(ScikitTrees(31, 0.1).predict(data(3), SEEN, ~SEEN, 0, end=0.0)).all()


def test_the_design_interpolates_and_is_flat_beyond_the_ends():
    cells = np.linspace(0, 10, 101, dtype=np.float32)[:, None]
    rows = TeacherData(cells, np.zeros(101), np.ones(101), (None,), 0)
    design = Design.learn(rows, np.arange(101), with_products=False)
    raw = Design(design.places, design.is_number, (), np.zeros(1), np.ones(1))
    hats = raw(np.array([[0.0], [4.2], [10.0], [99.0], [np.nan]], dtype=np.float32))[:, 1:]
    np.testing.assert_allclose(hats[:4].sum(1), 1)
    np.testing.assert_allclose(hats[:4] @ design.places[0], [0, 4.2, 10, 10], rtol=1e-6)
    assert not hats[4].any()


def test_products_are_learned_only_where_asked_for():
    cells = RANDOM.randn(800, 2).astype(np.float32)
    rows = TeacherData(cells, cells.prod(1) * 1.0, np.ones(800), (None, None), 0)
    seen = np.arange(800) < 600
    errors = [
        np.mean((Linear(flag).predict(rows, seen, ~seen, 0) - rows.labels[~seen]) ** 2)
        for flag in (False, True)
    ]
    assert errors[1] < 0.1 * errors[0]


def test_rows_that_stop_are_not_fitted():
    fitted, held_out = stopping_rows(SEEN, 0.1, 0)
    assert len(held_out) == 40
    assert sorted([*fitted, *held_out]) == list(range(400))


def test_where_lightgbm_cannot_be_loaded_others_take_its_place(monkeypatch):
    assert isinstance(make_trees(31, 0.1), Trees)
    original = builtins.__import__

    def without(name, *rest):
        if name == "lightgbm":
            raise OSError("libgomp.so.1: cannot open shared object file")
        return original(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.warns(SlowTeacherWarning, match=r"\(libgomp.so.1: .*Install libgomp1"):
        assert isinstance(make_trees(31, 0.1), ScikitTrees)


def test_a_design_of_many_columns_takes_fewer_rows(monkeypatch):
    monkeypatch.setattr("sasanet.teachers.linear._MOST_CELLS", 3_000)
    assert math.isfinite(Linear(False).predict(data(0), SEEN, ~SEEN, 0).sum())


def rises(teacher, directions, n_classes):
    """Return how often predictions rise where the first column alone does, out of 380 steps."""
    rows = data(n_classes)
    steps = np.repeat(CELLS[:20], 20, axis=0)
    steps[:, 0] = np.tile(np.linspace(0, 9, 20), 20)
    cells = np.vstack([CELLS, steps]).astype(np.float32)
    labels = np.r_[rows.labels, np.zeros(400)]
    seen = np.arange(900) < 500
    rows = TeacherData(cells, labels, np.ones(900), rows.levels, n_classes, directions=directions)
    found = teacher.predict(rows, seen, ~seen, 0).reshape(20, 20)
    return int((np.diff(found, axis=1) > 1e-6).sum())


@pytest.mark.parametrize("n_classes", [0, 2])
@pytest.mark.parametrize("teacher", TEACHERS[:2], ids=lambda teacher: teacher.name)
def test_trees_keep_directions(teacher, n_classes):
    """Against the truth, which rises with the first column."""
    assert rises(teacher, (-1, 0, 0, 0), n_classes) == 0
    assert rises(teacher, (), n_classes) > 20
