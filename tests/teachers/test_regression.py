"""Penalised regression: the least loss there is, for numbers and for classes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from sasanet.teachers.regression import LinearModel, Regression

N_ROWS, N_COLUMNS = 400, 12


def make(n_classes, seed=0):
    """Return a regression of weighted rows, and its labels as scikit-learn wants them."""
    random = np.random.RandomState(seed)
    columns = random.randn(N_ROWS, N_COLUMNS).astype(np.float32)
    columns[:, 1] = 50 * columns[:, 0] + columns[:, 1]  # nearly one direction, on another scale
    raw = columns[:, 2:] @ random.randn(N_COLUMNS - 2) - 1
    weights = random.rand(N_ROWS) + 0.1
    labels = raw + random.logistic(size=N_ROWS)
    if n_classes:
        labels = np.digitize(labels, [-2.0, 1.0][: n_classes - 1])
    wanted = np.eye(3)[labels] if n_classes == 3 else labels[:, None].astype(float)
    return Regression(columns, wanted, weights / weights.mean(), n_classes), labels


def reference(regression, labels, penalty):
    """Return scikit-learn's predictions."""
    if not regression.n_classes:
        model = Ridge(alpha=penalty).fit(regression.columns, labels, regression.weights)
        return model.predict(regression.columns)
    model = LogisticRegression(C=1 / penalty, max_iter=10_000, tol=1e-8)
    model.fit(regression.columns.astype(float), labels, regression.weights)
    shares = model.predict_proba(regression.columns)
    return shares[:, 1] if regression.n_classes == 2 else shares


@pytest.mark.parametrize("n_classes", [0, 2, 3])
@pytest.mark.parametrize("penalty", [0.3, 30.0])
def test_it_finds_what_scikit_learn_finds(n_classes, penalty):
    regression, labels = make(n_classes)
    found = regression.fit(penalty).predict(regression.columns)
    wanted = reference(regression, labels, penalty)
    spread = wanted.std()
    assert np.abs(found - wanted).max() < 0.01 * spread
    twin = replace(regression, weights=np.ones(N_ROWS))  # rows that count the same
    assert np.abs(twin.fit(penalty).predict(regression.columns) - wanted).max() > 0.01 * spread


@pytest.mark.parametrize("n_classes", [2, 3])
def test_where_it_starts_does_not_matter(n_classes):
    regression, _ = make(n_classes)
    cold = regression.fit(1.0)
    warm = regression.fit(1.0, start=regression.fit(1000.0))
    difference = cold.predict(regression.columns) - warm.predict(regression.columns)
    assert np.abs(difference).max() < 2e-3


def test_a_class_that_no_row_has_is_hardly_expected():
    regression, labels = make(3)
    kept = labels != 2
    fewer = Regression(
        regression.columns[kept], regression.wanted[kept], regression.weights[kept], 3
    )
    shares = fewer.fit(1.0).predict(fewer.columns)
    assert shares.shape == (kept.sum(), 3)
    assert shares[:, 2].max() < 0.01


def test_a_model_of_mixed_columns_says_the_same():
    regression, _ = make(2)
    mixing = np.random.RandomState(1).randn(5, N_COLUMNS)
    model = regression.fit(1.0)
    columns = np.random.RandomState(2).randn(20, 5)
    mixed = model.of_mixed(mixing).predict(columns)
    np.testing.assert_allclose(mixed, model.predict(columns @ mixing), atol=1e-10)
    assert isinstance(model, LinearModel)
