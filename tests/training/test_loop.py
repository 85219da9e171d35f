"""The training loop: seeds, best weights, early stops, interrupts, frozen parts, and learning."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from loop_checks import against, check_best, check_equal, check_usable, state
from torch.nn import functional as F

from sasanet import SASANetClassifier
from sasanet.table.columns import Columns
from sasanet.training.loop import Rows
from sasanet.training.sasanet_losses import validation_loss
from training_rows import COLUMNS, SEQUENCE, TASKS, config, phase, train

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


def test_training_has_gradients_whatever_the_callers_mode():
    model = SASANetClassifier(max_epochs=1, teacher_weight=0, random_state=0)
    X = np.random.RandomState(0).randn(40, 2)
    expected = model.fit(X, X[:, 0] > 0).predict_proba(X)
    with torch.no_grad():
        assert (model.fit(X, X[:, 0] > 0).predict_proba(X) == expected).all()
        assert not torch.is_grad_enabled()
