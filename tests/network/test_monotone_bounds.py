"""Monotone by construction: for every coalition of any network within its bounds."""

import math

import pytest
import torch

from sasanet.network.architecture import Architecture
from sasanet.network.monotone import unit_kinds
from sasanet.network.sasanet import SASANet
from sasanet.table.columns import Columns

PLACES, IS_NUMBER = (7, 3, 20, 1, 5, 33), (True, False, True, True, True, True)
DIRECTIONS = (1, 0, -1, 1, 0, 1)
SHAPES = {
    "one layer": {},
    "no layer": {"marginal_layers": ()},
    "three layers": {"marginal_layers": (9, 8, 7)},
    "leaky": {"activation": "leaky_relu"},
    "members": {"members": 3},
    "capped": {"cap": 2.0},
    "two outputs": {"n_outputs": 2},
}


def make(directions=DIRECTIONS, within=True, n_outputs=1, cap=math.inf, seed=0, **fields):
    """Return a network whose every weight is random, brought within its bounds or not."""
    small = {"width": 10, "marginal_layers": (12,)} | fields
    columns = Columns(PLACES, IS_NUMBER, directions=directions)
    generator = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = SASANet(columns, n_outputs, Architecture(**small), cap, 0.0)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += 0.5 * torch.randn(parameter.shape, generator=generator)
    network.double()
    if within:
        network.constrain()
    return network.eval()


def largest_fall(network, seed=0, n_rows=200):
    """Return the largest move in the wrong direction, of all constrained columns and coalitions."""
    generator = torch.Generator().manual_seed(seed)
    n = len(PLACES)
    coalitions = (torch.arange(2**n)[:, None] >> torch.arange(n)) % 2 == 1
    last = torch.tensor(PLACES) - 1.0
    cells = torch.rand(n_rows, n, generator=generator, dtype=torch.float64) * last
    cells[:, 1] = cells[:, 1].round()
    worst = 0.0
    for column, direction in enumerate(DIRECTIONS):
        if direction == 0:
            continue
        with_it = coalitions[coalitions[:, column]].expand(n_rows, -1, -1)
        ends = torch.rand(2, n_rows, generator=generator, dtype=torch.float64).sort(0).values
        ends[:, : n_rows // 2] = ends[:, : n_rows // 2].round()  # the two ends, often
        low, high = cells.clone(), cells.clone()
        low[:, column], high[:, column] = ends * last[column]
        with torch.no_grad():
            gain = network.values(high, with_it) - network.values(low, with_it)
        worst = max(worst, float((-direction * gain).max()))
    return worst


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("seed", range(3))
def test_any_network_within_its_bounds_is_monotone(name, seed):
    assert largest_fall(make(seed=seed, **SHAPES[name])) < 1e-12


@pytest.mark.parametrize("name", SHAPES)
def test_the_search_finds_what_is_wrong_with_a_network_outside_them(name):
    assert largest_fall(make(within=False, **SHAPES[name])) > 0.01


def lower_a_knot(network):
    embedding = network.marginal.embedding
    start = int(embedding.offsets[5]) // embedding.steps.shape[1]
    embedding.steps[start + 1, 3, 5] -= 2  # coordinate 5 is the first monotone one, of kind +1


def let_free_units_read_monotone_ones(network):
    network.marginal.rho[2].weight[0, 5:] = 1.0


def turn_an_output(network):
    network.marginal.rho[-1].weight[0, 6] *= -3


def turn_a_factor(network):
    network.marginal.factors[0, 5] = -1.0


@pytest.mark.parametrize(
    "change", [lower_a_knot, let_free_units_read_monotone_ones, turn_an_output]
)
def test_one_weight_outside_its_bounds_is_found(change):
    network = make()
    with torch.no_grad():
        change(network)
    assert largest_fall(network) > 1e-3
    assert not network.is_within_bounds()


def test_a_negative_factor_of_a_member_is_outside():
    network = make(members=2)
    assert network.is_within_bounds()
    with torch.no_grad():
        turn_a_factor(network)
    assert not network.is_within_bounds()


def test_weights_within_the_bounds_stay_as_they_are():
    network = make(members=2)
    before = [p.clone() for p in network.parameters()]
    network.constrain()
    assert all(torch.equal(a, b) for a, b in zip(before, network.parameters(), strict=True))


def test_constrained_columns_say_that_they_are_present():
    """A constant in free coordinates: presence is information of its own, without a direction."""
    network = make()
    vectors = network.marginal.embedding.rows()
    start, free = int(network.marginal.embedding.offsets[0]), 5
    column = vectors[start : start + PLACES[0], :free]
    assert column.abs().max() > 0.1
    assert torch.allclose(column, column[:1].expand_as(column), atol=1e-6)


@pytest.mark.parametrize("size", [1, 2, 3, 8, 128])
def test_a_layer_has_units_of_all_kinds(size):
    kinds = unit_kinds(size)
    assert len(kinds) == size
    assert set(kinds.tolist()) == set([1.0, 0.0, -1.0][:size])


def test_columns_of_several_cells_may_stand_beside_them():
    """The further cells of a bag come last and have no direction."""
    columns = Columns((*PLACES, 4, 5), (*IS_NUMBER, False, True), (4, 4), directions=DIRECTIONS)
    network = SASANet(columns, 1, Architecture(width=10, marginal_layers=(12,)), math.inf, 0.0)
    assert network.is_within_bounds()
    scales = network.marginal.embedding.of_cells.scales
    with torch.no_grad():
        scales[0], scales[6] = -1.0, -1.0
    network.constrain()
    assert scales[0] == 0
    assert scales[6] == -1
