"""Labels and weights that cannot be used are refused by our own error, in one sentence."""

import numpy as np
import pandas as pd
import pytest

from sasanet import Architecture, SASANetClassifier, SASANetRegressor
from sasanet.errors import InvalidInputError

N = 12
X = pd.DataFrame({"a": np.arange(float(N))})
SMALL = Architecture(width=4, marginal_layers=(3,))
GOOD = np.arange(N) % 2
BOTH = {
    "none": None,
    "too few": GOOD[:-1],
    "empty": [],
    "two columns": np.column_stack([GOOD, GOOD]),
    "three dimensions": np.zeros((N, 1, 1)),
    "ragged": [[0]] * (N - 1) + [[0, 1]],
    "a word": "yes",
    "a number": 5,
    "missing": np.where(GOOD == 1, np.nan, 1.0),
    "infinite": np.where(GOOD == 1, np.inf, 1.0),
    "complex": np.array([1j, 2] * (N // 2)),
    "objects without order": [{"a": 1}] * N,
}
WEIGHTS = {
    "negative": GOOD - 0.5,
    "all zero": np.zeros(N),
    "missing": np.full(N, np.nan),
    "infinite": np.full(N, np.inf),
    "too few": np.ones(N - 1),
    "two columns": np.ones((N, 2)),
    "words": ["a"] * N,
    "a word": "heavy",
    "none of them": [None] * N,
    "empty": [],
}


def refusal(kind, y, weights=None):
    model = kind(SMALL, max_epochs=1, teacher_weight=0)
    with pytest.raises(InvalidInputError) as caught:
        model.fit(X, y, sample_weight=weights)
    assert not hasattr(model, "n_features_in_")
    return str(caught.value)


@pytest.mark.parametrize("kind", [SASANetClassifier, SASANetRegressor])
@pytest.mark.parametrize("y", BOTH.values(), ids=BOTH)
def test_bad_labels(kind, y):
    assert "\n" not in refusal(kind, y)


@pytest.mark.parametrize("kind", [SASANetClassifier, SASANetRegressor])
@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
def test_bad_weights(kind, weights):
    assert "\n" not in refusal(kind, GOOD, weights)


@pytest.mark.parametrize("kind", [SASANetClassifier, SASANetRegressor])
def test_good_ones_are_learned(kind):
    model = kind(SMALL, max_epochs=1, teacher_weight=0).fit(X, GOOD, sample_weight=np.ones(N))
    assert model.n_features_in_ == 1


@pytest.mark.parametrize("make", [list, pd.Series, lambda y: np.array(y, dtype=object)])
def test_labels_that_numpy_would_cut_are_refused(make):
    y = ["a\0", "a"] * (N // 2)
    assert np.unique(np.asarray(y)).tolist() == ["a"]  # the twin: both would be one class
    with pytest.raises(InvalidInputError, match="do not end in NUL"):
        SASANetClassifier(SMALL).fit(X, make(y))
    inside = ["a\0b", "b"] * (N // 2)
    model = SASANetClassifier(SMALL, max_epochs=1, teacher_weight=0).fit(X, make(inside))
    assert model.classes_.tolist() == ["a\0b", "b"]
