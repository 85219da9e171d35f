"""The table of knots: sums by blocks are running sums, and its gradient is that of its formula."""

import pytest
import torch

from sasanet import ladders


@pytest.mark.parametrize("n_places", [1, 2, 15, 16, 17, 48, 129])
@pytest.mark.parametrize("n_columns", [0, 1, 3])
def test_sums_by_blocks_are_running_sums(n_columns, n_places):
    steps = torch.randn(n_columns, n_places, 5, dtype=torch.double)
    torch.testing.assert_close(ladders.running_sums(steps), steps.cumsum(1))
    behind = steps.flip(1).cumsum(1).flip(1)
    torch.testing.assert_close(ladders.running_sums(steps, backwards=True), behind)


def test_sums_leave_the_steps_as_they_are():
    steps = torch.randn(2, 32, 3)
    before = steps.clone()
    ladders.running_sums(steps)
    assert torch.equal(steps, before)


def parts(n_places=18, n_columns=2, n_levels=3, width=4):
    sizes = [(n_columns, n_places, width), (n_columns, 1, width), (n_levels, width)]
    sizes += [(n_columns,), (n_levels,)]
    learned = [torch.randn(size, dtype=torch.double, requires_grad=True) for size in sizes]
    return *learned, torch.randn(n_columns, n_places, 1, dtype=torch.double)


@pytest.mark.parametrize("sizes", [{}, {"n_columns": 0, "n_places": 0}, {"n_levels": 0}])
def test_the_table_is_its_formula(sizes):
    steps, slopes, levels, number_scales, level_scales, lines = given = parts(**sizes)
    numbers = number_scales[:, None, None] * (lines * slopes + steps.cumsum(1))
    expected = torch.cat([numbers.flatten(0, 1), level_scales[:, None] * levels])
    torch.testing.assert_close(ladders.make_table(*given), expected)


@pytest.mark.parametrize("sizes", [{}, {"n_places": 3}, {"n_levels": 0}])
def test_the_gradient_is_that_of_the_formula(sizes):
    assert torch.autograd.gradcheck(ladders.make_table, parts(**sizes))


def test_a_gradient_summed_the_wrong_way_would_be_seen(monkeypatch):
    right = ladders.running_sums
    monkeypatch.setattr(ladders, "running_sums", lambda steps, **_: right(steps))
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        torch.autograd.gradcheck(ladders.make_table, parts())
