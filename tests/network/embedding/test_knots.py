"""The table of knots: sums by blocks are running sums, and its gradient is that of its formula."""

from dataclasses import replace

import pytest
import torch
from torch.nn import functional as F

from sasanet.network.embedding import knots

LENGTHS = {
    "none": [],
    "one place": [1],
    "short": [2, 1, 3],
    "one block": [16],
    "uneven": [129, 1, 17, 16, 48],
}


@pytest.fixture(params=LENGTHS)
def lengths(request):
    return LENGTHS[request.param]


def make_steps(lengths, width=5):
    """Return random steps in blocks, and the same column by column."""
    blocks = knots.split_into_blocks(lengths)
    block = blocks.lines.shape[1]
    alone = [torch.randn(n, width, dtype=torch.double) for n in lengths]
    padded = [F.pad(steps, (0, 0, 0, -len(steps) % block)) for steps in alone]
    empty = torch.zeros(0, width, dtype=torch.double)
    return torch.cat([empty, *padded]).unflatten(0, (-1, block)), alone, blocks


def column_by_column(sums, blocks, lengths):
    """Return the places of each column, without those that only fill its last block."""
    return [sums[blocks.columns == column].flatten(0, 1)[:n] for column, n in enumerate(lengths)]


def check_sums(lengths):
    steps, alone, blocks = make_steps(lengths)
    forwards = knots.running_sums(steps, blocks)
    backwards = knots.running_sums(steps, blocks, backwards=True)
    for found, own in zip(column_by_column(forwards, blocks, lengths), alone, strict=True):
        torch.testing.assert_close(found, own.cumsum(0))
    for found, own in zip(column_by_column(backwards, blocks, lengths), alone, strict=True):
        torch.testing.assert_close(found, own.flip(0).cumsum(0).flip(0))


def test_sums_by_blocks_are_running_sums_of_each_column(lengths):
    check_sums(lengths)


def test_sums_that_run_on_into_the_next_column_would_be_seen(monkeypatch):
    def run_on(totals, _, backwards):
        return totals.flip(0).cumsum(0).flip(0) if backwards else totals.cumsum(0)

    monkeypatch.setattr(knots, "_along_columns", run_on)
    with pytest.raises(AssertionError):
        check_sums(LENGTHS["uneven"])


def test_a_short_column_is_not_padded_to_the_longest():
    assert knots.split_into_blocks([128, 3, 17]).lines.shape == (8 + 1 + 2, 16, 1)


def test_sums_leave_the_steps_as_they_are():
    steps, _, blocks = make_steps([32, 7])
    before = steps.clone()
    knots.running_sums(steps, blocks)
    assert torch.equal(steps, before)


def parts(lengths=(18, 3), n_levels=3, width=4):
    """Return all that a table is made of: numbers first, then two categories with all levels."""
    n = len(lengths)
    blocks = knots.split_into_blocks(lengths)
    blocks = replace(blocks, lines=torch.randn(blocks.lines.shape, dtype=torch.double))
    sizes = [(*blocks.lines.shape[:2], width), (n, 1, width), (n_levels, width), (n + 2,)]
    learned = [torch.randn(size, dtype=torch.double, requires_grad=True) for size in sizes]
    return *learned, knots.TableLayout(blocks, blocks.columns, n + torch.arange(n_levels) // 2)


@pytest.mark.parametrize("n_levels", [0, 3])
def test_the_table_is_its_formula(lengths, n_levels):
    steps, slopes, levels, scales, layout = given = parts(lengths, n_levels)
    expected, blocks = [levels.new_zeros(0, 4)], layout.blocks
    for column, slope in enumerate(slopes):
        own = blocks.columns == column
        sums = steps[own].flatten(0, 1).cumsum(0)
        expected.append(scales[column] * (blocks.lines[own].flatten(0, 1) * slope + sums))
    expected.append(scales[layout.of_levels, None] * levels)
    torch.testing.assert_close(knots.make_table(*given), torch.cat(expected))


@pytest.mark.parametrize("sizes", [{}, {"lengths": (3,)}, {"n_levels": 0}, {"lengths": ()}])
def test_the_gradient_is_that_of_the_formula(sizes):
    assert torch.autograd.gradcheck(knots.make_table, parts(**sizes))


def test_a_gradient_summed_the_wrong_way_would_be_seen(monkeypatch):
    right = knots.running_sums
    monkeypatch.setattr(knots, "running_sums", lambda steps, blocks, **_: right(steps, blocks))
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        torch.autograd.gradcheck(knots.make_table, parts())
