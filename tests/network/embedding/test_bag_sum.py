"""Weighted sums of table rows: as torch's own, forwards and backwards, on every path."""

import pytest
import torch
from torch.nn import functional as F

from sasanet.network.embedding import bag_sum


def look_ups(n_rows=7, sizes=(3, 0, 4, 1), width=5, dtype=torch.double):
    generator = torch.Generator().manual_seed(0)
    n_entries = sum(sizes)
    table = torch.randn(n_rows, width, dtype=dtype, generator=generator).requires_grad_()
    places = torch.randint(n_rows, (n_entries,), generator=generator)
    weights = torch.rand(n_entries, dtype=dtype, generator=generator)
    return table, places, weights, torch.tensor(sizes)


def by_hand(table, places, weights, sizes):
    rows = (weights[:, None] * table[places]).split(sizes.tolist())
    return torch.stack([part.sum(0) for part in rows])


@pytest.mark.parametrize("sizes", [(3, 0, 4, 1), (1,), (0, 0), (0, 5)])
def test_sums_are_those_of_the_rows(sizes):
    given = look_ups(sizes=sizes)
    torch.testing.assert_close(bag_sum.bag_sums(*given), by_hand(*given))


@pytest.mark.parametrize("sizes", [(3, 0, 4, 1), (2, 9), (0, 0)])
def test_the_gradient_is_that_of_the_sums(sizes):
    assert torch.autograd.gradcheck(bag_sum.bag_sums, look_ups(sizes=sizes))


def test_no_bags_have_no_sums():
    table, places, weights, _ = look_ups(sizes=(0,))
    none = bag_sum.bag_sums(table, places, weights, torch.zeros(0, dtype=torch.long))
    assert none.shape == (0, 5)
    none.sum().backward()
    assert not table.grad.any()


def test_a_gradient_that_mixes_up_the_bags_would_be_seen(monkeypatch):
    monkeypatch.setattr(bag_sum, "_sorting", lambda places, _: torch.arange(len(places)))
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        torch.autograd.gradcheck(bag_sum.bag_sums, look_ups())


def gradient(given, sums):
    sums(*given).square().sum().backward()
    return given[0].grad


def test_tables_too_long_for_the_radix_sort_have_the_same_gradient(monkeypatch):
    expected = gradient(look_ups(), bag_sum.bag_sums)
    monkeypatch.setattr(bag_sum, "_RADIX", 3)
    assert torch.equal(gradient(look_ups(), bag_sum.bag_sums), expected)


def test_places_use_all_sixteen_bits():
    given = look_ups(n_rows=bag_sum._RADIX, sizes=(40,) * 50, width=1)
    own = gradient(given, bag_sum.bag_sums)
    given[0].grad = None
    starts = F.pad(given[3].cumsum(0)[:-1], (1, 0))

    def torchs(table, places, weights, _):
        return F.embedding_bag(places, table, starts, mode="sum", per_sample_weights=weights)

    torch.testing.assert_close(own, gradient(given, torchs))
