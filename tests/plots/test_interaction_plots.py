"""The heat map shows the strongest features, and its table is what the model says."""

import numpy as np
import pytest
from matplotlib import pyplot

from sasanet.errors import InvalidInputError
from sasanet.plots import interactions_data, plot_interactions
from small_models import fitted, rows


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
