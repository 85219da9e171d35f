"""One explanation computes v of the rows once and φ once, and its outputs are the predictions."""

from __future__ import annotations

import math
from collections import Counter

import pytest
import torch

from sasanet.network import inference
from sasanet.network.attribution.closed_form import ClosedFormAttribution
from sasanet.network.attribution.learned import AttentionAttribution, ContextAttribution
from sasanet.network.coalitions import mean_over_positions
from sasanet.network.set_value import SetFunction
from sasanet.table.columns import Columns

MANY = Columns((5, 4, 6, 3, 7, 5, 4, 6, 3, 5, 4), (True, False) * 5 + (True,))  # not enumerated
NETWORKS = {
    "formula": {"attribution": "closed_form"},
    "members": {"attribution": "closed_form", "members": 3},
    "context": {"attribution": "context"},
    "attention": {"attribution": "attention"},
    "sequence": {"marginal": "sequence", "attribution": "attention"},
    "shared": {"marginal": "sequence", "attribution": "attention", "shared_embedding": True},
}


@pytest.fixture(params=list(NETWORKS))
def network(request, make_network, mixed):
    return make_network(mixed, 2, cap=3.0, **NETWORKS[request.param])


@pytest.fixture
def counted(monkeypatch):
    """Return how often v of complete rows, φ by a formula, and a Shapley module are computed."""
    counts: Counter[str] = Counter()

    def count(kind, name, what, counts_it=lambda *_: True):
        function = getattr(kind, name)

        def counting(*given):
            counts[what] += bool(counts_it(*given))
            return function(*given)

        monkeypatch.setattr(kind, name, counting)

    # One sum a row and member, [B, 1, M, D]: nothing but complete rows is summed like that.
    count(SetFunction, "value_of_sums", "v", lambda _, sums: sums.dim() == 4 and sums.shape[1] == 1)
    count(ClosedFormAttribution, "attributions", "φ")
    count(ClosedFormAttribution, "forward", "profile")
    count(ContextAttribution, "forward", "φ")
    count(AttentionAttribution, "forward", "φ")
    return counts


def check_once(network, counts):
    """v is computed once, unless it is the sum of φ; φ once a member, and no profile for it."""
    members = network.architecture.members
    assert counts["v"] == (1 if network.is_set else 0)
    assert counts["φ"] == members
    assert counts["profile"] == 0


@pytest.mark.parametrize("columns", ["few", "many"])
def test_an_explanation_computes_everything_once(
    network, make_network, make_cells, counted, columns
):
    if columns == "many":
        fields = {
            "marginal": network.architecture.marginal,
            "members": network.architecture.members,
        }
        attribution, shared = (
            network.architecture.attribution,
            network.architecture.shared_embedding,
        )
        network = make_network(MANY, attribution=attribution, shared_embedding=shared, **fields)
    cells = make_cells(network.columns)
    inference.attributions_and_outputs(network, cells)
    check_once(network, counted)


def test_computing_predictions_or_profiles_beside_it_is_noticed(network, make_cells, counted):
    cells = make_cells(network.columns)
    inference.attributions(network, cells)
    inference.outputs(network, cells)
    with pytest.raises(AssertionError):
        check_once(network, counted)


def test_attributions_by_way_of_profiles_are_noticed(make_network, mixed, make_cells, counted):
    network = make_network(mixed, attribution="closed_form")
    inference.profiles(network, make_cells(mixed))
    with pytest.raises(AssertionError):
        check_once(network, counted)


def check_same_outputs(network, cells, outputs):
    """The outputs are those of ``values``, to the last bit."""
    present = ~cells.isnan()
    with torch.no_grad():
        expected = network.values(cells, present[:, None])[:, 0]
    assert torch.equal(outputs, expected)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_outputs_of_an_explanation_are_the_predictions_bit_by_bit(network, make_cells, missing):
    cells = make_cells(network.columns, n_rows=40, missing=missing)
    with torch.no_grad():
        attributions, outputs = network.attribute(cells, ~cells.isnan())
    check_same_outputs(network, cells, outputs)
    with pytest.raises(AssertionError):  # the twin: another last bit
        check_same_outputs(network, cells, outputs.nextafter(torch.tensor(math.inf)))
    torch.testing.assert_close(attributions.sum(1), outputs, rtol=1e-5, atol=1e-5)


def test_profiles_lead_to_the_same_attributions(network, make_cells):
    """The short way to φ is the long one: the mean of the profiles that add up."""
    cells = make_cells(network.columns)
    present = ~cells.isnan()
    with torch.no_grad():
        profiles, _ = network.profiles(cells, present)
        attributions, _ = network.attribute(cells, present)
    torch.testing.assert_close(
        mean_over_positions(profiles, present), attributions, rtol=0, atol=2e-6
    )
