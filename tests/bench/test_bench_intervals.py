"""Intervals of paired differences: seeds on one test part must not pass for several test parts."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import roc_auc_score, root_mean_squared_error

from bench.accuracy.measure import RESAMPLES, resampled
from bench.page import paired_difference, paired_interval


def run(values, draws=None):
    splits = [{"auc": value} for value in values]
    for split, drawn in zip(splits, draws or [], strict=False):
        split["resampled"] = {"auc": drawn}
    return {"splits": splits, "test_share": 0.5}


@pytest.fixture
def labelled():
    random = np.random.RandomState(0)
    X = pd.DataFrame(random.randn(400, 3), columns=list("abc"))
    return X, pd.Series((X["a"] + random.randn(400) > 0).astype(int))


def test_without_resampled_rows_the_interval_is_that_of_splits():
    ours, theirs = run([0.80, 0.82, 0.81]), run([0.79, 0.80, 0.80])
    gaps = np.array([0.01, 0.02, 0.01])
    assert paired_difference(ours, theirs, "auc") == pytest.approx(paired_interval(gaps, 0.5))


def test_only_splits_both_have_are_compared():
    centre, _ = paired_difference(run([0.8, 0.9, 0.5]), run([0.7, 0.7]), "auc")
    assert centre == pytest.approx(0.15)


def test_test_rows_widen_the_interval_of_seeds():
    draws = np.random.RandomState(0).normal(0, 0.01, RESAMPLES)
    ours = run([0.80, 0.82, 0.81], [list(0.8 + draws)] * 3)
    theirs = run([0.79, 0.80, 0.80], [[0.8] * RESAMPLES] * 3)
    _, half = paired_difference(ours, theirs, "auc")
    seeds = paired_interval(np.array([0.01, 0.02, 0.01]), 0)[1]
    assert half == pytest.approx(np.hypot(seeds, 1.96 * draws.std(ddof=1)), rel=1e-4)
    _, same = paired_difference(ours, run([0.79, 0.80, 0.80], [list(draws)] * 3), "auc")
    assert same == pytest.approx(seeds)  # what both feel alike leaves no doubt


def test_seeds_without_resampled_rows_do_not_hide_what_test_rows_change():
    draws = np.random.RandomState(0).normal(0, 0.01, RESAMPLES)
    ours = run([0.80, 0.82, 0.81], [list(0.8 + draws)])  # the first seed's only
    theirs = run([0.79, 0.80, 0.80], [[0.8] * RESAMPLES] * 3)
    _, half = paired_difference(ours, theirs, "auc")
    seeds = paired_interval(np.array([0.01, 0.02, 0.01]), 0)[1]
    assert half == pytest.approx(np.hypot(seeds, 1.96 * draws.std(ddof=1)), rel=1e-4)


def test_resampled_measures_spread_around_the_measure(labelled):
    X, y = labelled
    model = LogisticRegression().fit(X, y)
    drawn = resampled(model, X, y)["auc"]
    whole = roc_auc_score(y, model.predict_proba(X)[:, 1])
    assert len(set(drawn)) > RESAMPLES / 2
    assert abs(np.mean(drawn) - whole) < 3 * np.std(drawn) / np.sqrt(RESAMPLES)
    assert drawn == resampled(model, X, y)["auc"]  # every system sees the same draws


def test_a_regressor_s_error_is_resampled(labelled):
    X, y = labelled
    model = LinearRegression().fit(X, y)
    drawn = resampled(model, X, y)["rmse"]
    whole = root_mean_squared_error(y, model.predict(X))
    assert abs(np.mean(drawn) - whole) < 3 * np.std(drawn) / np.sqrt(RESAMPLES)
