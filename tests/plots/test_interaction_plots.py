"""The heat map shows the strongest features, and its table is what the model says."""

import numpy as np
import pytest
from matplotlib import pyplot

from sasanet import Architecture, SASANetRegressor
from sasanet.errors import InvalidInputError
from sasanet.plots import (
    interaction_network_data,
    interactions_data,
    partner_data,
    plot_interaction_network,
    plot_interactions,
    plot_partner,
)
from small_models import SMALL, fitted, rows


@pytest.fixture(autouse=True)
def _close():
    pyplot.switch_backend("agg")
    yield
    pyplot.close("all")


def test_the_table_holds_means_of_the_strongest_features():
    model, X = fitted("binary"), rows(8)
    values, data = np.abs(model.interactions(X)).mean(axis=0), interactions_data(model, X, top=4)
    assert data.shape == (4, 4)
    strength = values.sum(axis=1)
    chosen = [list(X.columns).index(name) for name in data.index]
    assert strength[chosen].min() >= np.delete(strength, chosen).max()
    assert (data.to_numpy() == values[np.ix_(chosen, chosen)]).all()
    one = interactions_data(model, X, row=0, top=12)
    assert (one.to_numpy() < 0).any()  # signs of one row


def test_the_picture_shows_the_table():
    model, X = fitted("binary"), rows(8)
    ax = plot_interactions(model, X, row=0, top=5)
    drawn, data = ax.images[0].get_array(), interactions_data(model, X, row=0, top=5)
    off = ~np.eye(5, dtype=bool)
    np.testing.assert_array_equal(np.asarray(drawn)[off], data.to_numpy()[off])
    assert len(ax.get_xticklabels()) == 5
    _, given = pyplot.subplots()
    assert plot_interactions(model, X, ax=given) is given


def test_one_class_and_one_row_are_chosen():
    model, X = fitted("classes"), rows(8)
    with pytest.raises(InvalidInputError, match="choose one of"):
        interactions_data(model, X)
    found = interactions_data(model, X, output="b", row=1, top=12)
    other = interactions_data(model, X, output="c", row=1, top=12)
    assert not np.allclose(found.loc[other.index, other.columns], other)
    with pytest.raises(InvalidInputError, match="row must be from 0 to 7"):
        interactions_data(fitted("binary"), X, row=8)


def test_the_network_shows_the_strongest_pairs():
    model, X = fitted("binary"), rows(8)
    pairs = 2 * np.abs(model.interactions(X)).mean(axis=0)
    data = interaction_network_data(model, X, top=5)
    names = list(X.columns)
    for line in data.itertuples():
        assert line.interaction == pairs[names.index(line.feature), names.index(line.other)]
    upper = np.sort(pairs[np.triu_indices(12, 1)])[::-1]
    np.testing.assert_array_equal(data["interaction"], upper[:5])
    assert not np.allclose(data["interaction"], upper[1:6])  # the twin: not the strongest
    ax = plot_interaction_network(model, X, top=5)
    widths = [line.get_linewidth() for line in ax.lines]
    assert len(widths) == 5
    assert max(widths) == widths[-1] == 6.0
    assert {text.get_text() for text in ax.texts} == {*data["feature"], *data["other"]}
    one = plot_interaction_network(model, X, row=0, top=30)
    signs = interaction_network_data(model, X, row=0, top=30)["interaction"][::-1] < 0
    assert [line.get_linestyle() == "--" for line in one.lines] == signs.tolist()
    assert 0 < signs.sum() < 30


def test_a_feature_is_coloured_by_its_strongest_partner():
    model, X = fitted("binary"), rows()
    found = partner_data(model, X, X.columns[0])
    values = np.abs(model.interactions(X))[:, 0]
    values[:, 0] = 0
    assert found.attrs["partner"] == X.columns[values.mean(axis=0).argmax()]
    np.testing.assert_array_equal(found["attribution"], model.explain(X).values[:, 0])
    ax = plot_partner(model, X, X.columns[0])
    known = found["value"].notna() & found["partner_value"].notna()
    drawn = ax.collections[-1]
    np.testing.assert_allclose(drawn.get_offsets()[:, 1], found["attribution"][known])
    np.testing.assert_allclose(drawn.get_array(), found["partner_value"][known])
    other = partner_data(model, X, X.columns[0], X.columns[5])
    assert other.attrs["partner"] == X.columns[5]
    with pytest.raises(InvalidInputError, match="no feature 'x'"):
        partner_data(model, X, "x")
    with pytest.raises(InvalidInputError, match="choose one of"):
        partner_data(fitted("classes"), X, X.columns[0])


GROUPS = {"first": ["x0", "x1", "x2"], "second": ["x3", "x4"]}


def test_groups_are_players_of_the_pictures():
    model, X = fitted("binary"), rows(6)
    values = np.abs(model.interactions(X, groups=GROUPS)).mean(axis=0)
    data = interactions_data(model, X, groups=GROUPS)
    names = list(model.explain(X[:1], groups=GROUPS).feature_names)
    assert sorted(data.index) == sorted(names)
    first, second = names.index("first"), names.index("second")
    assert data.loc["first", "second"] == values[first, second]
    columns = interactions_data(model, X, top=12)  # the twin: sums of members are another thing
    sums = columns.loc[GROUPS["first"], GROUPS["second"]].to_numpy().sum()
    assert abs(sums - values[first, second]) > 1e-6
    assert len(plot_interactions(model, X, groups=GROUPS, top=3).get_xticklabels()) == 3
    lines = interaction_network_data(model, X, groups=GROUPS, top=40)
    assert {"first", "second"} <= {*lines["feature"], *lines["other"]}
    assert len(plot_interaction_network(model, X, groups=GROUPS, top=4).lines) == 4


def test_one_quantile_is_chosen():
    X = rows(60).fillna(0.0)
    model = SASANetRegressor(
        Architecture(**SMALL),
        objective="quantile",
        quantile=[0.1, 0.9],
        random_state=0,
        max_epochs=1,
    ).fit(X, X["x0"] * X["x1"])
    values = model.interactions(X[:4])
    shown = interactions_data(model, X[:4], output="q0.9", top=12)
    places = [list(X.columns).index(name) for name in shown.index]
    wanted = np.abs(values[..., 1]).mean(axis=0)[np.ix_(places, places)]
    np.testing.assert_array_equal(shown, wanted)
    assert (
        np.abs(shown - np.abs(values[..., 0]).mean(axis=0)[np.ix_(places, places)]).max().max() > 0
    )
    found = partner_data(model, X[:4], "x0", output="q0.1")
    np.testing.assert_array_equal(
        found["attribution"], model.explain(X[:4]).output("q0.1").values[:, 0]
    )
    with pytest.raises(InvalidInputError, match="choose one of"):
        interactions_data(model, X[:4])
