"""Feed-forward layers and their dropout, which every network of the package is made of."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from sasanet.network.layers import ByteDropout, feed_forward


@pytest.mark.parametrize(
    ("first", "kinds"),
    [
        (False, [nn.Linear, nn.GELU, ByteDropout, nn.Linear]),
        (True, [nn.GELU, ByteDropout, nn.Linear, nn.GELU, ByteDropout, nn.Linear]),
    ],
)
def test_feed_forward_layers_alternate_with_activations(first, kinds):
    layers = feed_forward([3, 4, 2], nn.GELU(), 0.5, activate_first=first)
    assert [type(layer) for layer in layers] == kinds
    assert layers(torch.randn(5, 3)).shape == (5, 2)


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.5])
def test_dropout_drops_its_share_keeps_the_mean_and_rests_outside_training(rate):
    dropout, x = ByteDropout(rate), torch.ones(999, 101)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        out = dropout.train()(x)
    assert (out == 0).float().mean().item() == pytest.approx(rate, abs=0.01)
    assert out.mean().item() == pytest.approx(1.0, abs=0.01)
    assert torch.equal(dropout.eval()(x), x)


def test_the_last_layer_is_neither_activated_nor_dropped():
    layers = feed_forward([3, 2], nn.ReLU(), 0.9)
    assert [type(layer) for layer in layers] == [nn.Linear]
