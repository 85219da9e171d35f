"""What is computed once from the weights is computed again when they change, however they do."""

from __future__ import annotations

import copy
import pickle

import pytest
import torch

from sasanet.network.embedding import memo
from sasanet.network.embedding.memo import Memo
from sasanet.network.inference import attributions, outputs
from sasanet.table.columns import Columns
from sasanet.training.optimizer import AdamW

MANY = Columns((5, 4, 6, 3, 7, 5, 4, 6, 3, 5, 4), (True, False) * 5 + (True,))  # not enumerated
CHANGES = ("step", "load", "in place", "to double and back", "another tensor")


@pytest.fixture(params=[1, 3], ids=["one member", "three members"])
def network(request, make_network):
    return make_network(MANY, 2, cap=3.0, attribution="closed_form", members=request.param)


def explained(network, cells):
    return torch.cat([outputs(network, cells)[:, None], attributions(network, cells)], 1)


def explained_anew(network, cells):
    """Return the same from a network that has kept nothing."""
    return explained(copy.deepcopy(network), cells)


def change(network, how):
    """Change all weights of a network in evaluation mode."""
    others = [torch.nn.Parameter(p.detach() * 1.5 + 0.1) for p in network.parameters()]
    state = dict(zip([name for name, _ in network.named_parameters()], others, strict=True))
    if how == "step":  # torch's fused step does not count as a change of a tensor's version
        network.train()
        for parameter in network.parameters():
            parameter.grad = torch.ones_like(parameter)
        AdamW([(list(network.parameters()), 0.0)]).step(0.5)
        network.eval()
    elif how == "load":
        network.load_state_dict(state, strict=False)
    elif how == "in place":
        with torch.no_grad():
            for parameter, other in zip(network.parameters(), others, strict=True):
                parameter.copy_(other)
    elif how == "another tensor":
        for parameter, other in zip(network.parameters(), others, strict=True):
            parameter.data = other.data
    else:
        network.double()
        network.load_state_dict(state, strict=False)
        network.float()


def check_follows(network, cells, how):
    before = explained(network, cells)
    change(network, how)
    after = explained(network, cells)
    assert (after != before).any()
    assert torch.equal(after, explained_anew(network, cells))


@pytest.mark.parametrize("how", CHANGES)
def test_changed_weights_are_noticed(network, make_cells, how):
    check_follows(network, make_cells(MANY), how)


def test_a_memo_that_notices_nothing_fails(network, make_cells, monkeypatch):
    monkeypatch.setattr(memo, "_mark", lambda _: 0)
    with pytest.raises(AssertionError):
        check_follows(network, make_cells(MANY), "in place")


def test_a_memo_that_outlives_training_fails(network, make_cells, monkeypatch):
    monkeypatch.setattr(memo.RemembersTables, "train", torch.nn.Module.train)
    with pytest.raises(AssertionError):
        check_follows(network, make_cells(MANY), "step")


def test_the_table_is_made_once(network, make_cells, monkeypatch):
    made = []
    table = network.marginal.embedding
    make = table._make_rows
    monkeypatch.setattr(table, "_make_rows", lambda: made.append(1) or make())
    for _ in range(3):
        explained(network, make_cells(MANY))
    assert len(made) == 1


def test_copies_and_pickles_keep_nothing(network, make_cells):
    cells = make_cells(MANY)
    fresh = len(pickle.dumps(network))
    expected = explained(network, cells)
    assert len(pickle.dumps(network)) < fresh + 1000
    for again in (copy.deepcopy(network), pickle.loads(pickle.dumps(network))):
        assert all(kept._kept is None for kept in again.marginal.memos.values())
        assert torch.equal(explained(again, cells), expected)


def test_gradients_and_training_keep_nothing(network, make_cells):
    cells = make_cells(MANY, missing=0)
    network.values(cells, ~cells.isnan()[:, None]).sum().backward()
    assert not network.marginal.memos
    assert all(p.grad is not None for p in network.marginal.parameters())


def test_inference_mode_is_fine(network, make_cells):
    cells = make_cells(MANY)
    with torch.inference_mode():
        inside = explained(network, cells)
        made_inside = explained_anew(network, cells)  # its weights do not count versions
    assert torch.equal(inside, explained(network, cells))
    torch.testing.assert_close(inside, made_inside)


def test_huge_tables_are_not_kept(monkeypatch):
    monkeypatch.setattr(memo, "_MOST_NUMBERS", 5)
    kept = Memo()
    small, large = torch.ones(4), torch.ones(9)
    assert kept.get([large], object) is not kept.get([large], object)
    assert kept.get([small], object) is kept.get([small], object)
