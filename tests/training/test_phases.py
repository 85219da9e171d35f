"""Which phases follow from the settings of a fit, and what each of them carries."""

from __future__ import annotations

from functools import partial

import pytest
import torch

from sasanet import SASANetClassifier
from sasanet.network.architecture import ARCHITECTURES, Architecture
from sasanet.training.hyperparameters import resolve
from sasanet.training.losses import Objective
from sasanet.training.phases import sasanet_phases
from sasanet.training.sasanet_losses import (
    attribution_batch_loss,
    joint_batch_loss,
    validation_loss,
    value_batch_loss,
)
from training_rows import COLUMNS, make_rows

DEFAULTS = SASANetClassifier(teacher_weight=0).get_params()


def phases_of(network, n_rows=300, validation=None, **changes):
    """Return the phases of a fit."""
    settings = resolve(DEFAULTS | {"network": network} | changes, n_rows)
    return sasanet_phases(settings, n_rows, validation, Objective("binary", torch.zeros(1)))


def learned(steps, **shape):
    """Return a shape whose Shapley module learns for so many steps."""
    return Architecture(attribution_steps=steps, **{"attribution": "context"} | shape)


SEQUENCE = {"marginal": "sequence", "attribution": "attention"}
VALUE = ("value", ("marginal",))
ATTRIBUTION = ("attribution", ("attribution",))
JOINT = ("joint", ("marginal", "attribution"))


@pytest.mark.parametrize(
    ("network", "expected"),
    [
        (Architecture(), [VALUE]),  # a formula: nothing to distil
        (learned(10), [VALUE, ATTRIBUTION]),
        (learned(0), [VALUE]),
        (learned(10, attribution="attention"), [VALUE, ATTRIBUTION]),
        (Architecture(attribution="none"), [VALUE]),
        (learned(10, **SEQUENCE), [JOINT, ATTRIBUTION]),
        (learned(0, **SEQUENCE), [JOINT]),
        (ARCHITECTURES["sequence"], [JOINT, ATTRIBUTION]),
        (Architecture(marginal="sequence", attribution="none"), [("joint", ("marginal",))]),
    ],
)
def test_prediction_comes_first_and_then_its_attributions(network, expected):
    assert [(phase.name, phase.parts) for phase in phases_of(network)] == expected


def test_the_steps_of_attributions_are_those_of_the_shape():
    assert phases_of(learned(10))[1].steps == 10
    assert phases_of(learned(None))[1].steps == 469


@pytest.mark.parametrize(
    ("n_rows", "batch_size", "steps"), [(300, 64, 7 * 5), (320, 64, 7 * 5), (10, 64, 7)]
)
def test_an_epoch_is_once_through_the_rows(n_rows, batch_size, steps):
    settings = {"batch_size": batch_size, "max_epochs": 7, "learning_rate": 0.25}
    value, attribution = phases_of(learned(None), n_rows, **settings)
    assert (value.steps, value.batch_size, value.learning_rate) == (steps, batch_size, 0.25)
    assert (attribution.steps, attribution.batch_size) == (469, 128)
    assert attribution.learning_rate == 0.25


@pytest.mark.parametrize("shape", [{}, SEQUENCE], ids=["set", "sequence"])
def test_prediction_gets_two_thirds_of_the_time(shape):
    prediction, attribution = phases_of(learned(10, **shape))
    assert prediction.time_share == pytest.approx(2 / 3)
    assert attribution.time_share == pytest.approx(1 / 3)


@pytest.mark.parametrize("network", [Architecture(), learned(0)], ids=["formula", "no steps"])
def test_prediction_alone_gets_all_the_time(network):
    (prediction,) = phases_of(network)
    assert prediction.time_share == 1


def test_only_prediction_decays_its_matrices():
    prediction, attribution = phases_of(learned(10, weight_decay=0.03))
    assert (prediction.weight_decay, attribution.weight_decay) == (0.03, 0)


def test_every_phase_has_its_loss():
    objective = Objective("binary", torch.zeros(1))
    for shape, loss in (({}, value_batch_loss), (SEQUENCE, joint_batch_loss)):
        prediction, attribution = phases_of(learned(10, **shape))
        assert isinstance(prediction.loss, partial)
        assert prediction.loss.func is loss
        assert prediction.loss.keywords == {"objective": objective}
        assert attribution.loss is attribution_batch_loss


def test_held_out_rows_stop_prediction_and_never_attributions(make_network, make_cells):
    """The targets of attributions are noisy, and their learning rate must reach zero."""
    rows = make_rows(make_cells, seed=1)
    for shape in ({}, SEQUENCE):
        prediction, attribution = phases_of(learned(10, **shape), validation=rows, patience=7)
        assert attribution.early_stopping is None
        assert prediction.early_stopping.patience == 7
        network = make_network(COLUMNS, **shape)
        expected = validation_loss(network, rows, Objective("binary", torch.zeros(1)))
        assert prediction.early_stopping.loss(network) == expected
        assert all(phase.early_stopping is None for phase in phases_of(learned(10, **shape)))
