"""Gradients are shortened as torch would shorten them, and left alone where they are short."""

import pytest
import torch
from torch import nn

from sasanet.training import clip_gradients


def parameters(length):
    """Return parameters whose gradients have this length together, and one without a gradient."""
    generator = torch.Generator().manual_seed(0)
    learned = [nn.Parameter(torch.zeros(size)) for size in [(3, 4), (5,), ()]]
    for parameter in learned:
        parameter.grad = torch.randn(parameter.shape, generator=generator)
    total = nn.utils.get_total_norm([p.grad for p in learned])
    for parameter in learned:
        parameter.grad *= length / total
    return [*learned, nn.Parameter(torch.zeros(2))]


@pytest.mark.parametrize("length", [0.2, 0.999, 1.5, 300.0])
def test_gradients_are_clipped_as_by_torch(length):
    ours, theirs = parameters(length), parameters(length)
    clip_gradients(ours, 1.0)
    nn.utils.clip_grad_norm_(theirs, 1.0)
    for one, other in zip(ours[:3], theirs[:3], strict=True):
        torch.testing.assert_close(one.grad, other.grad)


def test_short_gradients_are_not_touched():
    learned = parameters(0.5)
    before = [p.grad.clone() for p in learned[:3]]
    clip_gradients(learned, 1.0)
    assert all(torch.equal(p.grad, old) for p, old in zip(learned[:3], before, strict=True))
    clip_gradients(learned, 0.25)  # the twin
    assert not torch.equal(learned[0].grad, before[0])
