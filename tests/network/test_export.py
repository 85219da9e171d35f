"""The exported arrays value coalitions as the network does."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from sasanet.network.export import export

FORMULA = {"attribution": "closed_form"}
VARIANTS = [
    {"cap": 4.0},
    {"n_outputs": 3},
    {"members": 3},
    {"members": 2, "n_outputs": 3, "cap": 5.0},
    {"activation": "leaky_relu", "marginal_layers": (9, 7)},
]


def pair_of_values(network, exported, cells, seed=1):
    """Return v of one random coalition a row, by torch and by arrays."""
    known = torch.rand(cells.shape, generator=torch.Generator().manual_seed(seed)) < 0.6
    there = known & ~cells.isnan()
    with torch.no_grad():
        expected = network.values(cells, there[:, None])[:, 0].numpy()
    return expected, exported.values(cells.numpy(), known.numpy())


@pytest.mark.parametrize("fields", VARIANTS, ids=str)
def test_arrays_value_coalitions_as_the_network_does(mixed, make_cells, make_network, fields):
    network = make_network(mixed, **FORMULA, **fields)
    expected, found = pair_of_values(network, export(network), make_cells(mixed))
    # Both are float32 sums of a few dozen numbers of size 1: some 1e-6 of rounding.
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert np.ptp(expected) > 0.1


def test_a_changed_member_is_noticed(mixed, make_cells, make_network):
    network = make_network(mixed, **FORMULA, members=3)
    exported = export(network)
    broken = replace(exported, factors=np.ones_like(exported.factors))
    expected, found = pair_of_values(network, broken, make_cells(mixed))
    assert np.abs(found - expected).max() > 0.1


def test_of_nothing_the_value_is_exactly_zero(mixed, make_cells, make_network):
    cells = make_cells(mixed).numpy()
    found = export(make_network(mixed, **FORMULA)).values(cells, np.zeros(cells.shape, dtype=bool))
    assert not found.any()


def test_kept_places_are_numbered_anew(mixed, make_cells, make_network):
    exported = export(make_network(mixed, **FORMULA))
    cells = make_cells(mixed, missing=0.0).numpy()
    whole = [np.arange(len(table)) for table in exported.tables]
    whole[1] = np.array([0, 2])  # of the category's four levels two
    renumbered = cells.copy()
    renumbered[:, 1] = np.searchsorted(whole[1], cells[:, 1])
    chosen = np.isin(cells[:, 1], whole[1])
    every = np.ones(cells.shape, dtype=bool)
    assert 0 < chosen.sum() < len(cells)
    np.testing.assert_array_equal(
        exported.keep(whole).values(renumbered[chosen], every[chosen]),
        exported.values(cells[chosen], every[chosen]),
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"marginal": "sequence", "attribution": "attention"},
        {"numbers": "mlp"},
        {"activation": "gelu"},
    ],
    ids=str,
)
def test_other_networks_have_no_arrays(mixed, make_network, fields):
    assert export(make_network(mixed, **fields)) is None
