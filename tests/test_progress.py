"""Bars say how many rows there will be, also where time ends first."""

import math

import numpy as np
import pandas as pd
import pytest

from sasanet import Architecture, SASANetRegressor
from sasanet.estimator.fitting import given
from sasanet.progress import Progress
from sasanet.teachers.data import TeacherData
from sasanet.teachers.linear import Linear
from sasanet.teachers.panel import TeacherSettings, _Rehearsal


def bar(n_rows, end, done=0):
    made = Progress("x", n_rows, verbose=False, end=end, done=done)
    made.start = 0.0
    return made


def test_without_an_end_all_rows_are_expected():
    assert bar(1_000, math.inf).expected(10, 5.0) == 1_000
    assert bar(None, math.inf).expected(10, 5.0) is None


@pytest.mark.parametrize(("n_rows", "expected"), [(1_000, 200), (150, 150), (None, 200)])
def test_what_the_time_allows_is_expected(n_rows, expected):
    assert bar(n_rows, 100.0).expected(20, 10.0) == expected


def test_rows_done_before_were_not_done_in_this_time():
    assert bar(1_000, 100.0, done=500).expected(520, 10.0) == 700
    assert bar(1_000, 100.0, done=0).expected(520, 10.0) == 1_000  # the twin


def test_a_fit_shows_rows_a_second_of_reading_teachers_and_training(monkeypatch, capsys):
    monkeypatch.setattr(given, "MOST_CELLS", 100)
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(400, 3)), columns=list("abc"))
    shape = Architecture(width=4, marginal_layers=(3,))
    model = SASANetRegressor(shape, max_epochs=1, random_state=0, verbose=True, batch_size=100)
    model.fit(X, X["a"])
    said = capsys.readouterr().err
    for what, n_rows in (("reading", 400), ("encoding, 1 MB of disk", 400), ("value", 400)):
        assert f"{what}: 100%" in said
        assert f"{n_rows}/{n_rows}" in said
    assert "teachers, 400 rows: 100%" in said
    assert " rows/s" in said


def test_teachers_say_how_many_rows_they_could_afford(capsys):
    random = np.random.default_rng(0)
    cells, labels = random.normal(size=(3_000, 4)).astype(np.float32), random.normal(size=3_000)
    settings = TeacherSettings("regression", 0.5, math.inf, n_threads=1, seed=0, verbose=True)
    used = np.arange(3_000) < 700
    data = TeacherData(cells, labels, np.ones(3_000), [None] * 4, 0)
    _Rehearsal(data, used, [Linear(with_products=False)], settings, math.inf).out_of_fold()
    assert "teachers, 700 of 3,000 rows: 100%" in capsys.readouterr().err
