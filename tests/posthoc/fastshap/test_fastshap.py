"""FastSHAP learns known Shapley values, adds up by construction, draws by the Shapley kernel."""

import math

import numpy as np
import pandas as pd
import pytest
import torch

from sasanet import SASANetClassifier
from sasanet.datasets import load_penguins, make_gaussian_probit, make_gaussian_quadratic
from sasanet.errors import InvalidInputError
from sasanet.network.coalitions import kernel_coalitions, random_coalitions
from sasanet.posthoc import FastSHAP, marginal_game
from sasanet.posthoc.fastshap import learning
from sasanet.shapley import all_coalitions, exact_shapley, game_of

SMALL = {"width": 32, "pairs": 4, "batch_size": 64}
TINY = {**SMALL, "surrogate_steps": 3, "explainer_steps": 3}


def correlation(found, truth):
    return np.corrcoef(np.ravel(found), np.ravel(truth))[0, 1]


# --- what it learns --------------------------------------------------------------------------


def test_it_learns_the_shapley_values_of_a_given_game():
    table = make_gaussian_quadratic(1100, n_features=5, correlation=0.4)
    known = table.value(table.X, np.broadcast_to(all_coalitions(5), (1100, 32, 5)))

    def value(rows, masks):
        return known[rows.index.to_numpy()[:, None], masks @ 2 ** np.arange(5)]

    fast = FastSHAP(**SMALL, explainer_steps=500).fit_value(table.X[:1000], value, units="target")
    fresh = table.X[1000:]
    e, truth = fast.explain(fresh), table.shapley(fresh)
    assert correlation(e.values, truth) > 0.97
    shuffled = np.random.default_rng(0).permutation(e.values)  # the twin: other rows' values
    assert correlation(shuffled, truth) < 0.5


def test_through_a_surrogate_it_learns_the_true_conditional_game():
    # Dependent features: the surrogate must find E[f(x) | x_S], which here is known.
    table = make_gaussian_probit(2000, n_features=5, correlation=0.6)
    everything = np.ones(5, dtype=bool)
    fast = FastSHAP(**SMALL, surrogate_steps=500, explainer_steps=500)
    fast.fit(table.X, lambda X: table.expectation(X, everything), "binary")
    rows = table.X[:100]
    e = fast.explain(rows)
    assert correlation(e.values, exact_shapley(game_of(fast, rows), 5)) > 0.98  # its own game
    assert correlation(e.values, table.shapley(rows)) > 0.95  # the true one
    other = marginal_game(lambda X: table.value(X, everything), rows, table.X, n_background=50)
    assert correlation(e.values, exact_shapley(other, 5)) < 0.9  # the twin: the marginal one
    assert e.units == "log-odds"


def test_coalitions_off_the_shapley_kernel_teach_something_else(monkeypatch):
    # v = 1 once three of five are there, plus 1 for the first alone: the best additive fit under
    # another distribution of sizes is not the Shapley value.
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 5)), columns=list("abcde"))

    def value(_, masks):
        return masks[:, :, 1:4].all(2) * 4.0 + masks[:, :, 0]

    wanted = np.array([1.0, 4 / 3, 4 / 3, 4 / 3, 0.0])
    settings = {**SMALL, "pairs": 16, "explainer_steps": 150}

    def error():
        found = FastSHAP(**settings).fit_value(X, value).explain(X[:20]).values
        return np.abs(found.mean(axis=0) - wanted).max()

    assert error() < 0.05

    def uniform(present, pairs, generator):
        kept = [random_coalitions(present, generator) for _ in range(pairs)]
        return torch.stack([*kept, *(present & ~mask for mask in kept)], 1)

    monkeypatch.setattr(learning, "kernel_coalitions", uniform)
    assert error() > 0.08


# --- adding up -------------------------------------------------------------------------------


def adds_up(fast, X):
    e = fast.explain(X)
    everything = np.ones(X.shape[1], dtype=bool)
    return np.allclose(e.prediction, fast.value(X, everything), atol=1e-9)


def test_it_adds_up_however_little_it_was_trained(monkeypatch):
    X = np.random.default_rng(0).normal(size=(60, 4))
    fast = FastSHAP(**TINY).fit(X, lambda cells: cells[:, 0] * cells[:, 1], "regression")
    assert adds_up(fast, X)
    # The twin: without additive normalisation it does not.
    monkeypatch.setattr("sasanet.posthoc.fastshap.model.add_up", lambda phi, *_: phi)
    assert not adds_up(fast, X)


def test_classes_words_and_missing_cells():
    X, y = load_penguins()
    classes = sorted(set(y))
    chance = np.stack([(np.asarray(y) == c) * 0.7 + 0.1 for c in classes], axis=1)
    fast = FastSHAP(**TINY).fit(X, lambda _: chance, "multiclass", output_names=classes)
    e = fast.explain(X)
    assert e.values.shape == (*X.shape, 3)
    assert e.output_names == tuple(classes)
    assert (e.values[X.isna().to_numpy()] == 0).all()
    assert adds_up(fast, X)
    np.testing.assert_allclose(np.exp(e.prediction).sum(axis=1), 1.0, atol=1e-9)
    np.testing.assert_allclose(np.exp(e.base_values).sum(axis=1), 1.0, atol=1e-9)


def test_a_fitted_sasanet_needs_no_surrogate():
    X, y = load_penguins()
    model = SASANetClassifier(random_state=0, max_epochs=1, teacher_weight=0).fit(X, y)
    fast = FastSHAP(**TINY).fit_value(X, model.value, output_names=model.classes_)
    e = fast.explain(X[:20])
    assert list(fast.history_) == ["explainer"]
    np.testing.assert_allclose(e.prediction, model.decision_function(X[:20]), atol=1e-5)
    np.testing.assert_allclose(e.base_values, model.explain(X[:20]).base_values, atol=1e-5)


def test_columns_in_another_order_are_the_same_table():
    X, _ = load_penguins()
    fast = FastSHAP(**TINY).fit(X, lambda table: np.arange(len(table)) * 1.0, "regression")
    turned = fast.explain(X[X.columns[::-1]])
    assert turned.feature_names == tuple(X.columns)
    np.testing.assert_array_equal(turned.values, fast.explain(X).values)


def test_a_binary_model_may_give_both_probabilities():
    X = np.random.default_rng(0).normal(size=(60, 3))
    second = 1 / (1 + np.exp(-X[:, 0]))
    both = FastSHAP(**TINY).fit(X, lambda _: np.stack([1 - second, second], 1), "binary")
    one = FastSHAP(**TINY).fit(X, lambda _: second, "binary")
    np.testing.assert_array_equal(both.explain(X).values, one.explain(X).values)


def test_a_single_column_gets_everything():
    X = np.random.default_rng(0).normal(size=(60, 1))
    fast = FastSHAP(**TINY).fit(X, lambda cells: cells[:, 0], "regression")
    e = fast.explain(X)
    np.testing.assert_allclose(e.values[:, 0], e.prediction - e.base_values, atol=1e-9)


# --- one seed, no global state ---------------------------------------------------------------


def test_one_seed_gives_one_explainer_and_leaves_the_global_generator_alone():
    X = np.random.default_rng(0).normal(size=(60, 3))

    def values(seed):
        fast = FastSHAP(**TINY, random_state=seed)
        return fast.fit(X, lambda cells: cells[:, 0], "regression").explain(X).values

    state = torch.get_rng_state()
    np.testing.assert_array_equal(values(0), values(0))
    assert np.abs(values(0) - values(1)).max() > 1e-6
    assert torch.equal(torch.get_rng_state(), state)


def test_losses_are_kept_and_bars_shown_only_when_asked_for(capsys):
    X = np.random.default_rng(0).normal(size=(60, 3))
    for verbose in (False, True):
        fast = FastSHAP(**TINY, verbose=verbose).fit(X, lambda cells: cells[:, 0], "regression")
        assert ("surrogate" in capsys.readouterr().err) is verbose
    assert {name: len(losses) for name, losses in fast.history_.items()} == {
        "surrogate": 3,
        "explainer": 3,
    }


# --- a second fit that fails -----------------------------------------------------------------


def stopped_at(monkeypatch, network):
    """Let training stop like a Ctrl-C when it comes to one of the two networks."""
    learn = learning.learn

    def stop(trained, rows, phase, *rest):
        if phase.name == network:
            raise KeyboardInterrupt
        return learn(trained, rows, phase, *rest)

    monkeypatch.setattr("sasanet.posthoc.fastshap.model.learn", stop)


def break_predict(_):
    raise RuntimeError("the model is gone")


def refit(fast, fail, monkeypatch):
    """Fit again on another table with more columns and another task, and fail on the way."""
    X = pd.DataFrame(np.random.default_rng(1).normal(3.0, 9.0, size=(50, 4)), columns=list("dcba"))
    second = np.random.default_rng(2).random(50)
    with monkeypatch.context() as patch:
        if fail in ("surrogate", "explainer"):
            stopped_at(patch, fail)
            with pytest.raises(KeyboardInterrupt):
                fast.fit(X, lambda _: second, "binary")
        elif fail == "predict":
            with pytest.raises(RuntimeError, match="the model is gone"):
                fast.fit(X, break_predict, "binary")
        elif fail == "predictions":
            with pytest.raises(InvalidInputError, match="finite probabilities"):
                fast.fit(X, lambda _: second + 5, "binary")
        else:
            with pytest.raises(InvalidInputError, match="value must return finite numbers"):
                fast.fit_value(X, lambda _, masks: masks[:, 0, 0])


def state_after(kind, fail, monkeypatch):
    """Return what an explainer says before and after a second fit that failed."""
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=list("abc"))
    fast = kind(**TINY).fit(X, lambda table: table["a"] * table["b"], "regression")

    def state():
        e = fast.explain(X)
        own = fast.value(X, ["a", "c"])
        return e.values, e.base_values, own, fast.history_["explainer"], e.units, fast.units_

    before = state()
    refit(fast, fail, monkeypatch)
    return before, state()


FAILURES = ["predict", "predictions", "surrogate", "explainer", "value"]


@pytest.mark.parametrize("fail", FAILURES)
def test_a_second_fit_that_fails_leaves_the_first_as_it_was(fail, monkeypatch):
    before, after = state_after(FastSHAP, fail, monkeypatch)
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other)


class AssignsEarly(FastSHAP):
    """The twin: keeps the new columns before the explainer is trained."""

    def _learn_surrogate(self, training, *rest):
        self._encoder, self.units_ = training.encoder, "log-odds"
        return super()._learn_surrogate(training, *rest)


def test_a_fit_that_assigns_early_would_be_noticed(monkeypatch):
    with pytest.raises(InvalidInputError):  # the new columns ask for a feature that is not there
        state_after(AssignsEarly, "explainer", monkeypatch)


# --- the sampler -----------------------------------------------------------------------------


def test_sizes_come_as_often_as_the_shapley_kernel_weighs_them(seeded):
    n = 20_000
    present = torch.ones(n, 6, dtype=torch.bool)
    present[:, 5] = False  # five players
    drawn = kernel_coalitions(present, 1, seeded())
    assert drawn.shape == (n, 2, 6)
    assert not drawn[..., 5].any()
    assert torch.equal(drawn[:, 0] ^ drawn[:, 1], present)
    mass = np.array([1 / (s * (5 - s)) for s in range(1, 5)])
    shares = np.bincount(drawn[:, 0].sum(1), minlength=6)[1:5] / n
    np.testing.assert_allclose(shares, mass / mass.sum(), atol=4 * 0.5 / math.sqrt(n))
    members = drawn[:, 0].float().mean(0)[:5]
    np.testing.assert_allclose(members, 0.5, atol=4 * 0.5 / math.sqrt(n))
    even = random_coalitions(present, seeded())  # the twin: another distribution of sizes
    other = np.bincount(even.sum(1), minlength=6)[1:5] / n
    assert np.abs(other - mass / mass.sum()).max() > 10 * 0.5 / math.sqrt(n)


@pytest.mark.parametrize("n_present", [0, 1])
def test_with_less_than_two_players_all_and_none_are_drawn(seeded, n_present):
    present = torch.arange(3).expand(4, 3) < n_present
    drawn = kernel_coalitions(present, 2, seeded())
    assert torch.equal(drawn[:, :2], present[:, None].expand(4, 2, 3))
    assert not drawn[:, 2:].any()


# --- bad input -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("predicted", "task", "words"),
    [
        (np.zeros(9), "ranking", "task must be one of"),
        (np.full(9, 2.0), "binary", "finite probabilities"),
        (np.full((9, 3), 0.5), "multiclass", r"shape \(n, C\), n = 9, for multiclass, got"),
        (np.full(9, np.nan), "regression", "finite numbers"),
        (np.zeros((9, 2)), "regression", r"got shape \(9, 2\)"),
    ],
)
def test_predictions_that_do_not_fit_the_task_are_refused(predicted, task, words):
    with pytest.raises(InvalidInputError, match=words):
        FastSHAP(**TINY).fit(np.eye(9), lambda _: predicted, task)


def test_other_bad_input_is_one_sentence():
    with pytest.raises(InvalidInputError, match="must be fitted first, got"):
        FastSHAP().explain(np.eye(3))
    with pytest.raises(InvalidInputError, match="pairs must be an integer of at least 1"):
        FastSHAP(pairs=0).fit(np.eye(3), lambda X: X[:, 0], "regression")
    with pytest.raises(InvalidInputError, match="learning_rate must be between 0 and 1"):
        FastSHAP(learning_rate=-1.0).fit(np.eye(3), lambda X: X[:, 0], "regression")
    with pytest.raises(InvalidInputError, match="value must return finite numbers of shape"):
        FastSHAP(**TINY).fit_value(np.eye(3), lambda _, masks: masks[:, 0, 0])


def test_its_game_takes_names_and_masks():
    X, _ = load_penguins()
    fast = FastSHAP(**TINY).fit(X, lambda table: np.arange(len(table)) * 1.0, "regression")
    named = fast.value(X[:3], ["island", "sex"])
    mask = X.columns.isin(["island", "sex"])
    np.testing.assert_array_equal(named, fast.value(X[:3], mask))
    many = fast.value(X[:3], np.broadcast_to(all_coalitions(7)[:5], (3, 5, 7)))
    assert many.shape == (3, 5)
    with pytest.raises(InvalidInputError, match=r"must name features, got \['isle'\]"):
        fast.value(X[:3], ["isle"])
