"""The losses against numbers worked out by hand, sample weights, and who learns from them."""

from __future__ import annotations

import math

import pytest
import torch

from sasanet.training.losses import distillation_loss, prediction_losses, value_loss, weighted_mean


def close(found, expected):
    torch.testing.assert_close(found, torch.as_tensor(expected), rtol=0, atol=1e-6)


# --- prediction --------------------------------------------------------------------------------


def test_binary_losses_are_cross_entropies_of_the_logit():
    outputs = torch.tensor([[[0.0], [2.0]], [[-1.0], [30.0]]])
    losses = prediction_losses(outputs, torch.tensor([1.0, 0.0]), "binary")
    expected = [
        [math.log(2), math.log(1 + math.exp(-2))],
        [math.log(1 + math.exp(-1)), 30.0],
    ]
    close(losses, expected)


def test_multiclass_losses_are_cross_entropies_of_the_softmax():
    outputs = torch.tensor([[[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]]])
    losses = prediction_losses(outputs, torch.tensor([2.0]), "multiclass")
    normaliser = math.log(math.exp(1) + math.exp(2) + math.exp(3))
    close(losses, [[math.log(3), normaliser - 3]])


def test_multiclass_losses_belong_to_their_row_and_coalition(seeded):
    outputs = torch.randn(4, 3, 5, generator=seeded())
    targets = torch.tensor([0.0, 3.0, 4.0, 1.0])
    losses = prediction_losses(outputs, targets, "multiclass")
    for row in range(4):
        for m in range(3):
            expected = -outputs[row, m].log_softmax(0)[int(targets[row])]
            close(losses[row, m], expected)


def test_regression_losses_are_squared_errors():
    outputs = torch.tensor([[[1.0], [4.0]], [[-2.0], [0.5]]])
    losses = prediction_losses(outputs, torch.tensor([3.0, 0.5]), "regression")
    close(losses, [[4.0, 1.0], [6.25, 0.0]])


def test_certain_mistakes_stay_finite():
    outputs = torch.tensor([[[1e4]]], requires_grad=True)
    loss = prediction_losses(outputs, torch.tensor([0.0]), "binary").sum()
    loss.backward()
    close(loss.detach(), 1e4)
    assert outputs.grad.isfinite().all()


def check_best_constant(task, targets, best):
    """Among constant outputs none has a smaller loss than the base value."""
    here = prediction_losses(torch.tensor(best).expand(len(targets), 1, -1), targets, task).mean()
    for output in range(len(best)):
        for step in (-0.1, 0.1):
            other = torch.tensor(best)
            other[output] += step
            there = prediction_losses(other.expand(len(targets), 1, -1), targets, task).mean()
            assert here < there


@pytest.mark.parametrize(
    ("task", "targets", "best", "worse"),
    [
        ("binary", [1.0, 0.0, 0.0, 0.0], [-math.log(3)], [0.0]),
        ("multiclass", [0.0, 1.0, 1.0, 2.0], [0.0, math.log(2), 0.0], [0.0, 0.0, 0.0]),
        ("regression", [1.0, 2.0, 6.0], [3.0], [2.0]),
    ],
)
def test_the_base_value_is_the_best_constant(task, targets, best, worse):
    check_best_constant(task, torch.tensor(targets), best)
    with pytest.raises(AssertionError):
        check_best_constant(task, torch.tensor(targets), worse)


# --- means -------------------------------------------------------------------------------------


def test_the_weighted_mean_counts_rows_by_their_weight():
    losses = torch.tensor([[1.0, 3.0], [5.0, 7.0]])
    close(weighted_mean(losses, torch.tensor([1.0, 1.0])), 4.0)
    close(weighted_mean(losses, torch.tensor([3.0, 1.0])), 3.0)
    close(weighted_mean(losses, torch.tensor([0.0, 2.0])), 6.0)
    close(weighted_mean(losses[:, 0], torch.tensor([3.0, 1.0])), 2.0)


def test_a_batch_without_weight_has_no_loss():
    losses = torch.ones(3, 2, requires_grad=True)
    loss = weighted_mean(losses, torch.zeros(3))
    loss.backward()
    assert loss.item() == 0
    assert (losses.grad == 0).all()


def test_the_complete_row_gets_its_share_of_the_value_loss():
    losses = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    close(value_loss(losses, torch.tensor([1.0, 3.0]), 0.25), 4.375)
    close(value_loss(losses, torch.ones(2), 0.0), 4.0)  # (2.5 + 5.5) / 2
    close(value_loss(losses, torch.ones(2), 1.0), 2.5)  # (1 + 4) / 2


# --- distillation ------------------------------------------------------------------------------

# Two rows, two features, one output. Row 0 is complete: 1 against Δ = 2, and 7 against 4.
# Row 1 has only feature 0: 3 against 0; feature 1 is absent, whatever it says.
PREDICTED = [[[1.0], [7.0]], [[3.0], [50.0]]]
DELTAS = [[[2.0], [4.0]], [[0.0], [-99.0]]]
PRESENT = [[True, True], [True, False]]


def parts():
    return [torch.tensor(part) for part in (PREDICTED, DELTAS, PRESENT)]


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ([1.0, 1.0], (5.0 + 9.0) / 2),  # row 0: ((1 − 2)² + (7 − 4)²) / 2; row 1: 3²
        ([3.0, 1.0], (3 * 5.0 + 9.0) / 4),
        ([1.0, 0.0], 5.0),
    ],
)
def test_the_distillation_loss_by_hand(weights, expected):
    close(distillation_loss(*parts(), torch.tensor(weights)), expected)


def test_several_outputs_share_the_distillation_loss():
    predicted = torch.tensor([[[1.0, 0.0], [2.0, 4.0]]])
    deltas = torch.tensor([[[0.0, 1.0], [5.0, 4.0]]])
    loss = distillation_loss(predicted, deltas, torch.ones(1, 2, dtype=torch.bool), torch.ones(1))
    close(loss, (1 + 1 + 9 + 0) / 4)


def test_a_row_with_nothing_present_has_nothing_to_distil():
    predicted, deltas, present = parts()
    assert distillation_loss(predicted, deltas, present & False, torch.ones(2)).item() == 0


def distil_attached(predicted, contributions, present, weights):
    """Return the broken twin: the loss without the detached target."""
    error = (predicted - contributions) ** 2 * present[..., None]
    return weighted_mean(error.sum((1, 2)), weights)


def check_targets_stand_still(loss):
    predicted, deltas, present = parts()
    predicted.requires_grad_()
    deltas.requires_grad_()
    loss(predicted, deltas, present, torch.ones(2)).backward()
    assert predicted.grad.abs().sum() > 0
    assert (predicted.grad[~present] == 0).all()
    assert deltas.grad is None


def test_targets_get_no_gradient():
    check_targets_stand_still(distillation_loss)


def test_targets_that_move_are_noticed():
    with pytest.raises(AssertionError):
        check_targets_stand_still(distil_attached)


# --- sample weights ----------------------------------------------------------------------------


def check_weight_is_repetition(loss):
    """A row of weight 2 counts like the same row twice, and a row of weight 0 not at all."""
    losses = torch.tensor([[1.0, 2.0, 4.0], [3.0, 0.5, 2.0], [9.0, 8.0, 7.0]])
    weighted = loss(losses, torch.tensor([2.0, 1.0, 0.0]))
    close(weighted, loss(losses[[0, 0, 1]], torch.ones(3)))
    close(weighted, loss(losses, torch.tensor([200.0, 100.0, 0.0])))  # only ratios count


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_a_weight_of_two_is_the_row_twice(share):
    check_weight_is_repetition(lambda losses, weights: value_loss(losses, weights, share))
    check_weight_is_repetition(weighted_mean)


@pytest.mark.parametrize(
    "broken",
    [
        lambda losses, weights: (losses.mean(1) * weights).mean(),
        lambda losses, weights: losses.mean() + 0 * weights.sum(),
        lambda losses, weights: (losses.mean(1) * weights).sum(),
    ],
)
def test_weights_used_otherwise_are_noticed(broken):
    with pytest.raises(AssertionError):
        check_weight_is_repetition(broken)
