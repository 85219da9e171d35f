"""The training loop: seeds, best weights, early stops, interrupts, frozen parts, and learning."""

from __future__ import annotations

import json
import math
import time
from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from sasanet import training
from sasanet.coalitions import random_coalitions, random_orders, random_prefixes
from sasanet.network import Columns
from sasanet.training import STEPS, Phase, Rows, TrainingConfig, train, validation_loss

COLUMNS = Columns((6, 3, 5, 4), (True, False, True, True))
SEQUENCE = {"marginal": "sequence", "attribution": "attention"}
TASKS = {"binary": 1, "multiclass": 3, "regression": 1}


@pytest.fixture
def rows(make_cells):
    """Return the maker of labelled rows that can be learned from, some cells missing."""

    def make(task="binary", n_rows=128, seed=0, missing=0.2):
        cells = make_cells(COLUMNS, n_rows, missing, seed)
        known = cells.nan_to_num(1.0)
        score = (known[:, 0] - 2.5) * (known[:, 1] - 1) + 0.7 * (known[:, 2] - 2)
        if task == "multiclass":
            targets = (score > 0).float() + (known[:, 3] > 1.5).float()
        else:
            targets = (score > 0).float() if task == "binary" else score / score.std()
        return Rows(cells, targets, torch.ones(n_rows))

    return make


def phase(name="value", steps=60, batch_size=32, learning_rate=0.01):
    parts = {
        "value": ("marginal",),
        "joint": ("marginal", "attribution"),
        "attribution": ("attribution",),
    }
    return Phase(name, parts[name], steps, batch_size, learning_rate)


def config(*phases, task="binary", **changes):
    fields = {
        "task": task,
        "base": torch.zeros(TASKS[task]),
        "phases": phases or (phase(),),
        "full_share": 0.5,
        "weight_decay": 0.01,
        "patience": 1000,
        "time_limit": math.inf,
        "verbose": False,
    }
    return TrainingConfig(**fields | changes)


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
    return validation_loss(network, Rows(*parts), settings)


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
    assert "4/4" in shown.err


# --- the best weights --------------------------------------------------------------------------


def against(rows):
    """Return validation rows that contradict: the better the fit, the worse their loss."""
    return Rows(rows.cells, 1 - rows.targets, rows.weights)


def check_best(network, history, validation, settings):
    """The network is the one of the epoch with the smallest validation loss."""
    best = min(record["validation_loss"] for record in history.epochs)
    assert abs(validation_loss(network, validation, settings) - best) < 1e-6


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
    few = validation_loss(network, judged, replace(settings, full_share=1.0))
    assert few == pytest.approx(expected.item(), abs=1e-5)


def test_few_rows_are_also_judged_by_fixed_coalitions(make_network, rows):
    network, given = make_network(COLUMNS), rows()
    found = [validation_loss(network, given, config(full_share=share)) for share in (1.0, 0.5, 0.5)]
    assert found[0] != pytest.approx(found[1], abs=1e-4)
    assert found[1] == found[2]


# --- time --------------------------------------------------------------------------------------


@pytest.mark.parametrize("phases", [1, 2])
def test_a_time_limit_ends_training_in_time(make_network, rows, seeded, phases):
    endless = [phase(name, steps=10**7) for name in ("value", "attribution")][:phases]
    network = make_network(COLUMNS)
    train(network, rows(), None, config(phase(steps=1)), seeded())  # torch imports its optimizer
    started = time.monotonic()
    history = train(network, rows(), rows(seed=1), config(*endless, time_limit=1.0), seeded())
    assert 0.5 < time.monotonic() - started < 5
    assert len({record["phase"] for record in history.epochs}) == phases
    assert not history.interrupted
    check_usable(network, rows().cells)


def test_prediction_gets_two_thirds_of_the_time():
    both = config(phase("value"), phase("attribution"))
    assert training._share(both.phases[0], both) == pytest.approx(2 / 3)
    assert training._share(both.phases[1], both) == pytest.approx(1 / 3)
    assert training._share(both.phases[0], config(phase("value"))) == 1


def test_with_hardly_any_time_there_is_one_step_a_phase(make_network, rows, seeded):
    network = make_network(COLUMNS)
    history = train(network, rows(), rows(seed=1), config(time_limit=1e-9), seeded())
    assert [record["steps"] for record in history.epochs] == [1] * len(config().phases)
    check_usable(network, rows().cells)


def check_rates(rates, peak, warm_up):
    """The rate rises at first, falls ever after, stays below its peak and ends near zero."""
    assert all(a < b for a, b in pairwise(rates[:warm_up]))
    assert all(a > b for a, b in pairwise(rates[warm_up - 1 :]))
    assert max(rates) <= peak
    assert max(rates) > 0.9 * peak
    assert rates[-1] < 0.01 * peak


def test_the_learning_rate_warms_up_and_goes_down_to_zero():
    clock = training._Clock(phase(steps=100, learning_rate=0.5), 100, math.inf)
    rates = []
    while not clock.over():
        rates.append(clock.next_rate())
    assert len(rates) == 100
    check_rates(rates, 0.5, warm_up=10)
    with pytest.raises(AssertionError):
        check_rates([0.5] * 100, 0.5, warm_up=10)
    with pytest.raises(AssertionError):
        check_rates(rates[:50], 0.5, warm_up=10)


def test_with_a_time_limit_the_learning_rate_follows_the_time():
    limit = 600.0
    clock = training._Clock(phase(steps=10**6, learning_rate=1.0), 1, limit)
    assert clock.next_rate() > 0.99
    rates = []
    for _ in range(2):  # half the time passes, and then the rest
        clock.start -= limit / 2
        rates.append(clock.next_rate())
    assert rates == pytest.approx([0.5, 0.0], abs=0.02)
    assert clock.over()


# --- interrupts --------------------------------------------------------------------------------


def raising(step, error, after):
    """Return a step that works so many times and then raises."""
    calls = []

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) > after:
            raise error
        return step(*arguments)

    return interrupted


@pytest.mark.parametrize("after", [0, 3, 14])
def test_an_interrupt_keeps_a_usable_network(make_network, rows, seeded, monkeypatch, after):
    monkeypatch.setitem(STEPS, "value", raising(STEPS["value"], KeyboardInterrupt, after))
    network = make_network(COLUMNS, dropout=0.1)
    settings = config(phase(), phase("attribution"))
    history = train(network, rows(), rows(seed=1), settings, seeded())
    assert history.interrupted
    assert {record["phase"] for record in history.epochs} <= {"value"}
    assert len(history.epochs) == after // 4
    check_usable(network, rows().cells)


def test_an_interrupt_brings_the_best_weights_back(make_network, rows, seeded, monkeypatch):
    monkeypatch.setitem(STEPS, "value", raising(STEPS["value"], KeyboardInterrupt, 30))
    network, settings, validation = make_network(COLUMNS), config(), against(rows())
    history = train(network, rows(), validation, settings, seeded())
    assert history.interrupted
    check_best(network, history, validation, settings)


def test_an_interrupt_while_distilling_keeps_the_prediction(
    make_network, rows, seeded, monkeypatch
):
    step = raising(STEPS["attribution"], KeyboardInterrupt, 6)
    monkeypatch.setitem(STEPS, "attribution", step)
    network, validation = make_network(COLUMNS), rows(seed=1)
    settings = config(phase(), phase("attribution"))
    history = train(network, rows(), validation, settings, seeded())
    assert history.interrupted
    value_epochs = training.History([e for e in history.epochs if e["phase"] == "value"])
    assert value_epochs.epochs[-1]["steps"] == 60
    check_best(network, value_epochs, validation, settings)
    check_usable(network, rows().cells)


def test_other_errors_are_not_swallowed(make_network, rows, seeded, monkeypatch):
    monkeypatch.setitem(STEPS, "value", raising(STEPS["value"], ValueError("no"), 3))
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
        SEQUENCE | {"shared_tokens": True},
    ],
    ids=["context", "attention", "sequence", "shared tokens"],
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
    seen, step = [], STEPS[name]

    def watching(network, *rest):
        seen.append((network.marginal.training, network.attribution.training))
        return step(network, *rest)

    monkeypatch.setitem(STEPS, name, watching)
    network = make_network(COLUMNS, dropout=0.5)
    train(network, rows(), rows(seed=1), config(phase(name, steps=9)), seeded())
    assert set(seen) == {(name == "value", name == "attribution")}
    assert len(seen) == 9


def test_only_matrices_decay_and_only_while_predicting(make_network):
    network = make_network(COLUMNS)
    matrices = {id(module.weight) for module in network.modules() if isinstance(module, nn.Linear)}
    for name, decay in (("value", 0.01), ("attribution", 0.0)):
        learned = network.parts(phase(name).parts)
        optimizer = training._make_optimizer(network, learned, phase(name), config())
        decaying, others = optimizer.param_groups
        assert (decaying["weight_decay"], others["weight_decay"]) == (decay, 0.0)
        assert {id(p) for p in decaying["params"]} <= matrices
        assert not {id(p) for p in others["params"]} & matrices
        assert len(decaying["params"]) + len(others["params"]) == len(learned)


def test_a_level_never_seen_stays_no_information(make_network, rows, seeded):
    """Missing cells look the reserved level up, and must not teach it anything."""
    network, given = make_network(COLUMNS, stirred=0.0), rows()
    given.cells[given.cells[:, 1] == 0, 1] = 1.0  # in training every level is known
    train(network, given, None, config(phase(steps=8), phase("attribution", steps=8)), seeded())
    for tokens in (network.marginal.tokens, network.attribution.cell_tokens):
        assert (tokens.levels[0] == 0).all()
        assert (tokens.levels[1] != 0).all()


# --- the losses of one batch -------------------------------------------------------------------


def check_prefix_mean(loss, network, given, orders):
    """Eq. (5): the mean over all prefixes of the order of the prediction loss."""
    vectors = network.marginal.cell_vectors(given.cells, given.present)
    sums = network.marginal.contributions(vectors, given.present, orders).cumsum(1)[..., 0]
    many = given.targets[:, None].expand_as(sums)
    expected = F.binary_cross_entropy_with_logits(sums, many)
    torch.testing.assert_close(loss, expected)


def test_the_joint_loss_is_the_papers_mean_over_prefixes(make_network, rows, seeded):
    network = make_network(COLUMNS, attribution_weight=0.0, **SEQUENCE)
    given, settings = rows(missing=0.0), config(full_share=0.0)
    loss = training.joint_step(network, given, settings, seeded(4))
    check_prefix_mean(loss, network, given, random_orders(given.present, seeded(4)))
    with pytest.raises(AssertionError):
        check_prefix_mean(loss, network, given, random_orders(given.present, seeded(5)))


def test_every_member_has_a_loss_of_its_own(make_network, rows, seeded):
    network, given = make_network(COLUMNS, members=3, attribution="none"), rows()
    loss = training.value_step(network, given, config(), seeded(4))
    present, kept = given.present, random_coalitions(given.present, seeded(4))
    masks = torch.stack([present, kept, present & ~kept], 1).float()
    members = network.marginal.members(network.marginal.cell_vectors(given.cells, present))
    outputs = torch.stack([f.value_of_sums(masks @ own)[..., 0] for f, own in members])

    def expected(outputs):
        many = given.targets[:, None].expand_as(outputs)
        losses = F.binary_cross_entropy_with_logits(outputs, many, reduction="none")
        return (losses[..., 0] + losses[..., 1:].mean(-1)).mean() / 2

    torch.testing.assert_close(loss, expected(outputs))
    assert abs(loss - expected(outputs.mean(0))) > 1e-3  # the twin: one loss of their mean


def slow_distillation(network, given, kept, orders):
    """Return L_s by loops: the profile at each feature's place against its Δ along the order."""
    vectors = network.marginal.cell_vectors(given.cells, kept)
    deltas = network.marginal.contributions(vectors, kept, orders)
    profiles, _ = network.profiles(given.cells, kept)
    points, losses = profiles.shape[2], []
    for b, order in enumerate(orders.tolist()):
        size, loss = int(kept[b].sum()), 0.0
        for place, feature in enumerate(order[:size]):
            at = place / max(size - 1, 1) * (points - 1)
            low = min(int(at), points - 2)
            mixed = profiles[b, feature, low] * (low + 1 - at)
            mixed = mixed + profiles[b, feature, low + 1] * (at - low)
            loss = loss + (mixed - deltas[b, place]).square().sum()
        losses.append(loss / max(size, 1))
    return torch.stack([torch.as_tensor(loss) for loss in losses]).mean()


@pytest.mark.parametrize("fields", [{}, SEQUENCE], ids=["set", "sequence"])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_attribution_loss_is_the_mean_of_an_order_and_its_reverse(
    make_network, rows, seeded, fields, missing
):
    network, given = make_network(COLUMNS, **fields), rows(n_rows=16, missing=missing)
    with torch.no_grad():
        found = training.attribution_step(network, given, config(), seeded(4))
        generator = seeded(4)
        orders = random_orders(given.present, generator)
        kept = random_prefixes(given.present, orders, generator)
        reverse = training_reverse(orders, kept)
        there = slow_distillation(network, given, kept, orders)
        back = slow_distillation(network, given, kept, reverse)
    torch.testing.assert_close(found, (there + back) / 2, rtol=1e-4, atol=1e-5)
    with pytest.raises(AssertionError):
        torch.testing.assert_close(found, there, rtol=1e-4, atol=1e-5)


def training_reverse(orders, kept):
    """Return each order with its kept part turned around, by plain lists."""
    turned = [
        order[:size][::-1] + order[size:]
        for order, size in zip(orders.tolist(), kept.sum(1).tolist(), strict=True)
    ]
    return torch.tensor(turned)


def test_the_joint_loss_adds_the_distillation_by_its_weight(make_network, rows, seeded):
    given, settings = rows(n_rows=16), config()
    with torch.no_grad():
        plain, heavy = (
            training.joint_step(
                make_network(COLUMNS, attribution_weight=weight, **SEQUENCE),
                given,
                settings,
                seeded(4),
            )
            for weight in (0.0, 3.0)
        )
        generator = seeded(4)
        orders = random_orders(given.present, generator)
        kept = random_prefixes(given.present, orders, generator)
        network = make_network(COLUMNS, **SEQUENCE)
        distilled = slow_distillation(network, given, kept, orders)
    torch.testing.assert_close(heavy - plain, 3 * distilled, rtol=1e-4, atol=1e-4)


def test_one_feature_leaves_nothing_to_distil(make_network, make_cells, seeded):
    columns = Columns((5,), (True,))
    cells = make_cells(columns, 8, missing=0.0).round()
    given = Rows(cells, torch.zeros(8), torch.ones(8))
    loss = training.attribution_step(make_network(columns), given, config(), seeded())
    assert loss.item() < 1e-9


@pytest.mark.parametrize(("name", "fields"), [("value", {}), ("joint", SEQUENCE)])
def test_labels_of_rows_without_weight_do_not_matter(make_network, rows, seeded, name, fields):
    network, given = make_network(COLUMNS, **fields), rows()
    weights = (torch.arange(128) % 3 != 0).float()
    wrong = torch.where(weights == 0, 1 - given.targets, given.targets)
    with torch.no_grad():
        losses = [
            STEPS[name](network, Rows(given.cells, targets, w), config(), seeded(2)).item()
            for targets, w in ((given.targets, weights), (wrong, weights), (wrong, 0 * weights + 1))
        ]
    assert losses[0] == losses[1]
    assert losses[0] != losses[2]


# --- distillation ------------------------------------------------------------------------------


def shapley_error(network, cells, all_coalitions, exact_shapley):
    """Return the relative RMSE of the attributions to the exact Shapley values of v."""
    with torch.no_grad():
        masks = all_coalitions(len(network.columns))
        games = network.values(cells, masks.expand(len(cells), -1, -1))
        expected = exact_shapley(games)
        found = network.attribute(cells, torch.ones_like(cells, dtype=torch.bool))[0]
    return ((found - expected).square().mean() / expected.square().mean()).sqrt().item()


def check_distilled(after, before):
    assert after < before / 2
    assert after < 0.12


@pytest.mark.parametrize(("attribution", "scale"), [("context", 0.1), ("attention", 0.2)])
def test_distillation_approaches_the_exact_shapley_values(
    make_network, make_cells, all_coalitions, exact_shapley, seeded, stir, attribution, scale
):
    columns = Columns((6, 3, 5, 4, 4), (True, False, True, True, False))
    network = make_network(
        columns,
        attribution=attribution,
        attribution_width=16,
        attribution_layers=(32, 32),
        stirred=0.0,
    )
    stir(network.marginal)  # a game with interactions
    stir(network.attribution, scale=scale)  # explained badly
    cells = make_cells(columns, 512, missing=0.0)
    given = Rows(cells, torch.zeros(512), torch.ones(512))
    tools = all_coalitions, exact_shapley
    before = shapley_error(network, cells[:100], *tools)
    settings = config(phase("attribution", steps=400, batch_size=64, learning_rate=5e-3))
    train(network, given, None, settings, seeded())
    after = shapley_error(network, cells[:100], *tools)
    check_distilled(after, before)
    with pytest.raises(AssertionError):
        check_distilled(before, before)
