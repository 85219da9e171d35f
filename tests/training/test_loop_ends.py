"""A training that time or an interrupt ends keeps a usable network, the best so far."""

from __future__ import annotations

import time

import pytest
from loop_checks import against, check_best, check_usable, raising

from sasanet.training import loop
from sasanet.training.learning_rate import LearningRate
from training_rows import COLUMNS, LOSSES, config, phase, train

# --- time --------------------------------------------------------------------------------------


@pytest.mark.parametrize("phases", [1, 2])
def test_a_time_limit_ends_training_in_time(make_network, rows, seeded, phases):
    endless = [phase(name, steps=10**7) for name in ("value", "attribution")][:phases]
    network = make_network(COLUMNS)
    started = time.monotonic()
    history = train(network, rows(), rows(seed=1), config(*endless, time_limit=0.4), seeded())
    assert 0.2 < time.monotonic() - started < 2
    assert len({record["phase"] for record in history.epochs}) == phases
    assert not history.interrupted
    check_usable(network, rows().cells)


def test_with_hardly_any_time_there_is_one_step_a_phase(make_network, rows, seeded):
    network = make_network(COLUMNS)
    history = train(network, rows(), rows(seed=1), config(time_limit=1e-9), seeded())
    assert [record["steps"] for record in history.epochs] == [1] * len(config().phases)
    check_usable(network, rows().cells)


@pytest.mark.parametrize("asked", range(2, 12))
def test_the_time_may_be_over_whenever_the_clock_is_read(
    make_network, rows, seeded, monkeypatch, asked
):
    """Also between two epochs: the next one then has no batch."""
    times = iter(range(1, 100))
    monkeypatch.setattr(LearningRate, "over", lambda clock: next(times) > asked and clock.step > 0)
    network = make_network(COLUMNS)
    history = train(network, rows(), None, config(phase(batch_size=20)), seeded())
    assert 1 <= history.epochs[-1]["steps"] < asked
    check_usable(network, rows().cells)


# --- interrupts --------------------------------------------------------------------------------


@pytest.mark.parametrize("after", [0, 3, 14])
def test_an_interrupt_keeps_a_usable_network(make_network, rows, seeded, monkeypatch, after):
    monkeypatch.setitem(LOSSES, "value", raising(LOSSES["value"], KeyboardInterrupt, after))
    network = make_network(COLUMNS, dropout=0.1)
    settings = config(phase(), phase("attribution"))
    history = train(network, rows(), rows(seed=1), settings, seeded())
    assert history.interrupted
    assert {record["phase"] for record in history.epochs} <= {"value"}
    assert len(history.epochs) == after // 4
    check_usable(network, rows().cells)


def test_an_interrupt_brings_the_best_weights_back(make_network, rows, seeded, monkeypatch):
    monkeypatch.setitem(LOSSES, "value", raising(LOSSES["value"], KeyboardInterrupt, 30))
    network, settings, validation = make_network(COLUMNS), config(), against(rows())
    history = train(network, rows(), validation, settings, seeded())
    assert history.interrupted
    check_best(network, history, validation, settings)


def test_an_interrupt_while_distilling_keeps_the_prediction(
    make_network, rows, seeded, monkeypatch
):
    loss = raising(LOSSES["attribution"], KeyboardInterrupt, 6)
    monkeypatch.setitem(LOSSES, "attribution", loss)
    network, validation = make_network(COLUMNS), rows(seed=1)
    settings = config(phase(), phase("attribution"))
    history = train(network, rows(), validation, settings, seeded())
    assert history.interrupted
    value_epochs = loop.History([e for e in history.epochs if e["phase"] == "value"])
    assert value_epochs.epochs[-1]["steps"] == 60
    check_best(network, value_epochs, validation, settings)
    check_usable(network, rows().cells)


def test_other_errors_are_not_swallowed(make_network, rows, seeded, monkeypatch):
    monkeypatch.setitem(LOSSES, "value", raising(LOSSES["value"], ValueError("no"), 3))
    network = make_network(COLUMNS)
    with pytest.raises(ValueError, match="no"):
        train(network, rows(), None, config(), seeded())
    assert all(parameter.requires_grad for parameter in network.parameters())
