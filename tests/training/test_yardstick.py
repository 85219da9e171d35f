"""The yardstick: judges tell whether the network foresees less than its teachers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.linear_model import LinearRegression
from torch import nn

from sasanet import SASANetRegressor
from sasanet.training import hyperparameters
from sasanet.training import yardstick as yardsticks
from sasanet.training.loop import History, Phase, Rows
from sasanet.training.losses import Objective
from sasanet.training.yardstick import Yardstick, train_further

N_ROWS = 400


class Level(nn.Module):
    """A network that predicts a share of its only cell."""

    def __init__(self, share):
        super().__init__()
        self.share = nn.Parameter(torch.tensor(float(share)))

    def present(self, cells):
        return ~cells.isnan()

    def values(self, cells, coalitions):
        return (self.share * cells[:, None] * coalitions).sum(2, keepdim=True)


@pytest.fixture
def rows():
    cells = torch.randn(N_ROWS, 1, generator=torch.Generator().manual_seed(0))
    return Rows(cells, cells[:, 0] + 0.0, torch.ones(N_ROWS))


@pytest.fixture
def yardstick(rows):
    """The truth is the cell itself; the teachers know nine tenths of it."""
    judges = np.arange(0, N_ROWS, 4)
    labels = rows.targets.numpy().astype(float)[judges]
    losses = (0.1 * labels) ** 2
    return Yardstick(judges, labels, losses, np.ones(len(judges)), np.full(N_ROWS, 7.0))


OBJECTIVE = Objective("regression", torch.zeros(1))
PHASE = Phase(name="value", loss=lambda *_: None, steps=10, batch_size=4, learning_rate=1.0)


def further(network, rows, yardstick, shares, deadline=np.inf, interrupted=False):
    """Train with a stand-in whose rounds end at these shares; return the steps of each round."""
    taken, shares = [], iter(shares)

    def run(given, phases):
        assert (given.targets == 7.0).all()  # the labels of further rounds
        taken.append(phases[0].steps)
        network.share.data.fill_(next(shares))
        return History([{"phase": phases[0].name, "seconds": 1.0}])

    before = History([{"phase": "value", "seconds": 1.0}], interrupted)
    history = train_further(network, rows, PHASE, yardstick, OBJECTIVE, before, run, deadline)
    return taken, [epoch["phase"] for epoch in history.epochs]


def test_a_network_ahead_of_its_teachers_is_left_alone(rows, yardstick):
    assert further(Level(0.95), rows, yardstick, []) == ([], ["value"])


def test_a_network_behind_goes_on_while_it_gains(rows, yardstick):
    network = Level(0.2)
    taken, phases = further(network, rows, yardstick, [0.6, 0.95])
    assert taken == [10, 20]
    assert phases == ["value", "further", "further"]
    assert network.share.item() == pytest.approx(0.95)


def test_it_stops_once_it_has_caught_up(rows, yardstick):
    assert further(Level(0.2), rows, yardstick, [0.95])[0] == [10]


def test_a_round_that_loses_is_taken_back(rows, yardstick):
    network = Level(0.2)
    assert further(network, rows, yardstick, [0.1])[0] == [10]
    assert network.share.item() == pytest.approx(0.2)


@pytest.mark.parametrize("state", [{"deadline": 0.0}, {"interrupted": True}])
def test_no_round_is_begun_without_time(rows, yardstick, state):
    assert further(Level(0.2), rows, yardstick, [], **state)[0] == []


def test_chance_is_not_a_gap(rows, yardstick, monkeypatch):
    """A network a little behind on noisy judges is left alone; without the error it would not."""
    noise = np.random.RandomState(0).randn(len(yardstick.judges))
    labels = yardstick.labels + 3 * noise
    noisy = replace(yardstick, labels=labels, losses=(labels - yardstick.labels) ** 2)
    gap = noisy.gap(Level(0.85), rows.cells, OBJECTIVE)
    assert gap.mean > 0
    assert not gap.is_sure
    monkeypatch.setattr(yardsticks, "_SURE", 0.0)
    assert gap.is_sure


def test_rows_count_by_their_weight(rows, yardstick):
    weights = np.where(np.arange(len(yardstick.judges)) < 5, 1.0, 1e-9)
    some = replace(
        yardstick,
        judges=yardstick.judges[:5],
        labels=yardstick.labels[:5],
        losses=yardstick.losses[:5],
        weights=np.ones(5),
    )
    network = Level(0.5)
    weighted = replace(yardstick, weights=weights).gap(network, rows.cells, OBJECTIVE)
    assert weighted.mean == pytest.approx(some.gap(network, rows.cells, OBJECTIVE).mean, rel=1e-5)


@pytest.fixture(scope="module")
def plain_table():
    random = np.random.RandomState(0)
    X = random.randn(1_200, 3)
    return X, X @ [1.0, 2.0, 3.0] + random.randn(1_200)


def phases_of_a_short_fit(table, monkeypatch, **settings):
    """Fit with a rule that is far too short, and a teacher that knows the table."""
    monkeypatch.setattr(hyperparameters, "_epochs", lambda *_: 2)
    model = SASANetRegressor(teachers=LinearRegression(), random_state=0, **settings).fit(*table)
    return [epoch["phase"] for epoch in model.history_]


def test_a_fit_goes_on_where_the_rule_is_too_short(plain_table, monkeypatch):
    assert phases_of_a_short_fit(plain_table, monkeypatch)[-1] == "further"


@pytest.mark.parametrize("given", [{"max_epochs": 2}, {"teacher_weight": 0.5}])
def test_who_says_how_to_train_is_obeyed(plain_table, monkeypatch, given):
    assert set(phases_of_a_short_fit(plain_table, monkeypatch, **given)) == {"value"}
