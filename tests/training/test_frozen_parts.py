"""What a phase does not learn stands still."""

from __future__ import annotations

import pytest
from loop_checks import check_equal, state
from torch import nn

from sasanet.training import loop
from training_rows import COLUMNS, LOSSES, SEQUENCE, config, phase, train


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
