"""Mean and variance go through the layers right, and so do the gradients on the way back."""

import math
from itertools import pairwise

import pytest
import torch
from torch import nn

from sasanet.network.attribution.moment_propagation import (
    activation_moments,
    expected_value,
    smoothed_gradient,
    value_and_gradient,
)
from sasanet.network.set_value import SetFunction

POINTS, CASES, ROWS, FOLLOWED, WIDTH = 2, 3, 3, 4, 10
ACTIVATIONS = {"relu": nn.ReLU(), "leaky": nn.LeakyReLU(0.1)}


def make_game(activation, hidden, n_outputs, cap):
    """Return a value network in double precision and the moments of a random sum."""
    torch.manual_seed(0)
    sizes = [WIDTH, *hidden, n_outputs]
    layers = []
    for fan_in, fan_out in pairwise(sizes):
        layers += [activation, nn.Linear(fan_in, fan_out).double()]
    rho, bias = nn.Sequential(*layers).requires_grad_(False), torch.randn(WIDTH).double()
    marginal = SetFunction(rho, bias, cap)
    followed = torch.randn(ROWS, FOLLOWED, WIDTH).double()
    presence_variance = torch.tensor([0.2, 0.1]).double()
    mean = torch.randn(POINTS, CASES, ROWS, WIDTH).double()
    extra = torch.rand(POINTS, ROWS, WIDTH).double()
    variance = presence_variance[:, None, None] * followed.square().sum(1) + extra
    mixture = torch.rand(POINTS, CASES).double()
    mixture /= mixture.sum(1, keepdim=True)
    return marginal, mean, variance, followed, presence_variance, mixture


def with_tape(marginal, mean, variance, followed, presence_variance, mixture):
    """Return E[v] by the same formulas, for torch's own gradients; presence_variance [T, B, M]."""

    def mixed(of_cases):
        return torch.einsum("tc,tcbd->tbd", mixture, of_cases)

    mean = mean + marginal.bias
    explained = (presence_variance[..., None] * followed.square()).sum(-2)
    for linear in [layer for layer in marginal.rho if isinstance(layer, nn.Linear)]:
        found = activation_moments(marginal.rho[0], mean, variance[:, None])
        slope = mixed(found.slope)
        left = (mixed(found.second - found.first**2) - slope**2 * explained).clamp_min(0)
        mean = linear(found.first)
        followed = (followed * slope[..., None, :]) @ linear.weight.T
        explained = (presence_variance[..., None] * followed.square()).sum(-2)
        variance = explained + left @ linear.weight.square().T
    raw, variance = mean - marginal.rho(marginal.bias), variance[:, None]
    if not math.isfinite(marginal.cap):
        return raw
    bent = raw / marginal.cap / (1 + math.pi / 2 * variance / marginal.cap**2).sqrt()
    return marginal.cap * torch.tanh(bent)


def largest_difference(game):
    """Return how far the written gradients are from torch's own, relative to the largest."""
    marginal, mean, variance, followed, presence_variance, mixture = game
    values, found = expected_value(*game)
    leaves = (
        torch.zeros(POINTS, 1, ROWS, WIDTH).double(),  # moves all cases of a point
        variance.clone(),
        presence_variance[:, None, None].repeat(1, ROWS, FOLLOWED),
    )
    leaves = [leaf.requires_grad_(True) for leaf in leaves]
    expected = with_tape(marginal, mean + leaves[0], leaves[1], followed, leaves[2], mixture)
    torch.testing.assert_close(values, expected.detach())
    gaps = []
    for k in range(values.shape[-1]):
        of_points = (mixture[..., None] * expected[..., k]).sum()
        grads = torch.autograd.grad(of_points, leaves, retain_graph=True, materialize_grads=True)
        for ours, theirs in zip((found.mean, found.variance, found.presence), grads, strict=True):
            gap = (ours[..., k] - theirs.view_as(ours[..., k])).abs().max()
            gaps.append(gap / theirs.abs().max().clamp_min(1e-9))
    return max(gaps).item()


@pytest.mark.parametrize("hidden", [(), (7,), (7, 6)])
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("cap", [2.0, math.inf])
@pytest.mark.parametrize("activation", list(ACTIVATIONS))
def test_the_written_gradients_are_the_gradients(activation, cap, n_outputs, hidden):
    game = make_game(ACTIVATIONS[activation], hidden, n_outputs, cap)
    assert largest_difference(game) < 1e-9


@pytest.mark.parametrize("forgotten", ["curve", "third", "second_by_mean", "second_by_variance"])
def test_a_forgotten_path_is_noticed(monkeypatch, forgotten):
    from sasanet.network.attribution import moment_propagation

    def forgetful(activation, mean, variance):
        found = activation_moments(activation, mean, variance)
        object.__setattr__(found, forgotten, torch.zeros_like(found.first))
        return found

    monkeypatch.setattr(moment_propagation, "activation_moments", forgetful)
    assert largest_difference(make_game(nn.ReLU(), (7,), 1, 2.0)) > 1e-3


@pytest.mark.parametrize("activation", list(ACTIVATIONS))
def test_moments_are_those_of_a_normal(activation):
    function = ACTIVATIONS[activation]
    mean, variance = torch.tensor([[[-1.0, 0.3, 2.0]]]).double(), torch.tensor([[0.5, 2.0, 1.0]])
    z = torch.linspace(-12, 12, 240_001, dtype=torch.float64)
    density = torch.exp(-z.square() / 2) / math.sqrt(2 * math.pi) * (z[1] - z[0])
    x = (mean[0, 0, :, None] + variance[0].double().sqrt()[:, None] * z).requires_grad_(True)
    value = function(x)
    (slope,) = torch.autograd.grad(value.sum(), x)
    found = activation_moments(function, mean, variance.double())
    for ours, truth in (
        (found.first, value),
        (found.second, value.square()),
        (found.slope, slope),
        (found.second_by_mean, 2 * value * slope),
        (found.second_by_variance, slope.square()),  # a'' is 0 but where a is
    ):
        torch.testing.assert_close(ours[0, 0], (truth * density).sum(1), atol=1e-4, rtol=0)


def test_of_a_sum_that_cannot_vary_the_value_itself_is_expected():
    marginal, mean, variance, followed, _, mixture = make_game(nn.ReLU(), (7,), 1, 2.0)
    nothing = 0 * variance, 0 * followed, torch.zeros(POINTS).double()
    values, _ = expected_value(marginal, mean, *nothing, mixture)
    raw = marginal.rho(mean + marginal.bias) - marginal.rho(marginal.bias)
    torch.testing.assert_close(values, 2.0 * torch.tanh(raw / 2.0), atol=1e-4, rtol=0)


def test_the_expectation_is_that_of_many_random_sums():
    marginal, *_ = make_game(nn.ReLU(), (7,), 1, 6.0)
    generator = torch.Generator().manual_seed(0)
    many = torch.randn(1, 40, WIDTH, generator=generator).double() / 3  # forty small features
    presence_variance = torch.tensor([0.25]).double()
    variance = 0.25 * many.square().sum(1)[None]
    mean, one_case = 0.5 * many.sum(1)[None, None], torch.ones(1, 1).double()
    values, _ = expected_value(marginal, mean, variance, many, presence_variance, one_case)
    there = (torch.rand(200_000, 40, generator=generator) < 0.5).double()
    raw = marginal.rho(there @ many[0] + marginal.bias) - marginal.rho(marginal.bias)
    drawn = 6.0 * torch.tanh(raw / 6.0)
    assert abs(values.item() - drawn.mean().item()) < 0.03 * drawn.std().item()
    mode = 6.0 * torch.tanh(
        (marginal.rho(0.5 * many.sum(1) + marginal.bias) - marginal.rho(marginal.bias)) / 6.0
    )
    assert (
        abs(mode.item() - drawn.mean().item()) > 0.1 * drawn.std().item()
    )  # the twin: no variance


def steepness(marginal, sums):
    """Return torch's own gradients of every output: [..., K, D]."""
    sums = sums.clone().requires_grad_()
    value = marginal.value_of_sums(sums)
    found = [
        torch.autograd.grad(part.sum(), sums, retain_graph=True)[0] for part in value.unbind(-1)
    ]
    return torch.stack(found, -2)


@pytest.mark.parametrize("hidden", [(7,), (7, 5)])
@pytest.mark.parametrize("activation", list(ACTIVATIONS))
def test_the_value_comes_with_its_gradient(activation, hidden):
    marginal, mean, *_ = make_game(ACTIVATIONS[activation], hidden, 2, 2.0)
    mean = 0.2 * mean  # less, and the cap would leave no slope
    expected = steepness(marginal, mean)
    with torch.no_grad():
        value, gradient = value_and_gradient(marginal, mean)
        assert torch.equal(value, marginal.value_of_sums(mean))
        torch.testing.assert_close(gradient, expected)
        nearly = smoothed_gradient(marginal, mean, torch.full_like(mean, 1e-12))
        torch.testing.assert_close(nearly, expected, atol=1e-3, rtol=0)
        blurred = smoothed_gradient(marginal, mean, torch.ones_like(mean))
    assert (blurred - expected).abs().max() > 0.1 * expected.abs().max()


@pytest.mark.parametrize("activation", list(ACTIVATIONS))
def test_the_coarse_gradient_is_that_of_the_closer_one_without_followed_features(activation):
    marginal, mean, *_ = make_game(ACTIVATIONS[activation], (), 1, math.inf)
    variance = torch.rand(POINTS, 1, ROWS, WIDTH).double() + 0.1
    found = smoothed_gradient(marginal, mean, variance)[..., 0, :]
    slope = activation_moments(ACTIVATIONS[activation], mean + marginal.bias, variance).slope
    torch.testing.assert_close(found, slope * marginal.rho[1].weight[0])
