"""Made tables tell the truth: labels, conditional draws and axioms agree with the closed forms.

Statistical checks reject beyond five standard errors, a chance of 6e-7 each; every one of them is
shown to reject a wrong formula.
"""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

from sasanet.datasets import (
    make_discrete,
    make_gaussian_linear,
    make_gaussian_probit,
    make_gaussian_quadratic,
)
from sasanet.datasets.synthetic import games
from sasanet.errors import InvalidInputError

GAUSSIAN = [make_gaussian_probit, make_gaussian_linear, make_gaussian_quadratic]
MAKERS = [*GAUSSIAN, make_discrete]
BENT = [make_gaussian_probit, make_gaussian_quadratic]  # what is unknown adds a variance term
KNOBS = {"n_features": 7, "correlation": 0.5, "redundant": 1, "null": 1, "symmetric": 1}
NAMES = ["x0", "x1", "x2", "twin0a", "twin0b", "copy_of_x0", "null0"]
condition = games.condition  # kept: tests put broken ones in its place
every_maker = pytest.mark.parametrize("make", MAKERS)


def all_coalitions(d):
    return np.array(list(itertools.product([False, True], repeat=d)))


def some_coalitions(d, n=14):
    return all_coalitions(d)[:: 2**d // n]


# --- the closed forms against labels ----------------------------------------------------------


def label_z(table, expectation, coalition):
    """Return the largest |z| of mean (y - E[y | x_S]) g(x_S), which is 0 for every g."""
    cells = np.where(coalition, table.game.read(table.X), np.nan)
    cells = np.nan_to_num(cells)  # an unknown cell is a constant, so still a function of x_S
    g = np.column_stack([np.ones(len(cells)), expectation, cells, cells**2])
    products = (table.y - expectation)[:, None] * g
    error = products.std(0) / math.sqrt(len(cells))
    return np.abs(products.mean(0)[error > 0] / error[error > 0]).max()


def largest_label_z(table, rows, judged=None):
    """Return the largest |z| over coalitions of what a table, or another one, says of the rows."""
    return max(
        label_z(table, (judged or table).expectation(rows, coalition), coalition)
        for coalition in some_coalitions(7)
    )


def without_correlation(covariance, known):
    return condition(np.eye(len(covariance)), known)


def without_variance(covariance, known):
    projection, left = condition(covariance, known)
    return projection, 0 * left


@every_maker
def test_labels_average_to_the_expectation(make):
    table = make(40_000, missing=0.15, **KNOBS)
    assert largest_label_z(table, table.X) < 5


@pytest.mark.parametrize("make", GAUSSIAN)
def test_labels_reject_a_formula_without_correlation(make, monkeypatch):
    monkeypatch.setattr(games, "condition", without_correlation)
    table = make(40_000, missing=0.15, **KNOBS)
    assert largest_label_z(table, table.X) > 10


@pytest.mark.parametrize("make", BENT)
def test_labels_reject_a_formula_without_the_variance_term(make, monkeypatch):
    monkeypatch.setattr(games, "condition", without_variance)
    table = make(40_000, missing=0.15, **KNOBS)
    assert largest_label_z(table, table.X) > 10


@every_maker
def test_labels_reject_missing_cells_read_as_known_ones(make):
    table = make(40_000, missing=0.15, **KNOBS)
    filled = table.X.fillna("a" if make is make_discrete else 0.0)
    assert largest_label_z(table, filled) > 10


def test_discrete_labels_reject_the_game_of_independent_columns():
    table = make_discrete(40_000, **KNOBS)
    other = make_discrete(1, **KNOBS | {"correlation": 0.0})
    assert largest_label_z(table, table.X, judged=other) > 10


# --- the closed forms against conditional draws -----------------------------------------------


def outcome(game, x):
    """Return E[y | x] of complete rows, from how y was made."""
    score = game.intercept + x @ game.slopes
    if hasattr(game, "curvature"):
        return score + np.einsum("ni,ij,nj->n", x, game.curvature, x)
    return np.array([0.5 * math.erfc(-s / game.noise / math.sqrt(2)) for s in score])


def conditional_draws(game, row, known, n_draws, seed=0):
    """Draw x given x_S through the precision matrix Λ: x_R ~ N(-Λ_RR⁻¹ Λ_RS x_S, Λ_RR⁻¹)."""
    precision = np.linalg.inv(game.covariance)
    within, across = precision[np.ix_(~known, ~known)], precision[np.ix_(~known, known)]
    draws = np.random.default_rng(seed).standard_normal((n_draws, (~known).sum()))
    x = np.tile(row, (n_draws, 1))
    # Λ = LL' turns standard normals into draws of covariance Λ⁻¹ by z L⁻¹.
    shift = -np.linalg.solve(within, across @ row[known])
    x[:, ~known] = shift + draws @ np.linalg.inv(np.linalg.cholesky(within))
    return x


def largest_draw_z(table):
    z = []
    for known in some_coalitions(7, 9)[:-1]:  # of the last one only null0 is drawn: no noise
        expected = table.expectation(slice(4), known)
        for row, e in zip(table.X.to_numpy()[:4], expected, strict=True):
            drawn = outcome(table.game, conditional_draws(table.game, row, known, 4_000))
            z.append(abs(drawn.mean() - e) / (drawn.std() / math.sqrt(len(drawn))))
    return max(z)


@pytest.mark.parametrize("make", GAUSSIAN)
def test_conditional_draws_average_to_the_expectation(make):
    assert largest_draw_z(make(4, **KNOBS)) < 5


@pytest.mark.parametrize("make", GAUSSIAN)
def test_conditional_draws_reject_a_formula_without_correlation(make, monkeypatch):
    monkeypatch.setattr(games, "condition", without_correlation)
    assert largest_draw_z(make(4, **KNOBS)) > 10


@pytest.mark.parametrize("make", BENT)
def test_conditional_draws_reject_a_formula_without_the_variance_term(make, monkeypatch):
    monkeypatch.setattr(games, "condition", without_variance)
    assert largest_draw_z(make(4, **KNOBS)) > 10


@pytest.mark.parametrize("make", GAUSSIAN)
def test_with_everything_known_the_expectation_is_how_y_was_made(make):
    table = make(50, **KNOBS)
    made = outcome(table.game, table.X.to_numpy())
    everything = np.ones(7, dtype=bool)
    assert np.allclose(table.expectation(table.X, everything), made, rtol=1e-12)
    assert not np.allclose(table.expectation(table.X, np.array(NAMES) != "x1"), made, rtol=0.01)


def test_discrete_labels_depend_on_every_core_column_and_no_other():
    table = make_discrete(4_000, **KNOBS)
    e = pd.Series(table.expectation(table.X, np.ones(7, dtype=bool)))
    core = ["x0", "x1", "x2", "twin0a", "twin0b"]
    assert e.groupby([table.X[name] for name in core]).std().max() < 1e-12
    for left_out in core:
        rest = [table.X[name] for name in core if name != left_out]
        assert e.groupby(rest).std().max() > 0.01


# --- Shapley values ---------------------------------------------------------------------------


@every_maker
def test_shapley_values_add_up_and_leave_one_out_does_not(make):
    table = make(40, missing=0.15, **KNOBS)
    everything = np.ones((40, 1, 7), dtype=bool)
    full = table.value(table.X, everything)
    gain = full[:, 0] - table.base_value
    assert np.abs(table.shapley(table.X).sum(1) - gain).max() < 1e-10
    leave_one_out = full - table.value(table.X, everything & ~np.eye(7, dtype=bool))
    assert np.abs(leave_one_out.sum(1) - gain).max() > 0.1


@every_maker
def test_null_features_get_nothing_and_copies_get_credit(make):
    phi = pd.DataFrame(make(40, missing=0.15, **KNOBS).shapley(slice(40)), columns=NAMES)
    assert phi["null0"].abs().max() < 1e-10
    assert phi.drop(columns="null0").abs().max().min() > 0.01


@every_maker
def test_twins_swap_their_values_and_plain_columns_do_not(make):
    table = make(40, missing=0.15, **KNOBS)
    phi = table.shapley(table.X)
    for a, b, same in (("twin0a", "twin0b", True), ("x1", "x2", False)):
        i, j = NAMES.index(a), NAMES.index(b)
        swapped = table.shapley(table.X.assign(**{a: table.X[b], b: table.X[a]}))
        assert np.allclose(swapped[:, [j, i]], phi[:, [i, j]], atol=1e-10) is same
        equal = table.shapley(table.X.assign(**{b: table.X[a]}))
        assert np.allclose(equal[:, i], equal[:, j], atol=1e-10) is same


@every_maker
def test_missing_cells_are_absent_whatever_the_coalition_says(make):
    table = make(40, missing=0.3, **KNOBS)
    gone = table.X.isna().to_numpy()
    assert 0.2 < gone.mean() < 0.4
    phi = table.shapley(table.X)
    assert (phi[gone] == 0).all()
    assert (table.value(table.X, np.ones(7, dtype=bool)) == table.value(table.X, ~gone)).all()
    filled = table.X.fillna("a" if make is make_discrete else 0.0)
    assert np.abs(table.shapley(filled)[gone]).max() > 0.01
    assert (phi[~gone] != table.shapley(filled)[~gone]).any()


def test_linear_attributions_have_their_textbook_values():
    free = make_gaussian_linear(40)
    assert np.allclose(free.shapley(free.X), free.X * free.game.slopes, atol=1e-12)
    table = make_gaussian_linear(40, n_features=2, correlation=0.6)
    (b0, b1), (x0, x1) = table.game.slopes, table.X.to_numpy().T
    share = 0.6 / 2 * (b1 * x0 - b0 * x1)  # by hand from v of the four coalitions
    phi = table.shapley(table.X)
    assert np.allclose(phi, np.column_stack([b0 * x0 + share, b1 * x1 - share]), atol=1e-12)
    assert not np.allclose(phi, table.X * table.game.slopes, atol=0.01)


def test_certain_labels_keep_finite_log_odds():
    table = make_gaussian_probit(200, n_features=3, noise=1e-4)
    value = table.value(table.X, np.ones(3, dtype=bool))
    assert np.isfinite(value).all()
    assert (table.expectation(table.X, np.ones(3, dtype=bool)) == 1).any()
    assert np.abs(value).max() > 1e6  # where a probability in double precision is 0 or 1
    assert np.isfinite(table.shapley(table.X)).all()


# --- knobs ------------------------------------------------------------------------------------


def batch_z(statistics, expected):
    """Return |z| of statistics of independent batches against their expected mean."""
    statistics = np.asarray(statistics)
    error = statistics.std(ddof=1) / math.sqrt(len(statistics))
    return abs(statistics.mean() - expected) / error


@every_maker
def test_columns_are_correlated_as_stated(make):
    table = make(60_000, missing=0.1, **KNOBS)
    assert list(table.X.columns) == NAMES
    X = (table.X == "b").where(table.X.notna()) if make is make_discrete else table.X
    parts = [X.iloc[start : start + 2_000].astype(float).corr() for start in range(0, 60_000, 2000)]
    stated = {("x0", "x1"): 0.5, ("x2", "twin0a"): 0.5, ("twin0a", "twin0b"): 0.5}
    stated |= {("x0", "copy_of_x0"): 0.99, ("x2", "copy_of_x0"): 0.495, ("x1", "null0"): 0.0}
    for (a, b), correlation in stated.items():
        found = [part.loc[a, b] for part in parts]
        assert batch_z(found, correlation) < 5
        assert batch_z(found, correlation - 0.03) > 5


@pytest.mark.parametrize(
    ("make", "signal"), [(make_gaussian_linear, 1), (make_gaussian_quadratic, 2)]
)
def test_noise_is_in_units_of_the_signal(make, signal):
    for noise in (0.0, 2.0):
        parts = make(60_000, **KNOBS, noise=noise).y.reshape(30, -1).var(1)
        assert batch_z(parts, signal + noise**2) < 5
        assert batch_z(parts, 1.1 * (signal + noise**2)) > 5


@every_maker
def test_the_game_depends_on_the_seed_alone(make):
    rows = make(20, **KNOBS).X
    values = [
        make(n_rows, missing=missing, random_state=seed, **KNOBS).shapley(rows)
        for n_rows, missing, seed in ((20, 0.0, 0), (5, 0.5, 0), (20, 0.0, 1))
    ]
    assert (values[0] == values[1]).all()
    assert not np.allclose(values[0], values[2], atol=0.01)
    pd.testing.assert_frame_equal(make(20, **KNOBS).X, rows)


@every_maker
@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"n_features": 3, "null": 2, "symmetric": 1}, r"at most n_features.*got 4 of 3"),
        ({"n_features": 3, "null": 3}, "one of which is not null"),
        ({"n_features": 3, "redundant": 2}, "redundant must be at most the 1 plain"),
        ({"null": -1}, "null must be a whole number of at least 0, got -1"),
        ({"redundant": 0.5}, "redundant must be a whole number of at least 0, got 0.5"),
        ({"n_features": 0}, "n_features must be a whole number of at least 1"),
        ({"n_features": 63}, "at least 1 and at most 62, got 63"),
        ({"missing": 1.0}, "missing must be at least 0 and at most 0.99, got 1.0"),
        ({"missing": math.nan}, "missing must be .*, got nan"),
        ({"n_rows": 0}, "n_rows must be at least 1, got 0"),
        ({"correlation": 1.0}, "correlation must be .*at most 0.999, got 1.0"),
        ({"correlation": -0.2}, "correlation must be at least .*got -0.2"),
    ],
)
def test_impossible_knobs_are_refused(make, knobs, message):
    with pytest.raises(InvalidInputError, match=message):
        make(**knobs)


@pytest.mark.parametrize(
    ("make", "knobs", "message"),
    [
        (make_gaussian_probit, {"noise": 0.0}, "noise must be at least 1e-06, got 0.0"),
        (make_gaussian_linear, {"noise": -1.0}, "noise must be at least 0, got -1.0"),
        (make_gaussian_quadratic, {"noise": math.nan}, "noise must be .*, got nan"),
        (make_discrete, {"levels": 1}, "levels must be at least 2 and at most 26, got 1"),
        (make_discrete, {"levels": 27}, "got 27"),
        (make_discrete, {"n_features": 12}, r"at most 2,000,000, got 16,777,216; lower"),
    ],
)
def test_impossible_knobs_of_one_maker_are_refused(make, knobs, message):
    with pytest.raises(InvalidInputError, match=message):
        make(**knobs)


def test_knobs_may_go_to_their_limits():
    assert make_gaussian_linear(5, n_features=8, correlation=-0.14).X.shape == (5, 8)
    assert make_gaussian_quadratic(5, n_features=1).shapley(slice(5)).shape == (5, 1)
    assert make_gaussian_probit(5, n_features=4, symmetric=2).X.columns[-1] == "twin1b"
    assert make_discrete(5, n_features=13, levels=2).X.isin(["a", "b"]).all().all()
    assert make_discrete(5, n_features=3, levels=26, correlation=0.999).X.shape == (5, 3)


# --- rows and coalitions ----------------------------------------------------------------------


@every_maker
def test_coalitions_may_be_shared_per_row_or_many_per_row(make):
    table = make(9, missing=0.2, **KNOBS)
    masks = np.random.default_rng(0).random((9, 5, 7)) < 0.5
    many = table.value(table.X, masks)
    assert many.shape == (9, 5)
    assert np.allclose(many[:, 2], table.value(table.X, masks[:, 2]), atol=1e-12)
    assert np.allclose(many[3, 2], table.value(table.X, masks[3, 2])[3], atol=1e-12)
    assert np.allclose(many[[4, 1]], table.value([4, 1], masks[[4, 1]]), atol=1e-12)
    assert not np.allclose(many[[4, 1]], table.value([4, 2], masks[[4, 1]]))
    assert table.value(table.X[:0], masks[:0]).shape == (0, 5)
    assert ((table.expectation(table.X, masks) == many).all()) == (table.task == "regression")


def test_each_coalition_is_conditioned_on_once_whatever_is_missing(monkeypatch):
    calls = []

    def counted(covariance, known):
        calls.append(tuple(known))
        return condition(covariance, known)

    monkeypatch.setattr(games, "condition", counted)
    table = make_gaussian_probit(60, missing=0.3, **KNOBS)
    table.value(table.X, np.broadcast_to(all_coalitions(7), (60, 128, 7)))
    assert len(calls) == len(set(calls)) == 128


def test_what_does_not_fit_the_table_is_refused():
    table, words = make_gaussian_linear(6, n_features=17), make_discrete(6, n_features=3)
    with pytest.raises(InvalidInputError, match=r"at most 16 .*got 17; make a narrower"):
        table.shapley(table.X)
    with pytest.raises(InvalidInputError, match=r"coalitions must be .*got int64 of \(3,\)"):
        words.value(words.X, np.array([1, 0, 1]))
    with pytest.raises(InvalidInputError, match=r"got bool of \(2, 6, 3\)"):
        words.value(words.X, np.ones((2, 6, 3), dtype=bool))
    with pytest.raises(InvalidInputError, match=r"rows must have the columns .*'x0', 'x1'"):
        words.shapley(words.X[["x0", "x1"]])
    with pytest.raises(InvalidInputError, match=r"levels \['a', 'b', 'c'\], got \['z'\]"):
        words.shapley(words.X.assign(x1="z"))
