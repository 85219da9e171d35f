"""A refined row does not depend on the rows beside it."""

import numpy as np
import pandas as pd
import pytest
import torch

from sasanet import Architecture, SASANetClassifier
from sasanet.network.refinement import run

RANDOM = np.random.default_rng(0)
X = pd.DataFrame(RANDOM.normal(size=(120, 14))).mask(RANDOM.random((120, 14)) < 0.1)
EFFORTS = {
    "orders": {"n_orders": 8},
    "many orders": {"n_orders": 90},
    "error": {"max_error": 0.004},
}
CLOSE = 1e-6  # rounding in 32 bits; another draw changes values by some 1e-2


@pytest.fixture(scope="module")
def model():
    small = Architecture(width=8, marginal_layers=(8,), n_knots=8)
    y = (X[0].fillna(0) * X[1].fillna(1) > 0).astype(int)
    fits = {"max_epochs": 30, "teacher_weight": 0, "random_state": 0}
    return SASANetClassifier(small, **fits).fit(X, y)


def differences(model, effort):
    """Return how far rows alone, and in another order, are from rows together."""
    together = model.explain(X[:40], **effort)
    alone = np.vstack([model.explain(X[i : i + 1], **effort).values for i in range(12)])
    turned = model.explain(X[:40][::-1], **effort).values[::-1]
    return [np.abs(alone - together.values[:12]).max(), np.abs(turned - together.values).max()]


@pytest.mark.parametrize("effort", EFFORTS.values(), ids=EFFORTS)
def test_a_refined_row_is_the_same_alone_and_among_others(model, effort):
    assert max(differences(model, effort)) < CLOSE


def test_draws_that_belong_to_a_place_in_the_table_are_noticed(model, monkeypatch):
    monkeypatch.setattr(run, "_row_seeds", lambda cells, _: torch.arange(len(cells)))
    assert min(differences(model, EFFORTS["orders"])) > 10 * CLOSE


def test_rows_that_differ_have_draws_of_their_own():
    cells = torch.tensor([[1.0, 2.0], [1.0, 2.5], [1.0, torch.nan], [1.0, 2.0]])
    seeds = run._row_seeds(cells, torch.Generator().manual_seed(0)).tolist()
    assert len(set(seeds)) == 3
    assert seeds[0] == seeds[3]
    others = run._row_seeds(cells, torch.Generator().manual_seed(1)).tolist()
    assert set(seeds).isdisjoint(others)
