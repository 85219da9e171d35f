"""What tests of the training loop ask of a network, and what disturbs a training."""

from __future__ import annotations

import torch

from sasanet.training.loop import Rows
from sasanet.training.sasanet_losses import validation_loss


def state(module):
    return {name: value.clone() for name, value in module.state_dict().items()}


def check_equal(first, second):
    """Two sets of weights are equal, bit by bit."""
    assert first.keys() == second.keys()
    for name, value in first.items():
        assert torch.equal(value, second[name]), name


def check_usable(network, cells):
    """The network predicts and explains finite numbers, in eval mode, ready to be trained on."""
    assert not any(module.training for module in network.modules())
    assert all(parameter.requires_grad for parameter in network.parameters())
    attributions, output = network.attribute(cells, ~cells.isnan())
    assert attributions.isfinite().all()
    torch.testing.assert_close(attributions.sum(1), output, rtol=1e-4, atol=1e-4)


def against(rows):
    """Return validation rows that contradict: the better the fit, the worse their loss."""
    return Rows(rows.cells, 1 - rows.targets, rows.weights)


def check_best(network, history, validation, settings):
    """The network is the one of the epoch with the smallest validation loss."""
    best = min(record["validation_loss"] for record in history.epochs)
    assert abs(validation_loss(network, validation, settings.objective) - best) < 1e-6


def raising(loss, error, after):
    """Return a loss that works so many times and then raises."""
    calls = []

    def interrupted(*arguments, **settings):
        calls.append(1)
        if len(calls) > after:
            raise error
        return loss(*arguments, **settings)

    return interrupted
