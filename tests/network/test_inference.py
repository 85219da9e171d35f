"""Outputs in chunks: the same as at once, in float64, adding up, and without gradients."""

from __future__ import annotations

import math

import pytest
import torch

from sasanet.network import inference
from sasanet.network.coalitions import random_coalitions

NETWORKS = [
    {"marginal": "set", "attribution": "closed_form"},
    {"marginal": "set", "attribution": "context"},
    {"marginal": "sequence", "attribution": "attention", "shared_embedding": True},
]
ROWS = 23


@pytest.fixture(params=NETWORKS, ids=["set", "learned", "sequence"])
def network(request, make_network, mixed):
    """Return both networks in turn, with three outputs."""
    return make_network(mixed, 3, cap=4.0, **request.param)


@pytest.fixture
def cells(make_cells, mixed):
    """Return rows complete, empty and in between."""
    return make_cells(mixed, ROWS)


@pytest.fixture
def coalitions(cells, seeded):
    """Return four coalitions per row."""
    everything = torch.ones_like(cells, dtype=torch.bool)
    return torch.stack([random_coalitions(everything, seeded(s)) for s in range(4)], 1)


def close(found, expected, atol=1e-5):
    torch.testing.assert_close(found, expected, rtol=0, atol=atol)


# --- chunks ------------------------------------------------------------------------------------


def check_chunks(function, monkeypatch):
    """However many cells at once, the result is the same up to rounding."""
    expected = function()
    for cells_at_once in (1, 5, 11, 40, 10**9):
        monkeypatch.setattr(inference, "_CELLS_AT_ONCE", cells_at_once)
        found = function()
        assert found.shape == expected.shape
        assert found.dtype == torch.float64
        close(found, expected)


def test_chunks_change_nothing(network, cells, coalitions, monkeypatch):
    check_chunks(lambda: inference.outputs(network, cells), monkeypatch)
    check_chunks(lambda: inference.attributions(network, cells), monkeypatch)
    check_chunks(lambda: inference.coalition_outputs(network, cells, coalitions), monkeypatch)
    check_chunks(lambda: inference.coalition_outputs(network, cells, coalitions[:1]), monkeypatch)


def test_chunks_that_lose_or_mix_up_rows_are_noticed(network, cells, monkeypatch):
    def shifted():  # every chunk is sorted: right in a chunk of one, wrong in larger ones
        found = inference.in_chunks(network, cells, 1, lambda part, _: (part.nan_to_num().flip(0),))
        return found[0].double()

    def lost():
        return inference.outputs(network, cells)[: inference._CELLS_AT_ONCE]

    for broken in (shifted, lost):
        with monkeypatch.context() as patch, pytest.raises(AssertionError):
            check_chunks(broken, patch)


# --- what comes out ----------------------------------------------------------------------------


def test_outputs_are_the_networks_own(network, cells):
    present = ~cells.isnan()
    with torch.no_grad():
        attributions, output = network.attribute(cells, present)
    close(inference.outputs(network, cells), output.double())
    close(inference.attributions(network, cells), attributions.double())


def check_additive(attributions, outputs, present):
    """In float64 the attributions sum to the output, beyond single precision."""
    close(attributions.sum(1), outputs, atol=1e-12)
    assert (attributions[~present] == 0).all()


@pytest.mark.parametrize("cells_at_once", [7, 20_480])
def test_attributions_add_up_in_double_precision(network, cells, monkeypatch, cells_at_once):
    monkeypatch.setattr(inference, "_CELLS_AT_ONCE", cells_at_once)
    outputs = inference.outputs(network, cells)
    attributions = inference.attributions(network, cells)
    check_additive(attributions, outputs, ~cells.isnan())
    with pytest.raises(AssertionError):
        check_additive(attributions * (1 + 1e-7), outputs, ~cells.isnan())
    with pytest.raises(AssertionError):
        check_additive(attributions + 1e-13, outputs, ~cells.isnan())


def test_an_empty_row_is_exactly_the_base_value(network, cells):
    assert cells[1].isnan().all()
    assert (inference.outputs(network, cells)[1] == 0).all()
    assert (inference.attributions(network, cells)[1] == 0).all()


def check_coalitions(found, network, cells, coalitions):
    """v(S) is the output of the row with everything else missing."""
    for m in range(coalitions.shape[1]):
        holes = cells.masked_fill(~coalitions[:, m], math.nan)
        close(found[:, m], inference.outputs(network, holes))


def test_coalitions_are_rows_with_the_rest_missing(network, cells, coalitions):
    found = inference.coalition_outputs(network, cells, coalitions)
    assert found.shape == (ROWS, 4, 3)
    check_coalitions(found, network, cells, coalitions)
    with pytest.raises(AssertionError):
        check_coalitions(found, network, cells, ~coalitions)


def test_one_list_of_coalitions_serves_all_rows(network, cells, coalitions):
    shared = coalitions[5:6]
    found = inference.coalition_outputs(network, cells, shared)
    check_coalitions(found, network, cells, shared.expand(ROWS, -1, -1))


def test_a_coalition_cannot_bring_a_missing_cell_back(network, cells):
    everything = torch.ones(1, 1, 5, dtype=torch.bool)
    found = inference.coalition_outputs(network, cells, everything)[:, 0]
    close(found, inference.outputs(network, cells))


def test_nothing_is_left_for_gradients_and_the_network_stays(network, cells):
    before = {name: value.clone() for name, value in network.state_dict().items()}
    for found in (inference.outputs(network, cells), inference.attributions(network, cells)):
        assert not found.requires_grad
    assert all(torch.equal(before[name], value) for name, value in network.state_dict().items())


def test_a_network_without_a_shapley_module_still_predicts(make_network, make_cells, mixed):
    network = make_network(mixed, 2, marginal="sequence", attribution="none")
    cells = make_cells(mixed, ROWS)
    with torch.no_grad():
        expected = network.values(cells, ~cells.isnan()[:, None])[:, 0]
    close(inference.outputs(network, cells), expected.double())


def test_no_coalitions_give_empty_outputs(network, cells):
    masks = torch.ones(3, 0, 5, dtype=torch.bool)
    assert inference.coalition_outputs(network, cells[:3], masks).shape == (3, 0, 3)
