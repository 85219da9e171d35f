"""The rivals: equal budgets, every one fits a small table of any kind, and the tables they meet."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from bench.accuracy import run
from bench.accuracy.measure import scores
from bench.accuracy.rivals import N_SETTINGS, SYSTEMS, Task, tabm_model
from bench.tables import data
from bench.tables.bundled import BUNDLED

NEEDED = {
    "xgboost": "xgboost",
    "catboost": "catboost",
    "ebm": "interpret",
    "tabm authors": "tabm",
    "realmlp": "pytabkit",
}
AS_THEY_COME = ("sasanet", "sasanet best", "realmlp")
SLOW = ("realmlp", "sasanet", "sasanet best")  # fitted elsewhere, or too long for a test


def test_every_search_has_the_same_budget():
    searched = {name: system for name, system in SYSTEMS.items() if name not in AS_THEY_COME}
    assert {len(system.search) for system in searched.values()} == {N_SETTINGS}
    for name in AS_THEY_COME:
        assert SYSTEMS[name].search == ({},)
    for system in searched.values():
        assert len({str(choice) for choice in system.search}) == N_SETTINGS


def small_table(target):
    random = np.random.RandomState(0)
    X = pd.DataFrame({"a": random.randn(150), "b": random.randn(150), "same": np.ones(150)})
    X["town"] = pd.Categorical(random.choice(["x", "y", "z"], 150))
    X.loc[::9, "b"] = np.nan
    X.loc[::11, "town"] = np.nan
    score = 2 * X["a"] + (X["town"] == "x") + 0.1 * random.randn(150)
    if target == "number":
        return X, score
    return X, pd.Series(np.digitize(score, [0.3] if target == "two" else [-0.5, 1.0]))


@pytest.mark.parametrize("target", ["number", "two", "three"])
@pytest.mark.parametrize("name", [name for name in SYSTEMS if name not in SLOW])
def test_every_rival_learns_a_small_table(name, target, monkeypatch):
    if name in NEEDED:
        pytest.importorskip(NEEDED[name])
    monkeypatch.setattr(tabm_model, "PATIENCE", 3)  # the makers' 16 epochs and 32 members take
    monkeypatch.setattr(tabm_model, "MEMBERS", 4)  # half a minute
    X, y = small_table(target)
    system = SYSTEMS[name]
    task = Task(X[:120], y[:120], target == "number", seed=0, trial=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of other packages
        model = system.fit(task, system.search[N_SETTINGS // 2])
    found = scores(model, X[120:], y[120:])
    assert found["r2" if target == "number" else "auc"] > 0.6


@pytest.mark.slow
@pytest.mark.parametrize("target", ["number", "three"])
def test_realmlp_learns_a_small_table(target):
    pytest.importorskip("pytabkit")
    X, y = small_table(target)
    task = Task(X[:120], y[:120], target == "number", seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = scores(SYSTEMS["realmlp"].fit(task, {}), X[120:], y[120:])
    assert found["r2" if target == "number" else "auc"] > 0.6


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_tables_are_divided(name):
    if name in ("affairs", "doctor visits", "votes"):
        pytest.importorskip("statsmodels")
    (split,) = data.splits(name, 1)
    assert len(split.X_train) == len(split.y_train) > 3 * len(split.X_test) > 0
    assert not set(split.X_train.index) & set(split.X_test.index)
    assert not pd.isna(split.y_train).any()
    distinct = split.y_train.nunique()
    assert distinct > 10 if data.is_regression(name) else 2 <= distinct <= 10
    target = split.y_train.to_numpy(dtype=float)
    for column in split.X_train.select_dtypes("number"):  # no column gives the target away
        values = split.X_train[column].fillna(0.0)
        assert values.std() == 0 or abs(np.corrcoef(values, target)[0, 1]) < 0.95


def test_six_tables_and_more_beside_the_first_nine():
    assert len(set(run.COUNTS)) >= 9 + 6
    for name in run.COUNTS:
        assert name == "census" or name in data.NAMES


def test_the_test_part_by_time_comes_after_the_training_part(monkeypatch):
    times = pd.date_range("2011-01-01", periods=400, freq="h")
    table = pd.DataFrame({"datetime": times.astype(str), "cnt": np.arange(400), "temp": 1.0})
    table = table.assign(casual=0, registered=0)
    monkeypatch.setattr(data, "read", lambda _: table)
    (split,) = data.splits("bike sharing by time", 1)
    assert split.official
    assert split.y_train.max() < split.y_test.min()
