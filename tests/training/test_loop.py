"""The training loop: seeds, best weights, early stops, interrupts, frozen parts, and learning."""

from __future__ import annotations

import json
import math
import time
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from sasanet import SASANetClassifier
from sasanet.table.columns import Columns
from sasanet.training import loop
from sasanet.training.learning_rate import LearningRate
from sasanet.training.loop import Rows
from sasanet.training.sasanet_losses import validation_loss
from training_rows import COLUMNS, LOSSES, SEQUENCE, TASKS, config, make_rows, phase, train


@pytest.fixture
def rows(make_cells):
    return partial(make_rows, make_cells)


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


# --- seeds -------------------------------------------------------------------------------------


def trained(make_network, rows, seed, fields, dropout=0.0):
    network = make_network(COLUMNS, dropout=dropout, **fields)
    names = ("joint", "attribution") if fields else ("value", "attribution")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        generator = torch.Generator().manual_seed(seed)
        phases = [phase(name, steps=12) for name in names]
        train(network, rows(), rows(seed=1), config(*phases), generator)
    return state(network)


@pytest.mark.parametrize("fields", [{}, SEQUENCE], ids=["set", "sequence"])
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_one_seed_gives_equal_weights(make_network, rows, fields, dropout):
    first = trained(make_network, rows, 0, fields, dropout)
    check_equal(first, trained(make_network, rows, 0, fields, dropout))
    with pytest.raises(AssertionError):
        check_equal(first, trained(make_network, rows, 1, fields, dropout))


def test_no_global_random_number_is_used_without_dropout(make_network, rows, seeded):
    before = torch.random.get_rng_state()
    phases = phase(steps=6), phase("attribution", steps=6)
    train(make_network(COLUMNS), rows(), None, config(*phases), seeded())
    assert torch.equal(torch.random.get_rng_state(), before)


# --- learning ----------------------------------------------------------------------------------


def complete_loss(network, given, settings):
    """Return the prediction loss of complete rows, which is what many rows are judged by."""
    times = 1 + 1000 // len(given)
    parts = (given.cells.repeat(times, 1), given.targets.repeat(times), given.weights.repeat(times))
    return validation_loss(network, Rows(*parts), settings.objective)


def check_learned(end, start):
    """Training got clearly better than where it began."""
    assert end < 0.8 * start


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("fields", [{}, SEQUENCE], ids=["set", "sequence"])
def test_every_task_is_learned(make_network, rows, seeded, task, fields):
    network = make_network(COLUMNS, TASKS[task], stirred=0.0, **fields)
    settings = config(phase("joint" if fields else "value", steps=120), task=task)
    start = complete_loss(network, rows(task, seed=1), settings)
    train(network, rows(task), rows(task, seed=1), settings, seeded())
    check_learned(complete_loss(network, rows(task, seed=1), settings), start)
    check_usable(network, rows(task).cells)


def test_learning_nothing_is_noticed(make_network, rows, seeded):
    network = make_network(COLUMNS, stirred=0.0)
    settings = config(phase(steps=20, learning_rate=1e-9))
    start = complete_loss(network, rows(seed=1), settings)
    train(network, rows(), rows(seed=1), settings, seeded())
    with pytest.raises(AssertionError):
        check_learned(complete_loss(network, rows(seed=1), settings), start)


@pytest.mark.parametrize(
    "columns", [Columns((6, 5), (True, True)), Columns((4, 3), (False, False))]
)
@pytest.mark.parametrize("numbers", ["knots", "mlp"])
def test_tables_of_one_kind_are_trained(make_network, make_cells, seeded, columns, numbers):
    cells = make_cells(columns, 40)
    given = Rows(cells, (cells[:, 0].nan_to_num() > 1).float(), torch.ones(40))
    network = make_network(columns, numbers=numbers)
    phases = phase(steps=5), phase("attribution", steps=5)
    history = train(network, given, None, config(*phases), seeded())
    assert all(math.isfinite(record["train_loss"]) for record in history.epochs)
    check_usable(network, cells)


# --- the history -------------------------------------------------------------------------------


def test_the_history_is_plain_data_one_record_per_epoch(make_network, rows, seeded):
    phases = phase(steps=10), phase("attribution", steps=6)  # 128 rows in batches of 32: 4 steps
    history = train(make_network(COLUMNS), rows(), rows(seed=1), config(*phases), seeded())
    assert json.loads(json.dumps(history.epochs, allow_nan=False)) == history.epochs
    assert [(e["phase"], e["steps"]) for e in history.epochs] == [
        ("value", 4),
        ("value", 8),
        ("value", 10),
        ("attribution", 4),
        ("attribution", 6),
    ]
    judged = ["validation_loss" in record for record in history.epochs]
    assert judged == [True, True, True, False, False]
    assert not history.interrupted


def test_without_validation_rows_training_goes_to_the_end(make_network, rows, seeded):
    history = train(make_network(COLUMNS), rows(), None, config(patience=1), seeded())
    assert history.epochs[-1]["steps"] == 60
    assert not any("validation_loss" in record for record in history.epochs)


def test_the_progress_bar_is_shown_on_request_only(make_network, rows, seeded, capsys):
    train(make_network(COLUMNS), rows(), None, config(phase(steps=4)), seeded())
    assert capsys.readouterr() == ("", "")
    train(make_network(COLUMNS), rows(), None, config(phase(steps=4), verbose=True), seeded())
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "value" in shown.err
    assert "rows/s" in shown.err
    assert "100%" in shown.err


# --- the best weights --------------------------------------------------------------------------


def against(rows):
    """Return validation rows that contradict: the better the fit, the worse their loss."""
    return Rows(rows.cells, 1 - rows.targets, rows.weights)


def check_best(network, history, validation, settings):
    """The network is the one of the epoch with the smallest validation loss."""
    best = min(record["validation_loss"] for record in history.epochs)
    assert abs(validation_loss(network, validation, settings.objective) - best) < 1e-6


@pytest.mark.parametrize("fields", [{}, SEQUENCE], ids=["set", "sequence"])
def test_the_best_weights_are_put_back(make_network, rows, seeded, stir, fields):
    network, settings = make_network(COLUMNS, **fields), config(phase("joint"))
    if not fields:
        settings = config(phase())
    validation = against(rows())
    history = train(network, rows(), validation, settings, seeded())
    losses = [record["validation_loss"] for record in history.epochs]
    assert losses[-1] > min(losses) + 1e-3  # otherwise the last weights would do
    check_best(network, history, validation, settings)
    stir(network, scale=0.01)
    with pytest.raises(AssertionError):
        check_best(network, history, validation, settings)


@pytest.mark.parametrize("patience", [1, 3])
def test_patience_stops_training_that_gets_worse(make_network, rows, seeded, patience):
    settings = config(phase(steps=400), patience=patience)
    history = train(make_network(COLUMNS), rows(), against(rows()), settings, seeded())
    losses = [record["validation_loss"] for record in history.epochs]
    assert len(losses) == losses.index(min(losses)) + 1 + patience
    assert len(losses) < 100


def test_patience_starts_again_with_every_better_epoch(make_network, rows, seeded):
    network = make_network(COLUMNS, stirred=0.0)
    history = train(network, rows(), rows(), config(phase(steps=80), patience=6), seeded())
    assert history.epochs[-1]["steps"] == 80


def test_attributions_are_distilled_to_the_end(make_network, rows, seeded):
    """The attribution phase has no early stopping, whatever the validation rows say."""
    settings = config(phase(steps=4), phase("attribution", steps=40), patience=1)
    history = train(make_network(COLUMNS), rows(), against(rows()), settings, seeded())
    assert history.epochs[-1]["phase"] == "attribution"
    assert history.epochs[-1]["steps"] == 40


def test_the_validation_loss_is_that_of_rows_as_they_are(make_network, rows):
    network, given = make_network(COLUMNS), rows()
    weights = torch.rand(len(given)) + 0.5
    settings = config(base=torch.tensor([0.3]))
    with torch.no_grad():
        logits = network.values(given.cells, given.present[:, None])[:, 0, 0] + 0.3
    losses = F.binary_cross_entropy_with_logits(logits, given.targets, reduction="none")
    expected = (losses * weights).sum() / weights.sum()
    judged = Rows(given.cells, given.targets, weights)
    assert complete_loss(network, judged, settings) == pytest.approx(expected.item(), abs=1e-5)
    few = validation_loss(network, judged, replace(settings.objective, full_share=1.0))
    assert few == pytest.approx(expected.item(), abs=1e-5)


def test_few_rows_are_also_judged_by_fixed_coalitions(make_network, rows):
    network, given = make_network(COLUMNS), rows()
    objectives = [config(full_share=share).objective for share in (1.0, 0.5, 0.5)]
    found = [validation_loss(network, given, objective) for objective in objectives]
    assert found[0] != pytest.approx(found[1], abs=1e-4)
    assert found[1] == found[2]


# --- time --------------------------------------------------------------------------------------


@pytest.mark.parametrize("phases", [1, 2])
def test_a_time_limit_ends_training_in_time(make_network, rows, seeded, phases):
    endless = [phase(name, steps=10**7) for name in ("value", "attribution")][:phases]
    network = make_network(COLUMNS)
    started = time.monotonic()
    history = train(network, rows(), rows(seed=1), config(*endless, time_limit=1.0), seeded())
    assert 0.5 < time.monotonic() - started < 5
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


def raising(loss, error, after):
    """Return a loss that works so many times and then raises."""
    calls = []

    def interrupted(*arguments, **settings):
        calls.append(1)
        if len(calls) > after:
            raise error
        return loss(*arguments, **settings)

    return interrupted


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


# --- what stands still -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"attribution": "attention"},
        SEQUENCE,
        SEQUENCE | {"shared_embedding": True},
    ],
    ids=["context", "attention", "sequence", "shared embedding"],
)
def test_distillation_moves_the_attribution_module_only(make_network, rows, seeded, fields):
    network = make_network(COLUMNS, **fields)
    marginal, attribution = state(network.marginal), state(network.attribution)
    train(network, rows(), None, config(phase("attribution", steps=8)), seeded())
    with pytest.raises(AssertionError):  # this one has moved
        check_equal(state(network.attribution), attribution)
    check_equal(state(network.marginal), marginal)


def test_prediction_moves_the_marginal_module_only(make_network, rows, seeded):
    network = make_network(COLUMNS)
    marginal, attribution = state(network.marginal), state(network.attribution)
    train(network, rows(), rows(seed=1), config(phase(steps=8)), seeded())
    check_equal(state(network.attribution), attribution)
    with pytest.raises(AssertionError):
        check_equal(state(network.marginal), marginal)


@pytest.mark.parametrize("name", ["value", "attribution"])
def test_only_what_learns_is_in_training_mode(make_network, rows, seeded, monkeypatch, name):
    seen, loss = [], LOSSES[name]

    def watching(network, *rest, **settings):
        seen.append((network.marginal.training, network.attribution.training))
        return loss(network, *rest, **settings)

    monkeypatch.setitem(LOSSES, name, watching)
    network = make_network(COLUMNS, dropout=0.5)
    train(network, rows(), rows(seed=1), config(phase(name, steps=9)), seeded())
    assert set(seen) == {(name == "value", name == "attribution")}
    assert len(seen) == 9


def test_only_matrices_decay_and_only_while_predicting(make_network):
    network = make_network(COLUMNS)
    matrices = {id(module.weight) for module in network.modules() if isinstance(module, nn.Linear)}
    settings = config(phase("value"), phase("attribution"), weight_decay=0.01)
    for made, decay in zip(settings.made_phases(None), (0.01, 0.0), strict=True):
        learned = network.parts(made.parts)
        (decaying, noted), (others, none) = loop._make_optimizer(network, learned, made).groups
        assert (noted, none) == (decay, 0.0)
        assert {id(course.parameter) for course in decaying} <= matrices
        assert not {id(course.parameter) for course in others} & matrices
        assert len(decaying) + len(others) == len(learned)


def test_a_level_never_seen_stays_no_information(make_network, rows, seeded):
    """Missing cells look the reserved level up, and must not teach it anything."""
    network, given = make_network(COLUMNS, stirred=0.0), rows()
    given.cells[given.cells[:, 1] == 0, 1] = 1.0  # in training every level is known
    train(network, given, None, config(phase(steps=8), phase("attribution", steps=8)), seeded())
    for embedding in (network.marginal.embedding, network.attribution.cell_embedding):
        assert (embedding.levels[0] == 0).all()
        assert (embedding.levels[1] != 0).all()


def test_training_has_gradients_whatever_the_callers_mode():
    model = SASANetClassifier(max_epochs=1, teacher_weight=0, random_state=0)
    X = np.random.RandomState(0).randn(40, 2)
    expected = model.fit(X, X[:, 0] > 0).predict_proba(X)
    with torch.no_grad():
        assert (model.fit(X, X[:, 0] > 0).predict_proba(X) == expected).all()
        assert not torch.is_grad_enabled()
