"""The losses of one batch, and that distilling them approaches the Shapley values."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
import torch
from torch.nn import functional as F

from sasanet.network.coalitions import random_coalitions, random_orders, random_prefixes
from sasanet.table.columns import Columns
from sasanet.training.loop import Rows
from sasanet.training.losses import Objective
from sasanet.training.rows import Augmented
from sasanet.training.sasanet_losses import (
    attribution_batch_loss,
    joint_batch_loss,
    value_batch_loss,
)
from training_rows import COLUMNS, LOSSES, SEQUENCE, config, make_rows, phase, train

OBJECTIVE = Objective("binary", torch.zeros(1), full_share=0.5)


@pytest.fixture
def rows(make_cells):
    return partial(make_rows, make_cells)


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
    given, objective = rows(missing=0.0), Objective("binary", torch.zeros(1), full_share=0.0)
    loss = joint_batch_loss(network, given, seeded(4), objective)
    check_prefix_mean(loss, network, given, random_orders(given.present, seeded(4)))
    with pytest.raises(AssertionError):
        check_prefix_mean(loss, network, given, random_orders(given.present, seeded(5)))


def test_every_member_has_a_loss_of_its_own(make_network, rows, seeded):
    network, given = make_network(COLUMNS, members=3, attribution="none"), rows()
    loss = value_batch_loss(network, given, seeded(4), OBJECTIVE)
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


def augmented(given, count=2):
    """Return the rows with further ones for each: other rows, whose targets are known."""
    cells = torch.stack([given.cells.roll(k + 1, 0) for k in range(count)], 1)
    targets = torch.stack([given.targets.roll(k + 1, 0) for k in range(count)], 1)
    return replace(given, augmented=Augmented(cells, targets * 0.8 + 0.1, share=0.3))


def check_augmented(loss, network, given, seeded):
    """Their share of the complete rows' loss is the drawn rows'; coalitions are the own row's."""
    generator = seeded(4)
    kept = random_coalitions(given.present, generator)
    cells, targets = given.augmented.draw(generator)
    masks = torch.stack([given.present, kept, given.present & ~kept], 1)
    own = network.marginal.values(given.cells, masks)[..., 0]
    other = network.marginal.values(cells, ~cells.isnan()[:, None])[..., 0]
    many = given.targets[:, None].expand_as(own)
    losses = F.binary_cross_entropy_with_logits(own, many, reduction="none")
    whole = F.binary_cross_entropy_with_logits(other[:, 0], targets)
    expected = (0.7 * losses[:, 0].mean() + 0.3 * whole + losses[:, 1:].mean()) / 2
    torch.testing.assert_close(loss, expected)


def test_of_augmented_rows_only_the_complete_row_is_learned_from(make_network, rows, seeded):
    network, given = make_network(COLUMNS, attribution="none"), augmented(rows())
    loss = value_batch_loss(network, given, seeded(4), OBJECTIVE)
    check_augmented(loss, network, given, seeded)
    plain = value_batch_loss(network, replace(given, augmented=None), seeded(4), OBJECTIVE)
    with pytest.raises(AssertionError):  # the twin: as if there were none
        check_augmented(plain, network, given, seeded)


def test_a_batch_takes_its_augmented_rows_along(rows):
    given = augmented(rows())
    batch = given[torch.tensor([5, 2])]
    assert torch.equal(
        batch.augmented.cells.nan_to_num(9), given.augmented.cells[[5, 2]].nan_to_num(9)
    )
    assert torch.equal(batch.augmented.targets, given.augmented.targets[[5, 2]])


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
        found = attribution_batch_loss(network, given, seeded(4))
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
    given = rows(n_rows=16)
    with torch.no_grad():
        plain, heavy = (
            joint_batch_loss(
                make_network(COLUMNS, attribution_weight=weight, **SEQUENCE),
                given,
                seeded(4),
                OBJECTIVE,
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
    loss = attribution_batch_loss(make_network(columns), given, seeded())
    assert loss.item() < 1e-9


@pytest.mark.parametrize(("name", "fields"), [("value", {}), ("joint", SEQUENCE)])
def test_labels_of_rows_without_weight_do_not_matter(make_network, rows, seeded, name, fields):
    network, given = make_network(COLUMNS, **fields), rows()
    weights = (torch.arange(128) % 3 != 0).float()
    wrong = torch.where(weights == 0, 1 - given.targets, given.targets)
    with torch.no_grad():
        losses = [
            LOSSES[name](network, Rows(given.cells, targets, w), seeded(2), OBJECTIVE).item()
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
