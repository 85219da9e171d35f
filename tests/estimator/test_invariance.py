"""What must not matter does not: the order of columns and rows, and what is in the same batch."""

import numpy as np
import pytest

from sasanet import SASANetClassifier
from sasanet.datasets import load_german_credit
from sasanet.network import inference
from training_rows import briefly

ROUNDING = 2e-5  # float32 sums of twenty vectors in another order, in log-odds


@pytest.fixture(scope="module", params=["set", "sequence"])
def fitted(request):
    X, y = load_german_credit()
    network = briefly(request.param, 20)
    model = SASANetClassifier(network, max_epochs=2, teacher_weight=0, random_state=0)
    return model.fit(X, y), X[:300]


def assert_same(values, expected):
    assert np.abs(values - expected).max() < ROUNDING


def test_columns_may_come_in_any_order(fitted):
    model, X = fitted
    shuffled = X[np.random.RandomState(0).permutation(X.columns)]
    assert_same(model.explain(shuffled).values, model.explain(X).values)


def test_rows_may_come_in_any_order(fitted):
    model, X = fitted
    order = np.random.RandomState(0).permutation(len(X))
    assert_same(model.explain(X.iloc[order]).values, model.explain(X).values[order])


def test_a_row_explained_alone_equals_the_row_in_a_batch(fitted):
    model, X = fitted
    together = model.explain(X[:20]).values
    alone = [model.explain(X[i : i + 1]).values[0] for i in range(20)]
    assert_same(np.array(alone), together)


@pytest.mark.parametrize("cells_at_once", [1, 700, 10**9])
def test_the_size_of_chunks_does_not_matter(fitted, monkeypatch, cells_at_once):
    model, X = fitted
    X = X[:120]  # with one cell at once as many chunks
    expected = model.explain(X).values
    monkeypatch.setattr(inference, "_CELLS_AT_ONCE", cells_at_once)
    assert_same(model.explain(X).values, expected)


def test_the_check_fails_when_something_changes(fitted):
    model, X = fitted
    with pytest.raises(AssertionError):
        assert_same(model.explain(X.assign(months=X["months"] + 6)).values, model.explain(X).values)
