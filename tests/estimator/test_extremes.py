"""Extreme but legal values train finite models; what cannot be trained is said."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import r2_score

from sasanet import Architecture, SASANetClassifier, SASANetRegressor
from sasanet.errors import InvalidInputError

TINY = Architecture(width=8, marginal_layers=(4,))
QUICK = {"random_state": 0, "max_epochs": 12, "learning_rate": 0.03, "teacher_weight": 0}
RANDOM = np.random.default_rng(0)
X = pd.DataFrame(RANDOM.normal(size=(300, 3)), columns=list("abc"))
Y = X["a"].to_numpy() + 0.5 * X["b"].to_numpy()


@pytest.mark.parametrize("size", [1e-300, 1e-170, 1e-30, 1.0, 1e30, 1e154, 1e300, 1e307])
def test_targets_of_any_size_are_learned(size):
    model = SASANetRegressor(TINY, **QUICK).fit(X, Y * size)
    found = model.predict(X) / size
    assert np.corrcoef(found, Y)[0, 1] > 0.8
    assert model.score(X, Y * size) == pytest.approx(r2_score(Y, found), abs=1e-6)
    values = model.explain(X)
    np.testing.assert_allclose(values.prediction / size, found, rtol=1e-6, atol=1e-6)


def test_the_scale_of_a_target_changes_nothing_but_the_scale():
    one, large = (SASANetRegressor(TINY, **QUICK).fit(X, Y * size) for size in (1.0, 2.0**1000))
    np.testing.assert_allclose(large.predict(X) / 2.0**1000, one.predict(X), rtol=1e-5, atol=1e-6)


def test_one_outlier_leaves_a_finite_model():
    y = Y.copy()
    y[0] = 1e200
    assert np.isfinite(SASANetRegressor(TINY, **QUICK).fit(X, y).predict(X)).all()


@pytest.mark.parametrize("size", [1e-307, 1e307])
def test_only_the_ratios_of_weights_count(size):
    weights = RANDOM.random(300)
    one, other = (SASANetRegressor(TINY, **QUICK).fit(X, Y, w) for w in (weights, weights * size))
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-4, atol=1e-5)


def test_a_network_that_leaves_the_numbers_is_refused_and_the_old_one_kept():
    model = SASANetRegressor(TINY, **QUICK).fit(X, Y)
    before = model.predict(X)
    # Weights of 1e9 are numbers still, but float32 cannot add up what they are multiplied with.
    for rate in (1e9, 1e30):
        model.set_params(learning_rate=rate)
        with pytest.raises(InvalidInputError, match="finite weights below 1,000,000, got"):
            model.fit(X, Y)
        assert np.array_equal(model.predict(X), before)


def test_rows_that_count_are_learned_from_even_if_all_were_to_be_held_out():
    weights = np.zeros(300)
    weights[:2] = 1
    fits = {**QUICK, "validation_fraction": 0.5}
    for seed in range(6):
        model = SASANetRegressor(TINY, **{**fits, "random_state": seed}).fit(X, Y, weights)
        assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("kind", [SASANetClassifier, SASANetRegressor])
def test_columns_without_values_and_rows_without_weight_do_not_stop_the_teacher(kind):
    table = X.assign(empty=np.nan, one=np.where(np.arange(300) == 7, 1.0, np.nan))
    y = Y > 0 if kind is SASANetClassifier else Y
    weights = (np.arange(300) % 5 == 0).astype(float)
    model = kind(TINY, random_state=0, max_epochs=1).fit(table, y, sample_weight=weights)
    assert np.isfinite(model.explain(table).values).all()


def test_a_number_never_present_in_training_adds_nothing():
    table = X.assign(empty=np.nan)
    model = SASANetRegressor(TINY, **QUICK).fit(table, Y)
    asked = X.assign(empty=5.0)
    assert (model.explain(asked).values[:, 3] == 0).all()
    assert np.array_equal(model.predict(asked), model.predict(table))


@pytest.mark.parametrize("seed", range(4))
def test_words_that_only_held_out_rows_have_make_a_category(seed):
    cells = np.array([1.0, 2.0, 0.5, 3.0] * 5 + ["x"], dtype=object)
    order = np.random.RandomState(seed).permutation(len(cells))
    X = pd.DataFrame({"a": cells[order], "b": np.arange(float(len(cells)))})
    settings = {"random_state": 0, "max_epochs": 1, "teacher_weight": 0}
    model = SASANetRegressor(validation_fraction=0.5, **settings).fit(X, np.arange(len(cells)))
    assert [column.kind for column in model.encoder_.columns] == ["category", "number"]
