"""Feed-forward layers and their dropout, which every network of the package is made of."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from sasanet.network.layers import (
    ByteDropout,
    GeneratorAttention,
    GeneratorDropout,
    Product,
    dropout_from,
    feed_forward,
)


@pytest.mark.parametrize(
    ("first", "kinds"),
    [
        (False, [Product, nn.GELU, ByteDropout, Product]),
        (True, [nn.GELU, ByteDropout, Product, nn.GELU, ByteDropout, Product]),
    ],
)
def test_feed_forward_layers_alternate_with_activations(first, kinds):
    layers = feed_forward([3, 4, 2], nn.GELU(), 0.5, activate_first=first)
    assert [type(layer) for layer in layers] == kinds
    assert layers(torch.randn(5, 3)).shape == (5, 2)


@pytest.mark.parametrize("kind", [ByteDropout, GeneratorDropout])
@pytest.mark.parametrize("rate", [0.0, 0.1, 0.5])
def test_dropout_drops_its_share_keeps_the_mean_and_rests_outside_training(rate, kind):
    dropout, x = kind(rate), torch.ones(999, 101)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        out = dropout.train()(x)
    assert (out == 0).float().mean().item() == pytest.approx(rate, abs=0.01)
    assert out.mean().item() == pytest.approx(1.0, abs=0.01)
    assert torch.equal(dropout.eval()(x), x)


def test_the_last_layer_is_neither_activated_nor_dropped():
    layers = feed_forward([3, 2], nn.ReLU(), 0.9)
    assert [type(layer) for layer in layers] == [Product]


# --- products ----------------------------------------------------------------------------------


def learned(layer, x):
    """Return the product of a layer in training, and the gradients of its input and weights."""
    x = x.clone().requires_grad_()
    found = layer.train()(x)
    gradients = torch.autograd.grad(
        (found * torch.arange(1.0, 33.0)).sum(), [x, *layer.parameters()]
    )
    return [found, *gradients]


@pytest.mark.parametrize("shape", [(70,), (35, 2), (3,)], ids=str)
def test_products_and_their_gradients_are_those_of_torch(shape):
    x, layer, torchs = torch.randn(*shape, 24), Product(24, 32), nn.Linear(24, 32)
    torchs.load_state_dict(layer.state_dict())
    expected = learned(torchs, x)
    torch.testing.assert_close(learned(layer, x), expected, atol=1e-3, rtol=1e-4)
    layer.weight.data.mul_(1.01)
    with pytest.raises(AssertionError):
        torch.testing.assert_close(learned(layer, x), expected, atol=1e-3, rtol=1e-4)


# --- where the draws come from -----------------------------------------------------------------


def dropped(layer, seed):
    """Return what a layer in training makes of ones, its draws from a generator of that seed."""
    x = torch.ones(3, 20, 8)
    given = (x, x, x) if isinstance(layer, GeneratorAttention) else (x,)
    with dropout_from(layer, torch.Generator().manual_seed(seed)), torch.no_grad():
        found = layer.train()(*given)
    return found[0] if isinstance(found, tuple) else found


LAYERS = {
    "bytes": lambda: ByteDropout(0.4),
    "plain": lambda: GeneratorDropout(0.4),
    "attention": lambda: GeneratorAttention(8, 2, dropout=0.4, batch_first=True),
}


@pytest.mark.parametrize("name", LAYERS)
def test_draws_come_from_the_given_generator_and_leave_the_global_one(name):
    layer, before = LAYERS[name](), torch.get_rng_state()
    assert torch.equal(dropped(layer, 0), dropped(layer, 0))
    assert not torch.equal(dropped(layer, 0), dropped(layer, 1))
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("name", LAYERS)
def test_a_generator_goes_on_where_it_was(name):
    layer, generator = LAYERS[name](), torch.Generator().manual_seed(0)
    x = torch.ones(3, 20, 8)
    given = (x, x, x) if name == "attention" else (x,)
    with dropout_from(layer, generator), torch.no_grad():
        first, second = (layer.train()(*given) for _ in range(2))
    first, second = ((found[0] if name == "attention" else found) for found in (first, second))
    assert torch.equal(first, dropped(layer, 0))
    assert not torch.equal(first, second)


def test_a_layer_lets_go_of_its_generator_even_after_an_error():
    network = nn.Sequential(ByteDropout(0.1), GeneratorDropout(0.1))
    with pytest.raises(ValueError, match="no"), dropout_from(network, torch.Generator()):  # noqa: PT012
        assert all(layer.generator is not None for layer in network)
        raise ValueError("no")
    assert all(layer.generator is None for layer in network)
