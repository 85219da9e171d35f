"""What defines each baseline: its constraint holds, and the check notices when it does not."""

import math

import numpy as np
import pandas as pd
import pytest
import torch

from sasanet import baselines
from sasanet.baselines.harsanyi import HarsanyiNet
from sasanet.baselines.nam import NAM, FirstUnits
from sasanet.baselines.network import GroupedLinear, InputUnits
from sasanet.baselines.senn import SENN
from sasanet.baselines.shapnet import ShapleyModules, SHAPNet, all_pairs, butterfly
from sasanet.baselines.site import SITE, prototype_losses
from sasanet.baselines.sscn import SSCN
from sasanet.baselines.viashap import ViaSHAP
from sasanet.table.columns import Columns
from sasanet.training.loop import Rows

COLUMNS = Columns((5, 4, 1, 3, 6), (True, False, True, False, True))


@pytest.fixture
def cells():
    """Return encoded rows with standard scores, some cells missing."""
    generator = torch.Generator().manual_seed(0)
    found = torch.randn(40, 5, generator=generator, dtype=torch.float64)
    for column, places in ((1, 4), (3, 3)):
        found[:, column] = torch.randint(0, places, (40,), generator=generator).double()
    found[torch.rand(40, 5, generator=generator) < 0.15] = math.nan
    return found


@pytest.fixture
def build(stir):
    """Return the maker of networks in double precision, no parameter left at its start."""

    def make(network, *settings, n_outputs=1):
        torch.manual_seed(0)
        return stir(network(COLUMNS, n_outputs, *settings), scale=0.1).double().eval()

    with torch.random.fork_rng(devices=[]):
        yield make


@pytest.fixture
def shapley(all_coalitions, exact_shapley):
    """Return the function that enumerates the Shapley values of a network's reference game."""

    def enumerate_(network, cells):
        masks = all_coalitions(cells.shape[1]).expand(len(cells), -1, -1)
        with torch.no_grad():
            return exact_shapley(network.values(cells, masks))

    return enumerate_


def relative_error(found, truth):
    return ((found - truth).square().mean() / truth.square().mean()).sqrt().item()


def crossed(n_rows=400, seed=0):
    """Return a table with an interaction, and both kinds of columns."""
    random = np.random.RandomState(seed)
    X = pd.DataFrame(
        {
            "a": random.normal(size=n_rows),
            "b": random.choice(["u", "v"], n_rows),
            "c": random.normal(size=n_rows),
            "d": random.normal(size=n_rows),
        }
    )
    return X, (X["a"] * X["c"] + (X["b"] == "u") * X["d"] > 0).astype(int)


# --- what networks read ------------------------------------------------------------------------


def test_units_are_scores_and_levels_and_a_missing_cell_is_zero():
    units = InputUnits(Columns((9, 4, 1), (True, False, False)))
    cells = torch.tensor([[0.5, 2.0, 0.0], [-1.5, 0.0, math.nan], [math.nan, math.nan, 0.0]])
    expected = torch.tensor([[0.5, 0, 1, 0, 0], [-1.5, 0, 0, 0, 0], [0, 0, 0, 0, 0]])
    assert torch.equal(units(cells), expected)
    assert units.owners.tolist() == [0, 1, 1, 1, 2]
    added = units.by_column(torch.tensor([[[1.0], [2], [3], [4], [5]]]))
    assert added.flatten().tolist() == [1, 9, 5]


def test_grouped_maps_are_one_linear_map_per_group():
    layer = GroupedLinear(3, 4, 2)
    inputs = torch.randn(3, 5, 4)
    slowly = torch.stack([inputs[g] @ layer.weight[g] + layer.bias[g] for g in range(3)])
    torch.testing.assert_close(layer(inputs), slowly)


NETWORKS = {
    "nam": (NAM, (8, 6), "exu", 0.1, 0.1),
    "senn": (SENN, (8,), 0.1),
    "sscn": (SSCN, 8, 2, 0.1),
    "viashap": (ViaSHAP, (8,)),
    "harsanyi": (HarsanyiNet, 12, 3),
    "shallow": (SHAPNet, "shallow", 4, 6),
    "deep": (SHAPNet, "deep", 4, 6),
    "site": (SITE, (8,), 0.1),
}


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_the_output_is_the_bias_plus_all_attributions(build, cells, name, n_outputs):
    network = build(*NETWORKS[name], n_outputs=n_outputs)
    found = network.attributions(cells)
    assert found.shape == (40, 5, n_outputs)
    torch.testing.assert_close(network.bias + found.sum(1), network(cells))
    everything = torch.ones(40, 1, 5, dtype=torch.bool)
    torch.testing.assert_close(network.values(cells, everything)[:, 0], network(cells))


# --- NAM: φ_i depends on x_i only --------------------------------------------------------------


def check_own_affair(network, cells):
    """What other columns hold does not change a column's attribution, to the last bit."""
    before = network.attributions(cells)
    for column in range(cells.shape[1]):
        others = cells.roll(1, 0).clone()
        others[:, column] = cells[:, column]
        assert torch.equal(network.attributions(others)[:, column], before[:, column])


@pytest.mark.parametrize("activation", ["exu", "relu"])
def test_an_additive_models_attribution_depends_on_its_own_column_only(build, cells, activation):
    check_own_affair(build(NAM, (8, 6), activation, 0.5, 0.5), cells)
    with pytest.raises(AssertionError):
        check_own_affair(build(SENN, (8,), 0.1), cells)


def test_first_units_are_those_of_the_paper():
    numbers = torch.tensor([-1.0, 0.0, 0.3, 2.0]).view(1, 4, 1).expand(2, 4, 1)
    steep, plain = FirstUnits(2, 3, "exu"), FirstUnits(2, 3, "relu")
    for layer in (steep, plain):
        distance = numbers - layer.centre
        rising = (layer.weight.exp() if layer is steep else layer.weight) * distance
        expected = rising.clamp_min(0).clamp_max(1) if layer is steep else rising.clamp_min(0)
        assert torch.equal(layer(numbers), expected)
    assert (steep.weight > 3).all()


def test_feature_dropout_drops_whole_columns_in_training_only(build):
    network = build(NAM, (8,), "relu", 0.0, 0.5, n_outputs=3)
    ones = torch.ones(200, 5, 3)
    assert torch.equal(network.drop_features(ones), ones)
    dropped = network.train().drop_features(ones)
    assert (dropped == dropped[..., :1]).all()
    assert set(dropped.unique().tolist()) == {0.0, 2.0}


def test_an_additive_models_functions_have_mean_zero_over_the_training_rows():
    X, y = crossed()
    model = baselines.NAMClassifier(random_state=0, max_epochs=3, validation_fraction=0).fit(X, y)
    e = model.explain(X)
    np.testing.assert_allclose(e.values.mean(axis=0), 0, atol=1e-5)
    assert model.base_value_[0] == pytest.approx(model.decision_function(X).mean(), abs=1e-5)
    assert np.abs(e.values).max() > 0.05


def test_the_output_penalty_makes_contributions_smaller():
    X, y = crossed()
    y = (X["a"] > 0).astype(int)
    sizes = [
        baselines.NAMClassifier(random_state=0, max_epochs=10, output_penalty=penalty)
        .fit(X, y)
        .explain(X)
        .values.std()
        for penalty in (0.0, 10.0)
    ]
    assert sizes[1] < sizes[0] / 2


# --- SENN: φ_i / x_i is about the gradient -----------------------------------------------------


def slope_gap(model, X):
    """Return how far φ_i / x_i is from the slope of f by finite differences, relative to it."""
    step, gaps, slopes = 1e-2, [], []
    values = model.explain(X)
    for column in ("a", "c", "d"):
        score = (X[column] - model.encoder_.columns[X.columns.get_loc(column)].mean).to_numpy()
        far = np.abs(score) > 0.3
        high, low = (
            model.decision_function(X.assign(**{column: X[column] + s})) for s in (step, -step)
        )
        slope = ((high - low) / (2 * step))[far]
        gaps.append(values[:, column].values[far, 0] / score[far] - slope)
        slopes.append(slope)
    return np.sqrt(np.mean(np.concatenate(gaps) ** 2) / np.mean(np.concatenate(slopes) ** 2))


def test_the_gradient_penalty_makes_coefficients_the_gradient():
    X, _ = crossed()
    y = (X["a"] + X["d"] + 2 * (X["b"] == "u") > 1).astype(int)  # coefficients can be the gradient
    settings = {"random_state": 0, "max_epochs": 30, "learning_rate": 0.01, "layers": (32,)}
    models = [
        baselines.SENNClassifier(gradient_penalty=penalty, **settings).fit(X, y)
        for penalty in (1.0, 0.01, 0.0)
    ]
    assert min(model.score(X, y) for model in models) > 0.95
    strict, default, free = (slope_gap(model, X) for model in models)
    assert strict < 0.02
    assert default < free
    assert free > 0.1  # the twin: without the penalty they are not


# --- SSCN: dominances sum to 1, values are single-feature --------------------------------------


def check_dominances(dominances):
    assert (dominances > 0).all()
    torch.testing.assert_close(dominances.sum(1), torch.ones_like(dominances[:, 0]))


def test_attributions_are_dominance_times_single_feature_value(build, cells):
    network = build(SSCN, 8, 2, 0.1)
    vectors = network.embedding(cells)
    dominances, values = network.dominances(vectors), network.single_values(vectors)
    check_dominances(dominances)
    with pytest.raises(AssertionError):
        check_dominances(torch.sigmoid(dominances))
    torch.testing.assert_close(network.attributions(cells), dominances[..., None] * values)
    others = cells.roll(1, 0).clone()
    others[:, 0] = cells[:, 0]
    moved = network.embedding(others)
    assert torch.equal(network.single_values(moved)[:, 0], values[:, 0])
    assert not torch.equal(network.dominances(moved)[:, 0], dominances[:, 0])


# --- HarsanyiNet and SHAPNet: exact for their reference game -----------------------------------


def check_exact(found, truth):
    torch.testing.assert_close(found, truth, rtol=0, atol=1e-12)


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_harsanyi_units_give_exact_shapley_values(build, cells, shapley, n_outputs):
    network = build(HarsanyiNet, 40, 3, n_outputs=n_outputs)
    truth = shapley(network, cells)
    fields = network.receptive_fields()
    used = (network.hidden(cells) > 0).any(0) & (fields.sum(2) > 2)
    assert used.any()  # otherwise no unit of three columns or more was put to the test
    check_exact(network.attributions(cells), truth)
    network.receptive_fields = lambda: torch.ones_like(fields)  # the twin: everybody shares
    with pytest.raises(AssertionError):
        check_exact(network.attributions(cells), truth)


def test_trained_harsanyi_units_stay_exact_and_change_their_children(shapley):
    X, y = crossed()
    model = baselines.HarsanyiNetClassifier(
        random_state=0, max_epochs=10, learning_rate=0.02, width=24
    ).fit(X, y)
    network = model.network_
    counts = network.layers[1].chosen().sum(1)
    assert counts.min() < 1 or counts.max() > 3  # at first a unit has one to three
    found = torch.tensor(model.explain(X).values[..., None])
    truth = shapley(network, model._encode(X)[1])
    torch.testing.assert_close(found, truth, rtol=0, atol=1e-5)


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_shallow_shapley_modules_give_exact_shapley_values(build, cells, shapley, n_outputs):
    network = build(SHAPNet, "shallow", 4, 6, n_outputs=n_outputs)
    check_exact(network.attributions(cells), shapley(network, cells))


def test_deep_shapley_modules_are_exact_layer_by_layer_only(build, cells, shapley):
    network = build(SHAPNet, "deep", 4, 6)
    with pytest.raises(AssertionError):
        check_exact(network.attributions(cells), shapley(network, cells))
    assert (network.attributions(cells)[cells.isnan()] == 0).all()


def test_every_layer_of_modules_is_exact_for_its_own_inputs(all_coalitions, exact_shapley):
    for pairs in (all_pairs(4)[0], butterfly(4)[1]):
        modules = ShapleyModules(pairs, 3, 5, 2).double()
        inputs = torch.randn(6, 4, 3, dtype=torch.float64)
        masked = inputs[:, None] * all_coalitions(4)[..., None]
        games = torch.stack([one_by_one(modules, masked[:, m]) for m in range(16)], 1)
        with torch.no_grad():
            check_exact(modules(inputs), exact_shapley(games))


def one_by_one(modules, inputs):
    """Return the sum of all modules' functions g(a, b), by a loop: [B, N, D] → [B, out]."""
    total = 0.0
    for p, (i, j) in enumerate(modules.pairs.T.tolist()):
        hidden = inputs[:, i] @ modules.first[p] + inputs[:, j] @ modules.second[p]
        total = total + torch.relu(hidden + modules.shift[p]) @ modules.out[p]
    return total.detach()


@pytest.mark.parametrize("n_columns", [1, 2, 3, 5, 8, 32])
def test_all_columns_meet(n_columns):
    pairs = all_pairs(n_columns)[0]
    size = max(2, n_columns)
    assert pairs.shape[1] == size * (size - 1) // 2
    reached = torch.eye(2 ** len(butterfly(n_columns)), dtype=torch.bool)
    for first, second in butterfly(n_columns):
        assert len({*first.tolist(), *second.tolist()}) == len(reached)  # disjoint, nobody left out
        both = reached[first] | reached[second]
        reached[first], reached[second] = both, both
    assert reached.all()


# --- ViaSHAP: the loss makes φ the Shapley value -----------------------------------------------


def test_the_shapley_loss_makes_attributions_shapley_values(shapley):
    X, y = crossed()
    errors = []
    for weight in (1.0, 0.0):
        model = baselines.ViaSHAPClassifier(
            random_state=0, max_epochs=30, learning_rate=0.01, shapley_weight=weight
        ).fit(X, y)
        found = torch.tensor(model.explain(X).values[..., None])
        errors.append(relative_error(found, shapley(model.network_, model._encode(X)[1])))
    assert errors[0] < errors[1] / 2  # the twin: without the loss they only have the right sum


def test_of_nothing_viashap_predicts_its_base_value(build, cells):
    network = build(ViaSHAP, (8,))
    nothing = torch.zeros(40, 1, 5, dtype=torch.bool)
    torch.testing.assert_close(network.values(cells, nothing)[:, 0], network.bias.expand(40, 1))


# --- SITE: prototypes look like rows of their class --------------------------------------------


def prototype_preference(model, X, y):
    """Return how much nearer prototypes are to the mean row of their own class than the other's."""
    network, (_, cells) = model.network_, model._encode(X)
    with torch.no_grad():
        inputs = network.inputs(cells)
        prototypes = torch.tanh(network.generate(inputs)).mean(0)
    means = torch.stack([inputs[torch.tensor((y == c).tolist())].mean(0) for c in (0, 1)])
    distances = torch.cdist(prototypes, means)
    return (distances.flip(1).diagonal() / distances.diagonal()).min().item()


def test_the_penalty_makes_prototypes_resemble_their_class():
    X, _ = crossed()
    y = (X["a"] + 2 * (X["b"] == "u") > 1).astype(int)
    strict, free = (
        prototype_preference(
            baselines.SITEClassifier(
                random_state=0, max_epochs=20, learning_rate=0.01, prototype_penalty=penalty
            ).fit(X, y),
            X,
            y,
        )
        for penalty in (5.0, 0.0)
    )
    assert strict > 2 * free  # the twin: without the penalty they only have to point the right way


def test_prototypes_are_compared_with_rows_of_their_own_class(seeded):
    inputs = torch.tensor([[1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    rows = Rows(inputs, torch.tensor([0.0, 0.0, 1.0]), torch.ones(3))
    right = torch.stack([5 * inputs[0], 5 * inputs[2]]).expand(3, 2, 2)
    assert (prototype_losses(right, inputs, rows, seeded()) < 1e-3).all()
    assert (prototype_losses(right.flip(1), inputs, rows, seeded()) > 5).all()
    alone = Rows(inputs[:2], torch.zeros(2), torch.ones(2))
    assert (prototype_losses(right[:2], inputs[:2], alone, seeded()) < 1e-3).all()


def test_there_is_no_regression_by_prototypes():
    assert not hasattr(baselines, "SITERegressor")
