"""The whole network: attributions that add up, exact zeros, ablations and shared parts."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from sasanet.network.architecture import ARCHITECTURES
from sasanet.network.coalitions import random_coalitions
from sasanet.network.sasanet import SASANet
from sasanet.table.columns import Columns

NETWORKS = [
    {"marginal": "set", "attribution": "closed_form"},
    {"marginal": "set", "attribution": "context"},
    {"marginal": "set", "attribution": "attention"},
    {"marginal": "set", "attribution": "context", "numbers": "mlp"},
    {"marginal": "sequence", "attribution": "attention"},
    {"marginal": "sequence", "attribution": "attention", "shared_embedding": True},
    {"marginal": "sequence", "attribution": "context", "numbers": "mlp"},
]
NAMES = ["-".join(map(str, fields.values())) for fields in NETWORKS]


@pytest.fixture(params=NETWORKS, ids=NAMES)
def fields(request):
    """Return every combination of modules in turn."""
    return request.param


def still(network):
    return network.requires_grad_(False)


def close(found, expected, atol=1e-5):
    """Single precision rounds relative to the largest number that takes part in a sum."""
    size = max(1.0, expected.abs().max().item())
    torch.testing.assert_close(found, expected, rtol=0, atol=atol * size)


# --- adding up ---------------------------------------------------------------------------------


def check_adds_up(attributions, output, present):
    """Attributions sum to the output, and absent features have exactly none."""
    assert attributions.isfinite().all()
    close(attributions.sum(1), output)
    assert (attributions[~present] == 0).all()


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("positions", [None, 1, 3])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_attributions_add_up_to_the_output(
    make_network, make_cells, mixed, fields, n_outputs, positions, missing
):
    cells = make_cells(mixed, 12, missing)
    present = ~cells.isnan()
    network = still(make_network(mixed, n_outputs, cap=3.0, positions=positions, **fields))
    attributions, output = network.attribute(cells, present)
    assert attributions.shape == (12, 5, n_outputs)
    check_adds_up(attributions, output, present)
    close(output, network.values(cells, present[:, None])[:, 0])


def test_attributions_that_do_not_add_up_are_noticed(make_network, make_cells, mixed, fields):
    cells = make_cells(mixed)
    present = ~cells.isnan()
    network = still(make_network(mixed, 2, **fields))
    attributions, output = network.attribute(cells, present)
    with pytest.raises(AssertionError):
        check_adds_up(1.01 * attributions, output, present)
    with pytest.raises(AssertionError):  # in the sum the mistakes cancel
        check_adds_up(attributions - attributions.mean(1, keepdim=True), 0 * output, present)
    with pytest.raises(AssertionError):
        check_adds_up(attributions, output.roll(1, 0), present)


def test_the_output_of_the_set_network_is_the_value_of_the_row(make_network, make_cells, mixed):
    cells = make_cells(mixed)
    present = ~cells.isnan()
    network = still(make_network(mixed, 2, cap=2.0))
    expected = network.marginal.values(cells, present[:, None])[:, 0]
    close(network.attribute(cells, present)[1], expected)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_every_preset_builds_a_network_that_adds_up(make_cells, mixed, name):
    cells = make_cells(mixed, 4)
    present = ~cells.isnan()
    network = still(SASANet(mixed, 2, ARCHITECTURES[name], 4.0, 0.1).eval())
    attributions, output = network.attribute(cells, present)
    check_adds_up(attributions, output, present)


def test_a_table_of_one_column_is_explained_by_that_column(make_network, make_cells, fields):
    columns = Columns((4,), (True,))
    cells = make_cells(columns, 5, missing=0.0)
    network = still(make_network(columns, 2, positions=None, **fields))
    attributions, output = network.attribute(cells, torch.ones(5, 1, dtype=torch.bool))
    close(attributions[:, 0], output)


@pytest.mark.parametrize(
    "columns", [Columns((5, 3, 4), (True,) * 3), Columns((5, 3, 4), (False,) * 3)]
)
def test_tables_of_one_kind_are_explained(make_network, make_cells, fields, columns):
    cells = make_cells(columns, 8)
    present = ~cells.isnan()
    network = still(make_network(columns, **fields))
    check_adds_up(*network.attribute(cells, present), present)


# --- profiles ----------------------------------------------------------------------------------


def check_profile_means(profiles, attributions, present):
    """The mean of a profile over the coalition's positions is the attribution (Lemma 3.9)."""
    points = profiles.shape[2]
    for profile, expected, mask in zip(profiles, attributions, present, strict=True):
        size, total = int(mask.sum()), torch.zeros_like(expected)
        for place in range(size):
            at = place / max(size - 1, 1) * (points - 1)
            low = min(int(at), max(points - 2, 0))
            high = min(low + 1, points - 1)
            total += profile[:, low] + (at - low) * (profile[:, high] - profile[:, low])
        close(total / max(size, 1), expected)


@pytest.mark.parametrize("positions", [None, 1, 2, 4])
def test_the_mean_of_a_profile_is_the_attribution(
    make_network, make_cells, mixed, fields, positions
):
    cells = make_cells(mixed)
    present = ~cells.isnan()
    network = still(make_network(mixed, 2, positions=positions, **fields))
    profiles, output = network.profiles(cells, present)
    assert profiles.shape == (12, 5, positions or 5, 2)
    assert (profiles[~present] == 0).all()
    attributions, again = network.attribute(cells, present)
    close(output, again)
    check_profile_means(profiles, attributions, present)


def test_another_mean_than_over_positions_is_noticed(make_network, make_cells, mixed, fields):
    cells = make_cells(mixed)
    present = ~cells.isnan()
    network = still(make_network(mixed, 2, positions=4, **fields))
    profiles, _ = network.profiles(cells, present)
    with pytest.raises(AssertionError):
        check_profile_means(profiles, profiles.mean(2), present)


def test_without_positions_the_profile_is_the_attribution(make_network, make_cells, mixed, fields):
    """The ablation SASANet-p."""
    cells = make_cells(mixed)
    present = ~cells.isnan()
    network = still(make_network(mixed, 2, positions=1, **fields))
    assert network.points == 1
    close(network.profiles(cells, present)[0][:, :, 0], network.attribute(cells, present)[0])


def test_vectors_at_hand_are_used_as_they_are(make_network, make_cells, mixed):
    cells = make_cells(mixed)
    present = ~cells.isnan()
    network = still(make_network(mixed, 2))
    vectors = network.marginal.cell_vectors(cells, present)
    close(network.profiles(cells, present, vectors)[0], network.profiles(cells, present)[0])
    with pytest.raises(AssertionError):
        close(network.profiles(cells, present, 2 * vectors)[0], network.profiles(cells, present)[0])


# --- coalitions --------------------------------------------------------------------------------


def check_values_are_outputs(values, network, cells, coalitions):
    """v(S) is the output of the row with everything else taken away (Definition 2.2)."""
    for m in range(coalitions.shape[1]):
        holes = cells.masked_fill(~coalitions[:, m], math.nan)
        close(values[:, m], network.attribute(holes, ~holes.isnan())[1])


def test_the_value_of_a_coalition_is_the_output_without_the_rest(
    make_network, make_cells, mixed, fields, seeded
):
    cells = make_cells(mixed)
    present = ~cells.isnan()
    coalitions = torch.stack([random_coalitions(present, seeded(s)) for s in range(4)], 1)
    network = still(make_network(mixed, 3, cap=2.0, **fields))
    values = network.values(cells, coalitions)
    assert values.shape == (12, 4, 3)
    check_values_are_outputs(values, network, cells, coalitions)
    with pytest.raises(AssertionError):
        check_values_are_outputs(values.roll(1, 0), network, cells, coalitions)
    with pytest.raises(AssertionError):
        check_values_are_outputs(values.roll(1, 1), network, cells, coalitions)


@pytest.mark.parametrize("attribution", ["own", "none"])
def test_the_value_of_nothing_is_exactly_zero(make_network, make_cells, mixed, fields, attribution):
    cells = make_cells(mixed)
    fields = fields if attribution == "own" else fields | {"attribution": "none"}
    network = still(make_network(mixed, 3, cap=2.0, **fields))
    nothing = torch.zeros(12, 2, 5, dtype=torch.bool)
    assert (network.values(cells, nothing) == 0).all()
    assert (network.values(cells, ~nothing & ~cells.isnan()[:, None])[0] != 0).all()


def test_an_empty_row_has_no_attributions(make_network, mixed, fields):
    cells = torch.full((3, 5), math.nan)
    network = still(make_network(mixed, 2, **fields))
    attributions, output = network.attribute(cells, ~cells.isnan())
    assert (attributions == 0).all()
    assert output.abs().max() < 1e-6


def check_ignores_absent(network, cells, present):
    found = network.attribute(cells, present)
    for filling in (0.0, 1.0, 2.0):
        other = torch.where(present, cells, filling)
        for a, b in zip(network.attribute(other, present), found, strict=True):
            close(a, b)


def test_what_is_in_absent_cells_does_not_matter(make_network, make_cells, fields):
    columns = Columns((5, 4, 7, 3, 6), (True, False, True, False, True))
    cells = make_cells(columns)
    network = still(make_network(columns, 2, **fields))
    check_ignores_absent(network, cells, ~cells.isnan())


def test_reading_absent_cells_is_noticed(make_network, make_cells, fields):
    columns = Columns((5, 4, 7, 3, 6), (True, False, True, False, True))
    cells = make_cells(columns)
    network = still(make_network(columns, 2, **fields))
    attribute = network.attribute
    network.attribute = lambda cells, present: attribute(cells, torch.ones_like(present))
    with pytest.raises(AssertionError):
        check_ignores_absent(network, cells, ~cells.isnan())


def test_a_level_never_seen_leaves_the_value_as_it_was(make_network, make_cells, mixed):
    network = still(make_network(mixed, 2, stirred=0.0))
    cells = make_cells(mixed, missing=0.0)
    cells[:, 1] = 0.0
    with_it = torch.ones(12, 1, 5, dtype=torch.bool)
    without = with_it.clone()
    without[..., 1] = False
    close(network.values(cells, with_it), network.values(cells, without), atol=1e-6)
    cells[:, 1] = 1.0
    assert (network.values(cells, with_it) - network.values(cells, without)).abs().min() > 1e-6


# --- names of columns --------------------------------------------------------------------------


def rename_columns(network, order):
    """Move the weights of all columns to their new places (numbers of equal rulers only)."""
    with torch.no_grad():
        for module in network.modules():
            for name in ("slopes", "steps", "scales"):
                if hasattr(module, name):
                    getattr(module, name).copy_(getattr(module, name)[order])
            if hasattr(module, "from_ends"):
                weight = module.from_ends.weight
                weight.copy_(weight.unflatten(1, (len(order), -1))[:, order].flatten(1))
    return network


def check_renamed(network, renamed, cells, order):
    present = ~cells.isnan()
    attributions, output = network.attribute(cells, present)
    moved, same = renamed.attribute(cells[:, order], present[:, order])
    close(same, output)
    close(moved, attributions[:, order])


@pytest.mark.parametrize("marginal", ["set", "sequence"])
@pytest.mark.parametrize("attribution", ["context", "attention"])
def test_columns_in_another_order_have_the_same_attributions(
    make_network, make_cells, marginal, attribution
):
    columns, order = Columns((6,) * 5, (True,) * 5), torch.tensor([3, 0, 4, 1, 2])
    fields = {"marginal": marginal, "attribution": attribution}
    network = still(make_network(columns, 2, **fields))
    twin = still(make_network(columns, 2, **fields))
    cells = make_cells(columns)
    check_renamed(network, rename_columns(twin, order), cells, order)
    with pytest.raises(AssertionError):  # weights left where they were
        check_renamed(network, still(make_network(columns, 2, **fields)), cells, order)


# --- ablations and parts -----------------------------------------------------------------------


@pytest.mark.parametrize("marginal", ["set", "sequence"])
def test_without_a_shapley_module_the_marginal_module_predicts(
    make_network, make_cells, mixed, seeded, marginal
):
    """The ablation SASANet-d; of a sequence, the columns as they stand are the order."""
    cells = make_cells(mixed)
    present = ~cells.isnan()
    kept = random_coalitions(present, seeded(1))
    network = still(make_network(mixed, 2, marginal=marginal, attribution="none"))
    assert network.attribution is None
    values = network.values(cells, kept[:, None])[:, 0]
    for b in range(len(cells)):
        inside = kept[b].nonzero()[:, 0].tolist()
        outside = [i for i in range(5) if i not in inside]
        vectors = network.marginal.cell_vectors(cells[b : b + 1], kept[b : b + 1])
        orders = torch.tensor([inside + outside])
        deltas = network.marginal.contributions(vectors, kept[b : b + 1], orders)
        close(values[b], deltas[0].sum(0))


def test_only_the_set_network_is_a_set_function(make_network, mixed):
    assert make_network(mixed).is_set
    assert not make_network(mixed, marginal="sequence", attribution="attention").is_set


def check_each_once(parameters, modules):
    """Every parameter of the modules is listed, and none twice."""
    wanted = {id(p) for module in modules for p in module.parameters()}
    assert len(parameters) == len(wanted)
    assert {id(p) for p in parameters} == wanted


def test_the_parts_of_a_network_are_listed_once(make_network, mixed, fields):
    network = make_network(mixed, **fields)
    check_each_once(network.parts(("marginal",)), [network.marginal])
    check_each_once(network.parts(("marginal", "attribution")), [network])
    alone = {id(p) for p in network.attribution.parameters()}
    alone -= {id(p) for p in network.marginal.parameters()}  # a shared embedding is the marginal's
    assert sorted(map(id, network.parts(("attribution",)))) == sorted(alone)


def test_a_parameter_listed_twice_or_left_out_is_noticed(make_network, mixed):
    network = make_network(
        mixed, marginal="sequence", attribution="attention", shared_embedding=True
    )
    both = [*network.marginal.parameters(), *network.attribution.parameters()]
    with pytest.raises(AssertionError):
        check_each_once(both, [network])
    with pytest.raises(AssertionError):
        check_each_once(network.parts(("marginal",)), [network])


@pytest.mark.parametrize("shared", [True, False])
def test_a_shared_embedding_is_the_same_parameters(make_network, mixed, shared):
    network = make_network(
        mixed, marginal="sequence", attribution="attention", shared_embedding=shared
    )
    assert (network.attribution.embedding is network.marginal.embedding) == shared
    own, other = network.attribution.parameters(), network.marginal.parameters()
    assert bool({id(p) for p in own} & {id(p) for p in other}) == shared


def test_explaining_never_moves_the_set_module(make_network, make_cells, mixed):
    cells = make_cells(mixed)
    network = make_network(mixed, 2)
    network.attribute(cells, ~cells.isnan())[0].square().sum().backward()
    assert all(p.grad is None for p in network.marginal.parameters())
    assert all(p.grad is not None for p in network.attribution.parameters())


def test_weights_rebuild_the_network(make_network, make_cells, mixed, fields):
    cells = make_cells(mixed)
    present = ~cells.isnan()
    network, other = make_network(mixed, **fields), make_network(mixed, seed=1, **fields)
    expected = still(network).attribute(cells, present)[0]
    assert not torch.allclose(still(other).attribute(cells, present)[0], expected)
    other.load_state_dict(network.state_dict())
    assert torch.equal(other.attribute(cells, present)[0], expected)


# --- the exact Shapley value of this test suite ------------------------------------------------


def test_the_enumeration_splits_a_unanimity_game_among_those_it_needs(
    all_coalitions, exact_shapley
):
    masks = all_coalitions(4)
    game = (masks[:, 0] & masks[:, 2]).float()[None, :, None]
    expected = torch.tensor([0.5, 0.0, 0.5, 0.0], dtype=torch.float64)
    close(exact_shapley(game)[0, :, 0], expected, atol=1e-12)


def test_the_enumeration_is_the_mean_over_all_orders(all_coalitions, exact_shapley, seeded):
    game = torch.randn(16, generator=seeded(3), dtype=torch.float64)
    expected = torch.zeros(4, dtype=torch.float64)
    for order in itertools.permutations(range(4)):
        seen = 0
        for feature in order:
            expected[feature] += (game[seen + 2**feature] - game[seen]) / 24
            seen += 2**feature
    assert all_coalitions(4).sum() == 32
    close(exact_shapley(game[None, :, None])[0, :, 0], expected, atol=1e-12)
