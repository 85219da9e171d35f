"""The paper's sequence module: strictly causal along an order, and aware of places."""

from __future__ import annotations

import pytest
import torch

from made_marginals import LONG, along, close, forget_gradients
from sasanet.network.sequence_value import SequenceValue
from sasanet.table.columns import Columns


def changed(cells, orders, places, columns):
    """Return other cells at the given places of each order (half a ruler further)."""
    width = torch.tensor(columns.places)
    other = torch.where(
        torch.tensor(columns.is_number),
        (cells + (width - 1) / 2) % (width - 1),
        (cells + width // 2) % width,
    )
    index = orders[:, places]
    return cells.scatter(1, index, torch.gather(other, 1, index))


def check_causal(marginal, cells, orders):
    """A cell matters for its own Δ and those behind it, and for none before."""
    present = torch.ones_like(orders, dtype=torch.bool)
    before = along(marginal, cells, present, orders)
    for place in range(orders.shape[1]):
        moved = along(marginal, changed(cells, orders, [place], LONG), present, orders) - before
        assert (moved[:, :place].abs() <= 1e-12).all()
        assert (moved[:, place:].abs().amax(2) > 1e-9).all()


def check_first_is_alone(marginal, cells, orders):
    """The first Δ depends on its own cell only."""
    present = torch.ones_like(orders, dtype=torch.bool)
    others = list(range(1, orders.shape[1]))
    moved = along(marginal, changed(cells, orders, others, LONG), present, orders)
    close(moved[:, 0], along(marginal, cells, present, orders)[:, 0])


class Leaky(SequenceValue):
    """A twin that looks ahead: each position is also shown the cell of the next one."""

    def contributions(self, vectors, present, orders):
        index = orders[..., None].expand(-1, -1, vectors.shape[2])
        ahead = torch.gather(vectors, 1, index).roll(-1, 1).sum(2, keepdim=True)
        return super().contributions(vectors, present, orders) + 1e-3 * ahead


class Deaf(SequenceValue):
    """A twin that does not read its own cell."""

    def contributions(self, vectors, present, orders):
        return super().contributions(torch.zeros_like(vectors), present, orders)


class Forgetful(SequenceValue):
    """A twin that does not read what came before: every feature is told it comes first."""

    def contributions(self, vectors, present, orders):
        columns = [
            super(Forgetful, self).contributions(vectors, present, orders.roll(-k, 1))[:, :1]
            for k in range(orders.shape[1])
        ]
        return torch.cat(columns, 1)


def test_the_sequence_module_is_strictly_causal(sequence_marginal, ordered_rows):
    cells, _, orders = ordered_rows(LONG, missing=0.0)
    check_causal(forget_gradients(sequence_marginal(LONG)), cells, orders)


@pytest.mark.parametrize("twin", [Leaky, Deaf, Forgetful])
def test_a_module_that_looks_ahead_or_away_is_noticed(sequence_marginal, ordered_rows, twin):
    cells, _, orders = ordered_rows(LONG, missing=0.0)
    marginal = forget_gradients(sequence_marginal(LONG))
    marginal.__class__ = twin
    with pytest.raises(AssertionError):
        check_causal(marginal, cells, orders)


def test_the_first_contribution_knows_only_its_own_cell(sequence_marginal, ordered_rows):
    cells, _, orders = ordered_rows(LONG, missing=0.0)
    marginal = forget_gradients(sequence_marginal(LONG))
    check_first_is_alone(marginal, cells, orders)
    marginal.__class__ = Leaky
    with pytest.raises(AssertionError):
        check_first_is_alone(marginal, cells, orders)


def test_a_sequence_knows_the_place_in_the_order(sequence_marginal, ordered_rows):
    """Two equal cells in a row add different amounts: there are position embeddings."""
    columns = Columns((4, 4), (True, True))
    marginal = forget_gradients(sequence_marginal(columns))
    with torch.no_grad():  # both columns read alike
        for parameter in (marginal.embedding.slopes, marginal.embedding.steps):
            parameter.copy_(parameter[:1].expand_as(parameter))
        marginal.start.copy_(marginal.embedding(torch.ones(1, 2).double())[:, :1])
    cells, _, orders = ordered_rows(columns, 1, missing=0.0)
    deltas = along(marginal, torch.ones_like(cells), torch.ones_like(orders, dtype=bool), orders)
    assert (deltas[:, 0] - deltas[:, 1]).abs().max() > 1e-6
