"""The true Shapley values that attributions are compared with: enumerated, or sampled."""

import copy

import numpy as np
import pytest
import torch

from sasanet.audit import reference
from sasanet.network.sasanet import SASANet
from sasanet.table.columns import Columns


def deviations(model, X, n_orders=2_000):
    """Return sampled minus exact values in units of the stated standard errors."""
    cells, generator = model._encode(X)[1], torch.Generator().manual_seed(0)
    exact = reference.enumerated(model.network_, cells)
    sampled, variance = reference.sampled(
        model.network_, cells, SASANet.value_contributions, n_orders, generator
    )
    return (sampled - exact)[variance > 1e-14] / np.sqrt(variance[variance > 1e-14])


def test_enumeration_and_orders_agree_within_the_stated_noise(penguins):
    model, X, _ = penguins
    assert 0.8 < np.sqrt((deviations(model, X[:40]) ** 2).mean()) < 1.25


def test_the_agreement_check_notices_another_model(penguins, stir, monkeypatch):
    model, X, _ = penguins
    other = stir(copy.deepcopy(model.network_), scale=0.02)
    right = reference.enumerated
    monkeypatch.setattr(reference, "enumerated", lambda _, cells: right(other, cells))
    assert np.sqrt((deviations(model, X[:40]) ** 2).mean()) > 2


@pytest.mark.parametrize("marginal", ["set", "sequence"])
def test_wide_rows_with_few_present_cells_are_exact(
    make_network, make_cells, all_coalitions, exact_shapley, seeded, marginal
):
    columns = Columns((4,) * 14, (True,) * 14)
    kinds = {
        "marginal": marginal,
        "attribution": "attention" if marginal == "sequence" else "context",
    }
    network, cells = make_network(columns, **kinds), make_cells(columns, n_rows=5, missing=0.6)
    found = reference.own_game(network, cells, 40, seeded())
    enumerable = ((~cells.isnan()).sum(1) <= 12).numpy()
    assert enumerable.tolist() == [False, True, True, True, True]
    assert (found.variance[enumerable] == 0).all()
    assert found.variance[0].max() > 0
    assert found.n_orders == 40
    for row in cells[1:]:
        there = ~row.isnan()
        masks = torch.zeros(2 ** int(there.sum()), 14, dtype=torch.bool)
        masks[:, there] = all_coalitions(int(there.sum()))
        with torch.inference_mode():
            values = network.values(row[None], masks[None])
        expected = np.zeros((14, 1))
        if there.any():
            expected[there.numpy()] = exact_shapley(values)[0].numpy()
        one = reference.own_game(network, row[None], 40, seeded())
        np.testing.assert_allclose(one.values[0], expected, atol=1e-6)
        assert one.n_orders == 0
