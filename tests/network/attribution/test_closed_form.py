"""The formula gives the Shapley values of the set network."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from sasanet import Architecture, SASANetClassifier
from sasanet.datasets import load_german_credit, make_gaussian_probit
from sasanet.network.attribution import closed_form
from sasanet.network.attribution.closed_form import (
    CellBudget,
    ClosedFormAttribution,
    end_slopes,
    enumerated,
    expected_growth,
    second_look,
)
from sasanet.network.coalitions import mean_over_positions
from sasanet.network.layers import feed_forward
from sasanet.network.sasanet import SASANet
from sasanet.network.set_value import SetFunction
from sasanet.shapley import exact_shapley, game_of
from sasanet.table.columns import Columns

# The formula asks nothing of the labels: no teacher, no rows held out. Large steps: a steep game.
QUICK = {"random_state": 0, "teacher_weight": 0, "validation_fraction": 0}
SMALL = {"width": 32, "marginal_layers": (16,)}
STEEP = QUICK | {"learning_rate": 3e-2, "network": Architecture(dropout=0, **SMALL)}
FEW = Columns((5, 6, 4, 3, 7), (True, False, True, False, True))


def still(network):
    return network.requires_grad_(False)


@pytest.fixture(scope="module")
def wide():
    """Return a model of 12 correlated features, too many to enumerate, and rows of it."""
    table = make_gaussian_probit(1_000, n_features=12, correlation=0.5, random_state=0)
    model = SASANetClassifier(**STEEP, max_epochs=10).fit(table.X, table.y)
    return model, table.X[:60]


@pytest.fixture(scope="module")
def truth(wide):
    """Return the Shapley values of those rows, by enumeration."""
    model, X = wide
    return exact_shapley(game_of(model, X), X.shape[1])


def function_and_vectors(model, X):
    """Return the set function of a model with one member, and the cell vectors of rows."""
    marginal = still(model.network_).marginal
    _, cells = model._encode(X)
    ((function, vectors),) = marginal.members(marginal.cell_vectors(cells, ~cells.isnan()))
    return function, vectors


def r_squared(values, truth):
    return 1 - ((values - truth) ** 2).mean() / truth.var()


def test_there_is_nothing_to_learn(wide):
    model, _ = wide
    assert isinstance(model.network_.attribution, ClosedFormAttribution)
    assert not list(model.network_.attribution.parameters())
    assert not model.network_.attribution.state_dict()
    assert {record["phase"] for record in model.history_} == {"value"}


@pytest.mark.parametrize("members", [1, 3])
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_with_few_columns_the_values_are_exact(make_network, make_cells, n_outputs, members):
    fields = {"attribution": "closed_form", "members": members}
    network = still(make_network(FEW, n_outputs, cap=3.0, **fields))
    cells = make_cells(FEW)
    present = ~cells.isnan()

    def game(masks):
        coalitions = torch.from_numpy(masks)[None] & present[:, None]
        return network.values(cells, coalitions).double().numpy()

    found = network.attribute(cells, present)[0].double().numpy()
    np.testing.assert_allclose(found, exact_shapley(game, len(FEW)), atol=2e-6)


def test_with_many_columns_the_values_are_nearly_exact(wide, truth):
    model, X = wide
    assert r_squared(model.explain(X).values, truth) > 0.999


def test_with_members_the_values_are_the_mean_of_theirs(monkeypatch):
    table = make_gaussian_probit(1_000, n_features=12, correlation=0.5, random_state=0)
    shape = Architecture(**SMALL, members=3)
    model = SASANetClassifier(shape, **QUICK, max_epochs=12).fit(table.X, table.y)
    X = table.X[:40]
    truth = exact_shapley(game_of(model, X), 12)
    assert r_squared(model.explain(X).values, truth) > 0.999
    assert len({tuple(row) for row in model.network_.marginal.factors.sign().tolist()}) == 3

    def first_only(self, formula, present, vectors, ends, value):
        (function, own), *_ = self.marginal.members(vectors)
        return formula(function, present, own, ends[..., 0, :], value[:, 0])

    monkeypatch.setattr(SASANet, "_mean_over_members", first_only)  # the twin: one for all
    assert r_squared(model.explain(X).values, truth) < 0.99


def test_a_formula_without_the_variance_would_not_pass(wide, truth, monkeypatch):
    def certain(marginal, mean, variance, followed, presence, mixture):
        nothing = torch.zeros_like(variance), torch.zeros_like(followed), 0 * presence
        return ORIGINAL(marginal, mean, *nothing, mixture)

    ORIGINAL = closed_form.expected_value
    monkeypatch.setattr(closed_form, "expected_value", certain)
    model, X = wide
    assert r_squared(model.explain(X).values, truth) < 0.999


def test_missing_cells_are_absent_players(wide):
    model, X = wide
    holes = X.mask(np.random.RandomState(0).random_sample(X.shape) < 0.4)
    found = model.explain(holes).values
    assert (found[holes.isna().to_numpy()] == 0).all()
    truth = exact_shapley(game_of(model, holes), X.shape[1])
    assert r_squared(found, truth) > 0.999


def test_growth_is_the_expected_gain_at_a_share(wide):
    """∂F/∂p_i at t is what i adds to a coalition that has each other feature with chance t."""
    model, X = wide
    function, vectors = function_and_vectors(model, X[:12])
    found = expected_growth(function, vectors, (0.3, 0.8), CellBudget(3, 16))[..., 0]
    drawn = torch.empty_like(found)
    generator = torch.Generator().manual_seed(0)
    for column, share in enumerate((0.3, 0.8)):
        there = (torch.rand(2_000, X.shape[1], generator=generator) < share).float()
        for i in range(X.shape[1]):
            with_i, without = there.clone(), there.clone()
            with_i[:, i], without[:, i] = 1, 0
            sums = torch.stack([with_i @ vectors, without @ vectors])
            drawn[:, i, column] = -function.value_of_sums(sums).diff(dim=0)[0, ..., 0].mean(1)
    assert r_squared(found.numpy(), drawn.numpy()) > 0.997
    assert r_squared(found.flip(2).numpy(), drawn.numpy()) < 0.99  # the twin: the other share


def test_the_formula_approaches_enumeration_as_cells_are_pinned(wide):
    """With every cell pinned nothing is left to approximate: the error falls from pin to pin."""
    model, X = wide
    function, vectors = function_and_vectors(model, X[:8])
    shares = closed_form.INSIDE, 1 - closed_form.INSIDE
    inside, _ = enumerated(function, vectors)
    formulas = [expected_growth(function, vectors, shares, CellBudget(n, 12)) for n in (0, 3, 6, 9)]
    errors = [float((found - inside).square().mean()) for found in formulas]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < errors[0] / 10
    mixed_up = float((formulas[-1].flip(1) - inside).square().mean())  # the twin
    assert mixed_up > errors[0]


def test_more_effort_is_closer():
    table = make_gaussian_probit(1_000, n_features=30, correlation=0.3, random_state=0)
    model = SASANetClassifier(Architecture(**SMALL), **QUICK, max_epochs=6).fit(table.X, table.y)
    function, vectors = function_and_vectors(model, table.X[:20])
    best = expected_growth(function, vectors, (0.3, 0.7), CellBudget(6, 30))
    little, some, much = (
        (expected_growth(function, vectors, (0.3, 0.7), CellBudget(*effort)) - best).square().mean()
        for effort in ((0, 4), (1, 16), (3, 30))
    )
    assert much < some < little


@pytest.fixture(scope="module")
def steep():
    """Return a game of 16 features, a few of which decide it, whichever come first."""
    torch.manual_seed(0)
    vectors = -torch.linspace(0.3, 1, 16)[:, None] * (1 + 0.5 * torch.randn(4, 16, 16))
    rho = still(feed_forward((16, 8, 1), nn.ReLU(), 0.0, activate_first=True))
    for layer in (rho[2], rho[5]):
        layer.weight.abs_()
    function = SetFunction(rho, torch.ones(16), math.inf)  # each feature takes some of the ones
    total = vectors.sum(1, keepdim=True)
    last = function.value_of_sums(total) - function.value_of_sums(total - vectors)
    ends = torch.stack([function.value_of_sums(vectors), last], 2)
    return function, vectors, ends, function.value_of_sums(total)[:, 0]


def growth(function, vectors, all_coalitions):
    """Return ∂F/∂p_i as a function of t, by enumeration in double precision: [B, N]."""
    n = vectors.shape[1]
    masks = all_coalitions(n).float()
    values = function.value_of_sums(masks @ vectors)[..., 0].double()
    others = (masks.sum(1, keepdim=True) - masks).double()
    return lambda t: values @ ((2 * masks - 1) * t**others * (1 - t) ** (n - 1 - others))


def test_slopes_at_the_ends_are_how_growth_changes_there(steep, all_coalitions):
    function, vectors, _, _ = steep
    found = end_slopes(function, vectors)[..., 0].double()
    growth_at = growth(function, vectors, all_coalitions)
    for end, (near, far) in enumerate(((0.0, 1e-4), (1 - 1e-4, 1.0))):
        slope = (growth_at(far) - growth_at(near)) / 1e-4
        torch.testing.assert_close(found[..., end], slope, rtol=0.01, atol=0.01)
        assert (found[..., 1 - end] - slope).abs().max() > 0.1  # the twin: the other end


def test_a_second_look_at_steep_profiles_is_closer(steep, monkeypatch):
    function, vectors, ends, value = steep
    _, truth = enumerated(function, vectors)
    module, present = ClosedFormAttribution(16, 8), torch.ones(4, 16, dtype=torch.bool)

    def error():
        profile = module(function, present, vectors, ends, value)
        return (mean_over_positions(profile, present) - truth).square().mean().sqrt().item()

    looked_at = []
    monkeypatch.setattr(
        closed_form, "second_look", lambda *args: looked_at.append(args) or second_look(*args)
    )
    twice = error()
    assert looked_at
    monkeypatch.setattr(closed_form, "INACCURATE", math.inf)
    assert twice < error()


def test_a_row_alone_is_explained_as_among_others():
    """Rows are treated by how many cells they have: some are enumerated, others are not."""
    table = make_gaussian_probit(600, n_features=30, correlation=0.3, random_state=0)
    X = table.X.copy()
    X.iloc[:20, 2:] = X.iloc[:20, 2:].mask(np.random.RandomState(0).random_sample((20, 28)) < 0.8)
    model = SASANetClassifier(**QUICK, max_epochs=2).fit(X, table.y)
    together = model.explain(X[:40]).values
    alone = np.concatenate([model.explain(X[i : i + 1]).values for i in range(40)])
    np.testing.assert_allclose(alone, together, atol=1e-5)


def test_profiles_read_at_positions_have_the_attribution_as_their_mean(wide):
    model, X = wide
    network = still(model.network_)
    _, cells = model._encode(X)
    present = ~cells.isnan()
    profiles, _ = network.profiles(cells, present)
    mean = mean_over_positions(profiles, present)
    np.testing.assert_allclose(mean, network.attribute(cells, present)[0], atol=1e-5)
    ends, _ = network.marginal.ends(cells, present, network.marginal.cell_vectors(cells, present))
    first = np.corrcoef(profiles[:, :, 0, 0].flatten(), ends[:, :, 0, 0, 0].flatten())[0, 1]
    assert first > 0.99  # the first point is what a feature adds when nothing is known


def test_real_rows_with_categories_are_nearly_exact():
    X, y = load_german_credit()
    model = SASANetClassifier(**QUICK, max_epochs=6).fit(X, y)
    report = model.audit(X, n_rows=16, n_orders=1_000)
    assert report["self-game R²"].value > 0.999
