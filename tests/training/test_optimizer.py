"""Clipping and AdamW do what torch's own do, in less time; the learning rate rises and falls."""

import math
import subprocess
import sys
from itertools import pairwise

import pytest
import torch
from torch import nn

from sasanet.training.learning_rate import LearningRate
from sasanet.training.optimizer import AdamW, clip_gradients

# --- clipping ----------------------------------------------------------------------------------


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


# --- the learning rate -------------------------------------------------------------------------


def check_rates(rates, peak, warm_up):
    """The rate rises at first, falls ever after, stays below its peak and ends near zero."""
    assert all(a < b for a, b in pairwise(rates[:warm_up]))
    assert all(a > b for a, b in pairwise(rates[warm_up - 1 :]))
    assert max(rates) <= peak
    assert max(rates) > 0.9 * peak
    assert rates[-1] < 0.01 * peak


def test_the_learning_rate_warms_up_and_goes_down_to_zero():
    rate = LearningRate(peak=0.5, steps=100, warm_up=100, limit=math.inf)
    rates = []
    while not rate.over():
        rates.append(rate.next())
    assert len(rates) == 100
    check_rates(rates, 0.5, warm_up=10)
    with pytest.raises(AssertionError):
        check_rates([0.5] * 100, 0.5, warm_up=10)
    with pytest.raises(AssertionError):
        check_rates(rates[:50], 0.5, warm_up=10)


def test_with_a_time_limit_the_learning_rate_follows_the_time():
    limit = 600.0
    rate = LearningRate(peak=1.0, steps=10**6, warm_up=1, limit=limit)
    assert rate.next() > 0.99
    rates = []
    for _ in range(2):  # half the time passes, and then the rest
        rate.start -= limit / 2
        rates.append(rate.next())
    assert rates == pytest.approx([0.5, 0.0], abs=0.02)
    assert rate.over()


# --- AdamW -------------------------------------------------------------------------------------


def walk(make_step, n_steps=7):
    """Return two parameters after some steps; the second has no gradient in the first of them."""
    generator = torch.Generator().manual_seed(0)
    learned = [nn.Parameter(torch.randn(size, generator=generator)) for size in [(4, 3), (5,)]]
    step = make_step(learned)
    for number in range(n_steps):
        for parameter in learned[: 1 if number == 0 else 2]:
            parameter.grad = torch.randn(parameter.shape, generator=generator)
        step(0.1 / (number + 1))
    return [parameter.detach() for parameter in learned]


def by_torch(learned):
    groups = [{"params": [p], "weight_decay": d} for p, d in zip(learned, (0.3, 0), strict=True)]
    optimizer = torch.optim.AdamW(groups, betas=(0.9, 0.99))

    def step(rate):
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.step()
        optimizer.zero_grad()

    return step


def by_us(learned, decays=(0.3, 0.0)):
    optimizer = AdamW([([p], decay) for p, decay in zip(learned, decays, strict=True)])

    def step(rate):
        optimizer.step(rate)
        optimizer.zero_grad()

    return step


def test_steps_are_those_of_torch():
    torch.testing.assert_close(walk(by_us), walk(by_torch))
    with pytest.raises(AssertionError):  # the twin: decay where torch has none
        torch.testing.assert_close(walk(lambda p: by_us(p, (0.3, 0.3))), walk(by_torch))


BARRED = """
import sys, torch
from sasanet.training.optimizer import AdamW

class Bar:
    def find_spec(self, name, *_):
        if name == "torch._dynamo":
            raise ImportError("the compiler was asked for")

assert "torch._dynamo" not in sys.modules
sys.meta_path.insert(0, Bar())
parameter = torch.nn.Parameter(torch.ones(2))
parameter.grad = torch.ones(2)
AdamW([([parameter], 0.0)]).step(0.1)
print("stepped")
torch.optim.AdamW([parameter]).step()
"""


def test_a_step_does_not_import_the_compiler():
    """A step of torch's own does, which is the twin here, and why we have our own."""
    command = [sys.executable, "-c", BARRED]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["stepped"]
    assert done.stderr.endswith("ImportError: the compiler was asked for\n")
