"""Defects that a hostile trial of an early version found in models, by their numbers.

Each test uses what users use, no inner part, so that it can be run on that version, where it fails:
docs/measured/reliability.md says how. ``test_findings_files.py`` has those of files and commands.
"""

import functools
import sys
import threading
import time
import warnings

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest

from sasanet import Architecture, SASANetClassifier, SASANetRegressor
from sasanet.errors import SasanetError

TINY = Architecture(width=8, marginal_layers=(4,), n_knots=8)
RANDOM = np.random.default_rng(0)


def quick(kind=SASANetClassifier, **fields):
    """Return an unfitted model that learns in milliseconds."""
    settings = {"max_epochs": 1, "teacher_weight": 0.0, "random_state": 0} | fields
    return kind(TINY, **settings)


def raw(model, X):
    name = "decision_function" if hasattr(model, "decision_function") else "predict"
    return getattr(model, name)(X)


def table(n=40):
    return pd.DataFrame({"a": RANDOM.normal(size=n), "b": RANDOM.choice(["x", "y"], n)})


Y = np.arange(40) % 2


@functools.cache
def fitted():
    return quick().fit(table(), Y)


# --- high ------------------------------------------------------------------------------------


def test_01_a_time_limit_is_kept_and_a_model_that_hardly_learned_warns():
    X = RANDOM.normal(size=(20_000, 10))
    y = np.argmax(X @ RANDOM.normal(size=(10, 30)) + RANDOM.gumbel(size=(20_000, 30)), axis=1)
    start = time.monotonic()
    with pytest.warns(UserWarning, match="time_limit"):
        SASANetClassifier(random_state=0, time_limit=0.2).fit(X, y)
    assert time.monotonic() - start < 8  # it was most of a minute


@pytest.mark.parametrize("n_values", [0, 1])
def test_02_a_column_of_few_values_is_learned_by_default(n_values):
    X = RANDOM.normal(size=(60, 3))
    X[n_values:, 1] = np.nan
    model = SASANetClassifier(random_state=0, max_epochs=1).fit(X, np.arange(60) % 2)
    assert np.isfinite(model.predict_proba(X)).all()


def test_02_rows_without_weight_are_no_trouble_by_default():
    X = RANDOM.normal(size=(60, 3))
    weights = np.r_[np.zeros(58), 1, 1]
    model = SASANetRegressor(random_state=0, max_epochs=1).fit(X, X[:, 0], sample_weight=weights)
    assert np.isfinite(model.predict(X)).all()


def fails_at(call):
    """Return a profiler that raises at one call of the package."""
    count = [0]

    def watch(frame, event, _):
        if event == "call" and "/sasanet/" in frame.f_code.co_filename:
            count[0] += 1
            if count[0] == call:
                sys.setprofile(None)
                raise RuntimeError("injected")

    return watch


def test_03_a_second_fit_that_fails_leaves_the_first_model():
    X = table()
    model = quick().fit(X, Y)
    before = raw(model, X)
    other = pd.DataFrame({"a": 1e6 + RANDOM.normal(size=40), "b": RANDOM.choice(["x", "y"], 40)})
    failed = 0
    for call in range(20, 600, 37):
        sys.setprofile(fails_at(call))
        try:
            model.fit(other, 1 - Y)
            break
        except RuntimeError:
            failed += 1
        finally:
            sys.setprofile(None)
        assert (raw(model, X) == before).all()
    assert failed > 5


def test_03_a_refused_fit_leaves_no_trace():
    model = quick().fit(table(), Y)
    with pytest.raises(SasanetError):
        model.fit(pd.DataFrame({"a": RANDOM.normal(size=40)}), np.full(40, np.nan))
    assert model.n_features_in_ == 2
    assert model.predict(table()).shape == (40,)


# --- medium ----------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [pyarrow.table, polars.DataFrame])
def test_07_whole_numbers_beside_a_null_keep_every_digit(make):
    whole = make({"code": [*[2**53, 2**53 + 1] * 19, 2**53, None]})
    model = quick(max_epochs=60, categorical_features=["code"]).fit(whole, Y)
    found = raw(model, whole)
    assert abs(found[0] - found[1]) > 1e-3


@pytest.mark.parametrize("size", [1e154, 1e300, 1e-170, 1e-300])
def test_08_targets_of_any_size_are_learned(size):
    X = RANDOM.normal(size=(60, 2))
    found = quick(SASANetRegressor, max_epochs=30).fit(X, X[:, 0] * size).predict(X)
    assert np.isfinite(found).all()
    assert np.corrcoef(found / size, X[:, 0])[0, 1] > 0.5


def test_08_one_outlier_or_huge_weights_leave_a_finite_model():
    X = RANDOM.normal(size=(40, 2))
    y = np.r_[1e200, X[1:, 0]]
    assert np.isfinite(quick(SASANetRegressor).fit(X, y).predict(X)).all()
    heavy = quick().fit(X, Y, sample_weight=np.full(40, 1e307))
    assert np.isfinite(heavy.predict_proba(X)).all()


def test_08_a_learning_rate_that_leaves_the_numbers_is_refused_or_finite():
    try:
        model = quick(SASANetRegressor, max_epochs=20, learning_rate=1e9).fit(table(), Y)
    except SasanetError:
        return
    assert np.isfinite(raw(model, table())).all()


def test_08_only_weighted_rows_held_out():
    X = RANDOM.normal(size=(40, 2))
    for row in range(0, 40, 5):
        weights = np.zeros(40)
        weights[row] = 1.0
        model = quick(SASANetRegressor, validation_fraction=0.5, max_epochs=2)
        assert np.isfinite(model.fit(X, X[:, 0], sample_weight=weights).predict(X)).all()


def test_09_a_number_never_present_in_training_adds_nothing():
    X = table().assign(c=np.nan)
    model = quick().fit(X, Y)
    values = model.explain(X.assign(c=5.0)).values
    assert (values[:, 2] == 0).all()


def test_11_every_method_finds_reordered_columns_by_their_names():
    X = pd.DataFrame(RANDOM.normal(size=(40, 3)) * [1, 100, 10_000], columns=[2, 0, 1])
    model = quick(max_epochs=20).fit(X, (X[0] > 0).astype(int))
    other = X[[0, 1, 2]]
    right = raw(model, X)
    assert (raw(model, other) == right).all()
    explained = model.explain(other)
    total = explained.base_values + explained.values.sum(axis=1)
    assert np.allclose(total, right, atol=1e-5)


def test_12_one_seed_is_one_model_in_several_threads():
    X = RANDOM.normal(size=(100, 4))
    y = X[:, 0] * X[:, 1]

    def fit():
        model = SASANetRegressor(TINY, random_state=0, max_epochs=12, teacher_weight=0.0)
        found.append(model.fit(X, y).predict(X).tobytes())

    found = []
    fit()
    threads = [threading.Thread(target=fit) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 5
    assert len(set(found)) == 1


# --- low -------------------------------------------------------------------------------------


def test_15_a_mixture_of_true_and_1_reads_alike_alone_and_among_others():
    X = pd.DataFrame({"a": pd.Series([True, 1, "x", 0, False] * 8, dtype=object)})
    model = quick(max_epochs=30, random_state=1).fit(X, [0, 1, 0, 1, 1] * 8)
    together = raw(model, X)
    alone = [raw(model, X.iloc[[row]])[0] for row in range(5)]
    assert np.allclose(together[:5], alone, atol=1e-6)


def test_15_an_audit_takes_a_seed_of_numpy():
    model = fitted()
    assert str(model.audit(table(), n_rows=4, random_state=np.int64(1)))


@pytest.mark.parametrize("y", [np.zeros((40, 1, 1)), 5, Y[:-1], [1j] * 40])
@pytest.mark.parametrize("kind", [SASANetClassifier, SASANetRegressor])
def test_15_bad_labels_are_refused_in_a_sentence(kind, y):
    with pytest.raises(SasanetError):
        quick(kind).fit(table(), y)


@pytest.mark.parametrize("weights", ["heavy", [None] * 40, np.zeros((40, 2)), {"a": 1}, [1j] * 40])
def test_15_bad_weights_are_refused_in_a_sentence(weights):
    with pytest.raises(SasanetError):
        quick().fit(table(), Y, sample_weight=weights)


def test_15_a_refined_row_is_the_same_alone_and_among_others():
    X = pd.DataFrame(RANDOM.normal(size=(40, 12)))
    model = quick().fit(X, Y)
    together = model.explain(X[:6], n_orders=8).values
    alone = model.explain(X[3:4], n_orders=8).values
    assert np.allclose(together[3], alone[0], rtol=0, atol=1e-6)


def test_16_ids_are_warned_of_and_rare_levels_need_not_be_kept():
    n = 12_000
    X = pd.DataFrame({"id": [f"customer {i}" for i in range(n)], "a": RANDOM.normal(size=n)})
    y = np.arange(n) % 2
    with pytest.warns(UserWarning, match="should have levels that repeat"):
        quick().fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = quick(min_level_count=5).fit(X, y)
    assert "customer" not in str(vars(model.encoder_))
