"""Orders, prefixes and coalitions: what they are, and how often each is drawn."""

from __future__ import annotations

import math

import pytest
import torch

from sasanet.network.coalitions import (
    add_up,
    by_feature,
    position_weights,
    positions,
    random_coalitions,
    random_orders,
    random_prefixes,
    read_profiles,
    reverse_orders,
)

N = 5


@pytest.fixture
def present(seeded):
    """Return every kind of row: complete, empty, one feature, and random ones."""
    mask = torch.rand(60, N, generator=seeded(3)) < 0.6
    mask[0], mask[1], mask[2] = True, False, False
    mask[2, 3] = True
    return mask


# --- orders ----------------------------------------------------------------------------------


def check_orders(orders, present):
    """Every row is a permutation, and no absent feature stands before a present one."""
    n_features = present.shape[1]
    assert (orders.sort(1).values == torch.arange(n_features)).all()
    along = torch.gather(present, 1, orders)
    place = torch.arange(n_features)
    assert (along == (place < present.sum(1, keepdim=True))).all()


def check_uniform(counts, total, tolerance=5.0):
    """Every cell of a table of counts is its equal share, within so many standard errors."""
    share = 1 / counts.numel()
    error = math.sqrt(total * share * (1 - share))
    assert (counts - total * share).abs().max() < tolerance * error


def test_random_orders_are_permutations_with_absent_features_last(present, seeded):
    check_orders(random_orders(present, seeded()), present)


@pytest.mark.parametrize(
    "breakage",
    [
        lambda orders: orders.flip(1),  # absent features first
        lambda orders: orders.clamp_max(N - 2),  # a feature twice
        lambda orders: torch.arange(N).expand_as(orders),  # as the columns stand
    ],
)
def test_orders_that_are_not_such_permutations_are_noticed(present, seeded, breakage):
    with pytest.raises(AssertionError):
        check_orders(breakage(random_orders(present, seeded())), present)


def count_orders(orders):
    """Count how often each of the 3! orders of features 0, 2 and 4 was drawn."""
    code = orders[:, 0] * 100 + orders[:, 1] * 10 + orders[:, 2]
    return torch.unique(code, return_counts=True)[1]


def test_all_orders_of_the_present_features_are_equally_likely(seeded):
    present = torch.tensor([True, False, True, False, True]).expand(6000, N)
    counts = count_orders(random_orders(present, seeded()))
    assert len(counts) == 6
    check_uniform(counts, 6000)


def test_orders_that_favour_a_feature_are_noticed(seeded):
    present = torch.tensor([True, False, True, False, True]).expand(6000, N)
    orders = random_orders(present, seeded())
    favoured = torch.arange(6000)[:, None] % 10 == 0
    mostly = torch.where(favoured, torch.tensor([0, 2, 4, 1, 3]), orders)
    assert len(count_orders(mostly)) == 6
    with pytest.raises(AssertionError):
        check_uniform(count_orders(mostly), 6000)


def test_each_feature_is_at_each_position_equally_often(seeded):
    orders = random_orders(torch.ones(5000, N, dtype=torch.bool), seeded(1))
    place = positions(orders)
    for feature in range(N):
        check_uniform(torch.bincount(place[:, feature], minlength=N), 5000)


def test_one_seed_gives_one_draw(present, seeded):
    assert torch.equal(random_orders(present, seeded(7)), random_orders(present, seeded(7)))
    assert not torch.equal(random_orders(present, seeded(7)), random_orders(present, seeded(8)))


def check_mirrored(reverse, orders, sizes):
    for back, forth, size in zip(reverse.tolist(), orders.tolist(), sizes.tolist(), strict=True):
        assert back[:size] == forth[:size][::-1]
        assert back[size:] == forth[size:]


def test_reversing_turns_only_the_present_part_around(present, seeded):
    orders, sizes = random_orders(present, seeded()), present.sum(1)
    reverse = reverse_orders(orders, sizes)
    check_mirrored(reverse, orders, sizes)
    check_orders(reverse, present)
    assert torch.equal(reverse_orders(reverse, sizes), orders)


def test_reversing_the_absent_part_too_is_noticed(present, seeded):
    orders, sizes = random_orders(present, seeded()), present.sum(1)
    with pytest.raises(AssertionError):
        check_mirrored(orders.flip(1), orders, sizes)


def test_an_order_and_its_reverse_show_every_pair_both_ways_round(seeded):
    orders = random_orders(torch.ones(20, N, dtype=torch.bool), seeded())
    forth, back = positions(orders), positions(reverse_orders(orders, torch.full((20,), N)))
    for a in range(N):
        for b in range(a):
            assert ((forth[:, a] < forth[:, b]) == (back[:, a] > back[:, b])).all()


def test_positions_are_the_inverse_permutation():
    orders = torch.tensor([[2, 0, 1], [0, 1, 2], [1, 2, 0]])
    assert positions(orders).tolist() == [[1, 2, 0], [0, 1, 2], [2, 0, 1]]


def test_positions_invert_random_orders(present, seeded):
    orders = random_orders(present, seeded())
    identity = torch.arange(N).expand_as(orders)
    assert torch.equal(torch.gather(positions(orders), 1, orders), identity)
    assert torch.equal(torch.gather(orders, 1, positions(orders)), identity)


def test_numbers_along_an_order_come_back_to_their_features():
    along = torch.tensor([[[10.0, 1.0], [20.0, 2.0], [30.0, 3.0]]])
    found = by_feature(along, torch.tensor([[2, 0, 1]]))
    assert found.tolist() == [[[20.0, 2.0], [30.0, 3.0], [10.0, 1.0]]]


def test_by_feature_undoes_gathering_along_an_order(present, seeded):
    orders = random_orders(present, seeded())
    numbers = torch.randn(*orders.shape, 3, generator=seeded(1))
    along = torch.gather(numbers, 1, orders[..., None].expand_as(numbers))
    assert torch.equal(by_feature(along, orders), numbers)
    assert not torch.equal(by_feature(along, orders), along)


# --- coalitions ------------------------------------------------------------------------------


def check_inside(kept, present):
    assert kept.dtype == torch.bool
    assert not (kept & ~present).any()


def test_random_coalitions_keep_only_present_features(present, seeded):
    check_inside(random_coalitions(present, seeded()), present)


def test_keeping_an_absent_feature_is_noticed(present, seeded):
    with pytest.raises(AssertionError):
        check_inside(random_coalitions(present.roll(1, 0), seeded()), present)


@pytest.mark.parametrize("size", [1, 3, N])
def test_every_coalition_size_is_equally_likely(seeded, size):
    present = (torch.arange(N) < size).expand(6000, N)
    sizes = random_coalitions(present, seeded(2)).sum(1)
    check_uniform(torch.bincount(sizes, minlength=size + 1), 6000)


def test_coalitions_by_the_toss_of_a_coin_are_noticed(seeded):
    sizes = (torch.rand(6000, N, generator=seeded(2)) < 0.5).sum(1)
    with pytest.raises(AssertionError):
        check_uniform(torch.bincount(sizes, minlength=N + 1), 6000)


def test_features_are_kept_equally_often(seeded):
    kept = random_coalitions(torch.ones(6000, N, dtype=torch.bool), seeded(5)).float().mean(0)
    assert (kept - 0.5).abs().max() < 5 * math.sqrt(0.25 / 6000)


# --- prefixes --------------------------------------------------------------------------------


def check_prefixes(kept, present, orders):
    """Kept features are a prefix of the order, of present features, and never none of some."""
    check_inside(kept, present)
    along = torch.gather(kept, 1, orders).int()
    assert (along.diff(dim=1) <= 0).all()
    assert (kept.any(1) == present.any(1)).all()


def test_random_prefixes_are_prefixes_and_never_empty(present, seeded):
    orders = random_orders(present, seeded())
    for seed in range(20):
        check_prefixes(random_prefixes(present, orders, seeded(seed)), present, orders)


@pytest.mark.parametrize(
    "breakage",
    [
        lambda kept, orders: kept & (orders[:, :1] != torch.arange(N)),  # the first is missing
        lambda kept, orders: torch.zeros_like(kept),  # noqa: ARG005 - nothing at all
        lambda kept, orders: torch.ones_like(kept),  # noqa: ARG005 - absent features too
    ],
)
def test_coalitions_that_are_no_prefixes_are_noticed(present, seeded, breakage):
    orders = random_orders(present, seeded())
    kept = breakage(random_prefixes(present, orders, seeded()), orders)
    with pytest.raises(AssertionError):
        check_prefixes(kept, present, orders)


def check_prefix_lengths(lengths, size):
    """Half of the draws are complete; the other half is uniform from 1 to complete."""
    shares = torch.bincount(lengths, minlength=size + 1)[1:] / len(lengths)
    expected = torch.full((size,), 0.5 / size)
    expected[-1] += 0.5
    error = (expected * (1 - expected) / len(lengths)).sqrt()
    assert ((shares - expected).abs() < 5 * error + 1e-9).all()


@pytest.mark.parametrize("size", [1, 2, N])
def test_prefixes_are_complete_half_of_the_time_and_else_uniform(seeded, size):
    present = (torch.arange(N) < size).expand(8000, N)
    orders = random_orders(present, seeded())
    check_prefix_lengths(random_prefixes(present, orders, seeded(1)).sum(1), size)


def test_prefixes_that_are_always_or_seldom_complete_are_noticed(seeded):
    with pytest.raises(AssertionError):
        check_prefix_lengths(torch.full((8000,), N), N)
    with pytest.raises(AssertionError):
        check_prefix_lengths(torch.randint(1, N + 1, (8000,), generator=seeded()), N)


# --- position weights ------------------------------------------------------------------------


def check_weights(weights, sizes):
    """Positions inside the coalition share weight 1 between points, positions beyond have 0."""
    inside = torch.arange(weights.shape[1]) < sizes[:, None]
    torch.testing.assert_close(weights.sum(2), inside.float())
    assert (weights >= 0).all()
    assert ((weights > 0).sum(2) <= 2).all()  # between two neighbouring points


@pytest.mark.parametrize("points", [1, 2, 3, N, 8])
def test_each_position_weighs_one_and_those_beyond_the_coalition_zero(points):
    sizes = torch.arange(N + 1)
    weights = position_weights(sizes, N, points)
    assert weights.shape == (N + 1, N, points)
    check_weights(weights, sizes)


@pytest.mark.parametrize(
    "breakage",
    [
        lambda weights: weights.roll(1, 0),  # another coalition size
        lambda weights: weights * 1.01,
        lambda weights: torch.full_like(weights, 1 / weights.shape[2]),
    ],
)
def test_weights_that_do_not_share_one_are_noticed(breakage):
    sizes = torch.arange(N + 1)
    with pytest.raises(AssertionError):
        check_weights(breakage(position_weights(sizes, N, 3)), sizes)


def test_a_complete_row_with_a_point_per_feature_has_the_papers_positions():
    weights = position_weights(torch.tensor([N]), N, N)
    torch.testing.assert_close(weights[0], torch.eye(N))
    with pytest.raises(AssertionError):
        torch.testing.assert_close(position_weights(torch.tensor([N - 1]), N, N)[0], torch.eye(N))


@pytest.mark.parametrize("points", [1, 2, 8])
def test_a_coalition_of_one_reads_the_first_point_only(points):
    expected = torch.zeros(N, points)
    expected[0, 0] = 1
    assert torch.equal(position_weights(torch.tensor([1]), N, points)[0], expected)


@pytest.mark.parametrize("size", [2, 3, N])
@pytest.mark.parametrize("points", [2, 3, 8])
def test_the_first_and_the_last_position_read_the_ends_of_the_profile(size, points):
    weights = position_weights(torch.tensor([size]), N, points)[0]
    assert weights[0].tolist() == [1.0] + [0.0] * (points - 1)
    assert weights[size - 1].tolist() == [0.0] * (points - 1) + [1.0]


def test_positions_in_between_are_interpolated():
    weights = position_weights(torch.tensor([3, 4]), 4, 2)
    torch.testing.assert_close(weights[0, 1], torch.tensor([0.5, 0.5]))
    torch.testing.assert_close(weights[1, 1], torch.tensor([2 / 3, 1 / 3]))


@pytest.mark.parametrize("size", [2, 4, N])
@pytest.mark.parametrize("points", [1, 2, 3, 8])
def test_the_mean_over_positions_of_a_straight_profile_is_its_middle(size, points):
    mean = position_weights(torch.tensor([size]), N, points)[0].sum(0) / size
    torch.testing.assert_close(mean.sum(), torch.tensor(1.0))
    torch.testing.assert_close(mean, mean.flip(0))  # early and late count alike
    profile = 3.0 + 2.0 * torch.linspace(0, 1, points) if points > 1 else torch.tensor([4.0])
    torch.testing.assert_close(mean @ profile, torch.tensor(4.0))


# --- adding up -------------------------------------------------------------------------------


def check_adds_up(attributions, total, present):
    """Attributions sum to the total, and absent features have exactly none."""
    torch.testing.assert_close(attributions.sum(1), total, rtol=0, atol=1e-10)
    assert (attributions[~present] == 0).all()


@pytest.fixture
def game(present, seeded):
    """Return attributions that do not add up, totals (0 of nothing), and what is present."""
    attributions = torch.randn(*present.shape, 2, generator=seeded(1), dtype=torch.float64)
    total = torch.randn(len(present), 2, generator=seeded(2), dtype=torch.float64)
    return attributions, total * present.any(1, keepdim=True), present


def test_shifted_attributions_add_up_with_exact_zeros_where_absent(game):
    attributions, total, present = game
    check_adds_up(add_up(attributions, total, present), total, present)


def test_attributions_as_they_were_are_noticed(game):
    attributions, total, present = game
    with pytest.raises(AssertionError):
        check_adds_up(attributions, total, present)
    with pytest.raises(AssertionError):  # the sum is right but absent features take part
        check_adds_up(add_up(attributions, total, torch.ones_like(present)), total, present)


def test_present_features_are_shifted_equally(game):
    attributions, total, present = game
    shift = add_up(attributions, total, present) - attributions
    for row, mask in zip(shift, present, strict=True):
        moved = row[mask]
        torch.testing.assert_close(moved, moved[:1].expand_as(moved))


def test_attributions_that_add_up_stay(game):
    attributions, total, present = game
    once = add_up(attributions, total, present)
    torch.testing.assert_close(add_up(once, total, present), once)


def test_a_row_with_nothing_present_has_no_attributions():
    nothing = torch.zeros(1, N, dtype=torch.bool)
    found = add_up(torch.randn(1, N, 2), torch.zeros(1, 2), nothing)
    assert torch.equal(found, torch.zeros(1, N, 2))


def test_a_profile_is_read_at_each_features_place_and_mixed_between_points():
    profiles = torch.tensor([[[[0.0], [10.0]], [[1.0], [3.0]], [[5.0], [7.0]]]])  # [1, 3, 2, 1]
    place = torch.tensor([[2, 1, 0]])
    found = read_profiles(profiles, place, torch.tensor([3]))
    assert found[0, :, 0].tolist() == [10.0, 2.0, 5.0]
    alone = read_profiles(profiles, torch.tensor([[0, 1, 2]]), torch.tensor([1]))
    assert alone[0, :, 0].tolist() == [0.0, 0.0, 0.0]  # one feature is first; the others are out
