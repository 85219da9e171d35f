"""The marginal modules: what a feature adds along an order, and what it may depend on.

What only the paper's sequence module promises is in test_sequence_marginal.py.
"""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from made_marginals import LONG, along, close, forget_gradients, marginal_maker
from sasanet.network import set_value as marginal_module
from sasanet.network.coalitions import by_feature, random_coalitions, random_orders, reverse_orders
from sasanet.network.set_value import SetValue
from sasanet.table.columns import Columns


@pytest.fixture(params=[1, 3], ids=["one member", "three members"])
def set_marginal(request, make_network):
    """Return the maker of set modules."""
    return marginal_maker(make_network, "set", request.param)


@pytest.fixture(params=[("set", 1), ("set", 3), ("sequence", 1)], ids=str)
def marginal_of(request, make_network):
    """Return the makers of all modules in turn."""
    return marginal_maker(make_network, *request.param)


# --- both modules ------------------------------------------------------------------------------


def check_absent_add_nothing(deltas, present, orders, bound):
    absent = ~torch.gather(present, 1, orders)
    assert absent.any()
    assert (deltas[absent].abs() <= bound).all()


def test_absent_features_add_nothing(marginal_of, mixed, ordered_rows):
    cells, present, orders = ordered_rows(mixed)
    marginal = forget_gradients(marginal_of(mixed))
    bound = 1e-12 if isinstance(marginal, SetValue) else 0.0
    check_absent_add_nothing(along(marginal, cells, present, orders), present, orders, bound)


def test_absent_features_that_add_something_are_noticed(marginal_of, mixed, ordered_rows):
    cells, present, orders = ordered_rows(mixed)
    marginal = forget_gradients(marginal_of(mixed))
    deltas = along(marginal, cells, torch.ones_like(present), orders)
    with pytest.raises(AssertionError):
        check_absent_add_nothing(deltas, present, orders, 1e-6)


def test_absent_features_add_nothing_in_single_precision(mixed, ordered_rows, make_network):
    cells, present, orders = ordered_rows(mixed, 40)
    marginal = forget_gradients(make_network(mixed, cap=4.0).marginal)
    vectors = marginal.cell_vectors(cells.float(), present)
    for deltas in marginal.contributions_both_ways(vectors, present, orders):
        check_absent_add_nothing(deltas, present, orders, 1e-6)


def check_ignores_absent(function, cells, present):
    """What is written in absent cells changes nothing."""
    found = function(cells, present)
    for filling in (0.0, 1.0, 2.0):
        other = torch.where(present, cells, filling)
        close(function(other, present), found)


def test_what_is_in_absent_cells_does_not_matter(marginal_of, ordered_rows):
    cells, present, orders = ordered_rows(LONG)
    marginal = forget_gradients(marginal_of(LONG))
    check_ignores_absent(lambda c, p: along(marginal, c, p, orders), cells, present)


def test_reading_absent_cells_is_noticed(marginal_of, ordered_rows):
    cells, present, orders = ordered_rows(LONG)
    marginal = forget_gradients(marginal_of(LONG))
    everything = torch.ones_like(present)
    with pytest.raises(AssertionError):
        check_ignores_absent(lambda c, _: along(marginal, c, everything, orders), cells, present)


def check_both_ways(marginal, both, cells, present, orders):
    """Both ways are what each of the two orders gives on its own, feature by feature."""
    forth, back = both
    reverse = reverse_orders(orders, present.sum(1))
    expected = by_feature(along(marginal, cells, present, reverse), reverse)
    close(forth, along(marginal, cells, present, orders))
    close(by_feature(back, orders), expected)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_both_ways_at_once_are_the_order_and_its_reverse(marginal_of, mixed, ordered_rows, missing):
    cells, present, orders = ordered_rows(mixed, missing=missing)
    marginal = forget_gradients(marginal_of(mixed))
    vectors = marginal.cell_vectors(cells, present)
    both = marginal.contributions_both_ways(vectors, present, orders)
    check_both_ways(marginal, both, cells, present, orders)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_same_way_twice_is_noticed(marginal_of, mixed, ordered_rows, missing):
    cells, present, orders = ordered_rows(mixed, missing=missing)
    marginal = forget_gradients(marginal_of(mixed))
    forth = along(marginal, cells, present, orders)
    with pytest.raises(AssertionError):
        check_both_ways(marginal, (forth, forth), cells, present, orders)


@pytest.mark.parametrize("numbers", ["knots", "mlp"])
def test_rows_do_not_influence_each_other(marginal_of, mixed, ordered_rows, numbers):
    cells, present, orders = ordered_rows(mixed)
    marginal = forget_gradients(marginal_of(mixed, numbers=numbers))
    together = along(marginal, cells, present, orders)
    for row in range(len(cells)):
        one = slice(row, row + 1)
        close(along(marginal, cells[one], present[one], orders[one]), together[one])


# --- the set module ----------------------------------------------------------------------------


def check_running_sums(marginal, value, cells, present, orders):
    """Along any order the running sum of Δ is the value of the features seen so far."""
    sums = along(marginal, cells, present, orders).cumsum(1)
    for step in range(orders.shape[1]):
        seen = torch.zeros_like(present).scatter(1, orders[:, : step + 1], True) & present
        close(sums[:, step], value(cells, seen))


@pytest.mark.parametrize("cap", [math.inf, 2.0])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_running_sums_of_contributions_are_values_of_coalitions(
    set_marginal, mixed, ordered_rows, missing, cap
):
    cells, present, orders = ordered_rows(mixed, missing=missing)
    marginal = forget_gradients(set_marginal(mixed, cap=cap))

    def value(cells, seen):
        return marginal.values(cells, seen[:, None])[:, 0]

    check_running_sums(marginal, value, cells, present, orders)
    check_running_sums(marginal, value, cells, present, reverse_orders(orders, present.sum(1)))


def test_running_sums_that_depend_on_the_order_are_noticed(sequence_marginal, mixed, ordered_rows):
    cells, present, orders = ordered_rows(mixed)
    marginal = forget_gradients(sequence_marginal(mixed))

    def value(cells, seen):  # the value of a coalition by one fixed order of its features
        fixed = torch.argsort((~seen).to(torch.uint8), dim=1, stable=True)
        return along(marginal, cells, seen, fixed).sum(1)

    with pytest.raises(AssertionError):
        check_running_sums(marginal, value, cells, present, orders)


def order_gap(marginal, cells, present, seeded):
    """Return how far the value of a row depends on the order of its features."""
    totals = [
        along(marginal, cells, present, random_orders(present, seeded(seed))).sum(1)
        for seed in range(8)
    ]
    return (torch.stack(totals) - totals[0]).abs().max().item()


def test_the_order_gap_is_zero_for_sets_and_not_for_sequences(
    set_marginal, sequence_marginal, mixed, ordered_rows, seeded
):
    cells, present, _ = ordered_rows(mixed)
    assert order_gap(set_marginal(mixed), cells, present, seeded) < 1e-12
    assert order_gap(sequence_marginal(mixed), cells, present, seeded) > 1e-3


def test_values_are_the_formula(set_marginal, mixed, ordered_rows, seeded):
    cells, present, _ = ordered_rows(mixed)
    kept = random_coalitions(present, seeded(4))
    for cap in (math.inf, 1.5):
        marginal = forget_gradients(set_marginal(mixed, cap=cap))
        expected = []
        for m, bias in enumerate(marginal.bias):
            factors = 1.0 if marginal.factors is None else marginal.factors[m][:, None]
            sums = (factors * marginal.embedding(cells) * kept[..., None]).sum(1)
            raw = marginal.rho(bias + sums) - marginal.rho(bias)
            expected.append(raw if cap == math.inf else cap * torch.tanh(raw / cap))
        found = marginal.values(cells, kept[:, None])[:, 0]
        close(found, torch.stack(expected).mean(0))
        if len(expected) > 1:
            with pytest.raises(AssertionError):
                close(found, expected[0])


@pytest.mark.parametrize("cap", [math.inf, 3.0])
def test_the_value_of_nothing_is_zero(set_marginal, mixed, ordered_rows, cap):
    cells, present, _ = ordered_rows(mixed)
    values = set_marginal(mixed, cap=cap).values(cells, torch.zeros_like(present)[:, None])
    assert values.abs().max() < 1e-12


def check_complement(found, marginal, cells, present, kept):
    expected = marginal.values(cells, torch.stack([present, kept, present & ~kept], 1))
    close(found, expected)


def test_the_complement_costs_no_look_ups_and_is_right(set_marginal, mixed, ordered_rows, seeded):
    cells, present, _ = ordered_rows(mixed)
    kept = random_coalitions(present, seeded(4))
    marginal = forget_gradients(set_marginal(mixed, cap=2.0))
    by_member = marginal.values_with_complement(cells, present, kept)
    assert by_member.shape == (len(cells), 3, len(marginal.bias), 2)
    found = by_member.mean(2)
    check_complement(found, marginal, cells, present, kept)
    with pytest.raises(AssertionError):
        check_complement(found[:, [0, 2, 1]], marginal, cells, present, kept)


def test_other_rows_are_valued_beside_them(set_marginal, mixed, ordered_rows, seeded):
    cells, present, _ = ordered_rows(mixed)
    kept = random_coalitions(present, seeded(4))
    marginal = forget_gradients(set_marginal(mixed, cap=2.0))
    others = cells.flip(0).clone()
    others[0] = math.nan  # of a row without any cell v is 0
    found = marginal.values_with_complement(cells, present, kept, others).mean(2)
    check_complement(found[:, :3], marginal, cells, present, kept)
    close(found[:, 3], marginal.values(others, ~others.isnan()[:, None])[:, 0])
    assert found[0, 3].abs().max() < 1e-12
    with pytest.raises(AssertionError):
        close(found[:, 3], found[:, 0])


def check_ends(ends, value, marginal, cells, present):
    """First is v({i}), last is v(S) − v(S∖i), and the value is v(S), each asked directly."""
    alone = torch.eye(present.shape[1], dtype=torch.bool)[None] & present[:, None]
    close(ends[:, :, 0], marginal.values(cells, alone))
    whole = marginal.values(cells, present[:, None])
    close(value, whole[:, 0])
    close(ends[:, :, 1], whole - marginal.values(cells, present[:, None] & ~alone))


def ends_of(marginal, cells, present):
    ends, value = marginal.ends(cells, present, marginal.cell_vectors(cells, present))
    return ends.mean(3), value.mean(1)


@pytest.mark.parametrize("cap", [math.inf, 2.0])
@pytest.mark.parametrize("kind", ["at knots", "large table", "mlp"])
def test_the_ends_of_a_profile_are_exact(set_marginal, mixed, ordered_rows, monkeypatch, kind, cap):
    cells, present, _ = ordered_rows(mixed)
    if kind == "at knots":
        cells = cells.floor()
    if kind == "large table":
        monkeypatch.setattr(marginal_module, "_SMALL_TABLE", 0)
    fields = {"numbers": "mlp"} if kind == "mlp" else {}
    marginal = forget_gradients(set_marginal(mixed, cap=cap, **fields))
    ends, value = ends_of(marginal, cells, present)
    assert ends.shape == (len(cells), len(mixed), 2, 2)
    assert (ends[~present] == 0).all()
    check_ends(ends, value, marginal, cells, present)
    with pytest.raises(AssertionError):
        check_ends(ends.flip(2), value, marginal, cells, present)


def test_between_knots_the_first_end_is_a_mixture_of_the_knots(set_marginal, numbers, ordered_rows):
    cells, present, _ = ordered_rows(numbers)
    marginal = forget_gradients(set_marginal(numbers, cap=2.0))
    if marginal.factors is not None:
        return  # members value each cell itself
    low = ends_of(marginal, cells.floor(), present)[0][:, :, 0]
    high = ends_of(marginal, cells.ceil(), present)[0][:, :, 0]
    share = (cells - cells.floor()).nan_to_num()[..., None]
    ends, _ = ends_of(marginal, cells, present)
    close(ends[:, :, 0], low * (1 - share) + high * share)
    with pytest.raises(AssertionError):
        close(ends[:, :, 0], low)


def check_bounded(values, cap):
    assert values.abs().max() <= cap


def test_a_cap_bounds_every_value(set_marginal, mixed, ordered_rows, stir):
    cells, present, _ = ordered_rows(mixed)
    capped, free = set_marginal(mixed, cap=1.5), set_marginal(mixed)
    for marginal in (capped, free):
        stir(marginal, seed=1, scale=5.0)
    check_bounded(capped.values(cells, present[:, None]), 1.5)
    with pytest.raises(AssertionError):
        check_bounded(free.values(cells, present[:, None]), 1.5)


def test_a_wide_cap_leaves_small_values_alone(set_marginal, mixed, ordered_rows):
    cells, present, _ = ordered_rows(mixed)
    capped, free = set_marginal(mixed, cap=1e6), set_marginal(mixed)
    close(capped.values(cells, present[:, None]), free.values(cells, present[:, None]))


# --- the exact Shapley value -------------------------------------------------------------------


def check_mean_over_orders(marginal, cells, orders, expected):
    """The mean over orders of Δ, both ways, is the Shapley value."""
    present = torch.ones(len(orders), cells.shape[1], dtype=torch.bool)
    for row, shapley in zip(cells, expected, strict=True):
        many = row.expand(len(orders), -1)
        vectors = marginal.cell_vectors(many, present)
        for deltas in marginal.contributions_both_ways(vectors, present, orders):
            close(by_feature(deltas, orders).double().mean(0), shapley, atol=1e-5)


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("cap", [math.inf, 2.0])
def test_contributions_average_to_exact_shapley_values_over_all_orders(
    make_network, make_cells, all_coalitions, exact_shapley, n_outputs, cap
):
    columns = Columns((5, 4, 1, 3, 6, 4), (True, False, True, False, True, True))
    network = forget_gradients(make_network(columns, n_outputs, cap))
    cells = make_cells(columns, 4, missing=0.0)
    games = network.values(cells, all_coalitions(6).expand(4, -1, -1))
    orders = torch.tensor(list(itertools.permutations(range(6))))
    expected = exact_shapley(games)
    check_mean_over_orders(network.marginal, cells, orders, expected)
    ahead = orders.argsort(1)[:, 0] < orders.argsort(1)[:, 1]
    with pytest.raises(AssertionError):  # features 0 and 1 never change places
        check_mean_over_orders(network.marginal, cells, orders[ahead], expected)
    with pytest.raises(AssertionError):  # the Shapley values of another game
        check_mean_over_orders(network.marginal, cells, orders, expected.roll(1, 0))
