"""The Shapley modules: formulas against slow loops, where they start, what they may not see."""

from __future__ import annotations

import math

import pytest
import torch

from sasanet.network.attribution.learned import straight_line

KINDS = ["context", "attention"]


@pytest.fixture
def module(make_network):
    """Return the maker of a Shapley module in double precision."""

    def make(columns, kind, n_outputs=2, **fields):
        network = make_network(columns, n_outputs, attribution=kind, **fields)
        return network.attribution.double().requires_grad_(False)

    return make


@pytest.fixture
def rows(make_cells, seeded):
    """Return the maker of cells, what is present of them, and the ends of their profiles."""

    def make(columns, n_outputs=2):
        cells = make_cells(columns, 12).double()
        present = ~cells.isnan()
        ends = torch.randn(*cells.shape, 2, n_outputs, generator=seeded(5), dtype=torch.float64)
        return cells, present, ends * present[..., None, None]

    return make


def close(found, expected, atol=1e-6):
    torch.testing.assert_close(found, expected, rtol=0, atol=atol)


# --- the straight line -------------------------------------------------------------------------


def check_straight(line, ends):
    """The first point is the first end, the last the last, and all steps between are equal."""
    close(line[:, :, 0], ends[:, :, 0])
    close(line[:, :, -1], ends[:, :, 1])
    steps = line.diff(dim=2)
    close(steps, steps[:, :, :1].expand_as(steps))


@pytest.mark.parametrize("points", [2, 3, 8])
def test_the_straight_line_runs_from_end_to_end(mixed, rows, points):
    _, _, ends = rows(mixed)
    line = straight_line(ends, points)
    assert line.shape == (12, 5, points, 2)
    check_straight(line, ends)


@pytest.mark.parametrize(
    "breakage",
    [
        lambda line: line.flip(2),
        lambda line: line**2,
        lambda line: line.mean(2, keepdim=True).expand_as(line),
    ],
)
def test_another_line_is_noticed(mixed, rows, breakage):
    _, _, ends = rows(mixed)
    with pytest.raises(AssertionError):
        check_straight(breakage(straight_line(ends, 8)), ends)


def test_a_line_of_one_point_is_the_middle(mixed, rows):
    _, _, ends = rows(mixed)
    close(straight_line(ends, 1)[:, :, 0], (ends[:, :, 0] + ends[:, :, 1]) / 2)


# --- formulas ----------------------------------------------------------------------------------


@pytest.mark.parametrize("with_ends", [True, False])
def test_the_context_module_is_the_product_of_cell_and_row(module, mixed, rows, with_ends):
    cells, present, ends = rows(mixed)
    context = module(mixed, "context")
    found = context(cells, present, ends if with_ends else None)
    vectors, row_vectors = context.cell_embedding(cells), context.row_embedding(cells)
    for b in range(len(cells)):
        row = (row_vectors[b] * present[b][:, None]).sum(0)
        if with_ends:
            first, last = ends[b, :, 0], ends[b, :, 1]
            row = row + context.from_ends(torch.stack([first, last, first * last], 1).flatten())
        described = context.context(row).reshape(12, 3, 2)  # width, points, outputs
        for i in range(5):
            expected = torch.einsum("d,drk->rk", vectors[b, i], described)
            if with_ends:
                expected = expected + straight_line(ends[b : b + 1], 3)[0, i]
            close(found[b, i], expected)


def slow_attention(module, cells, present, ends):
    """Return the attention module's profiles by loops over rows, cells and heads."""
    found = []
    vectors = module.embedding(cells)
    for b in range(len(cells)):
        seen = present[b] if present[b].any() else torch.ones_like(present[b])
        sized = vectors[b] + module.size.weight[present[b].sum()]
        query, key, value = module.query_key_value(sized).chunk(3, dim=-1)
        heads = []
        for head in range(module.heads):
            part = slice(4 * head, 4 * head + 4)
            scores = query[:, part] @ key[seen][:, part].T / math.sqrt(4)
            heads.append(scores.softmax(1) @ value[seen][:, part])
        known = torch.zeros(5, 2, 2, dtype=torch.float64) if ends is None else ends[b]
        profile = module.head(torch.cat([sized, *heads, known.flatten(1)], 1)).reshape(5, 3, 2)
        found.append(profile if ends is None else profile + straight_line(ends[b : b + 1], 3)[0])
    return torch.stack(found)


@pytest.mark.parametrize("with_ends", [True, False])
def test_the_attention_module_looks_at_present_features_only(module, mixed, rows, with_ends):
    cells, present, ends = rows(mixed)
    ends = ends if with_ends else None
    attention = module(mixed, "attention")
    close(attention(cells, present, ends), slow_attention(attention, cells, present, ends))
    everything = slow_attention(attention, cells, torch.ones_like(present), ends)
    with pytest.raises(AssertionError):
        close(attention(cells, present, ends), everything)


# --- absent cells ------------------------------------------------------------------------------


def check_ignores_absent(function, cells, present):
    """What is written in absent cells changes no profile of a present feature."""
    found = function(cells, present)[present]
    assert found.isfinite().all()
    for filling in (0.0, 1.0, 2.0):
        close(function(torch.where(present, cells, filling), present)[present], found)


@pytest.mark.parametrize("with_ends", [True, False])
@pytest.mark.parametrize("numbers", ["knots", "mlp"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_in_absent_cells_does_not_matter(module, mixed, rows, kind, numbers, with_ends):
    cells, present, ends = rows(mixed)
    made, ends = module(mixed, kind, numbers=numbers), ends if with_ends else None
    check_ignores_absent(lambda c, p: made(c, p, ends), cells, present)


@pytest.mark.parametrize("kind", KINDS)
def test_reading_absent_cells_is_noticed(module, mixed, rows, kind):
    cells, present, _ = rows(mixed)
    made = module(mixed, kind)
    with pytest.raises(AssertionError):
        check_ignores_absent(lambda c, p: made(c, torch.ones_like(p), None), cells, present)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_cell_in_another_company_has_another_profile(module, mixed, rows, kind):
    cells, present, _ = rows(mixed)
    made = module(mixed, kind)
    alone = torch.zeros_like(present)
    alone[:, 0] = True
    together = made(cells[:1], present[:1], None)[0, 0]
    assert (together - made(cells[:1], alone[:1], None)[0, 0]).abs().max() > 1e-3


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_row_is_no_nan(module, mixed, kind):
    cells = torch.full((2, 5), math.nan, dtype=torch.float64)
    profile = module(mixed, kind)(cells, ~cells.isnan(), None)
    assert profile.shape == (2, 5, 3, 2)
    assert profile.isfinite().all()


# --- the start ---------------------------------------------------------------------------------


def check_starts_straight(module, cells, present, ends):
    close(module(cells, present, ends), straight_line(ends, module.points), atol=1e-12)


def test_the_context_module_starts_from_the_straight_line(module, mixed, rows):
    check_starts_straight(module(mixed, "context", stirred=0.0), *rows(mixed))


def test_a_module_away_from_the_straight_line_is_noticed(module, mixed, rows):
    with pytest.raises(AssertionError):
        check_starts_straight(module(mixed, "context"), *rows(mixed))


def test_the_context_module_starts_without_looking_at_the_row(module, mixed, rows):
    cells, present, _ = rows(mixed)
    fresh = module(mixed, "context", stirred=0.0)
    here = fresh(cells, present, None)
    there = fresh(cells, torch.ones_like(present), None)
    close(here, there, atol=1e-12)
    stirred = module(mixed, "context")
    with pytest.raises(AssertionError):
        close(stirred(cells, present, None), stirred(cells, torch.ones_like(present), None))
