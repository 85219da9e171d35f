"""A group of columns is one player: its attribution is the Shapley value of that game."""

import numpy as np
import pytest

from sasanet.errors import InvalidInputError
from sasanet.network.refinement import run
from sasanet.network.set_value import SetValue
from sasanet.shapley import exact_shapley
from small_models import fitted, r2, rows

KINDS = ["binary", "members", "classes", "number"]


def groups_of(X, per_group=2, n_groups=2):
    """Return some groups of neighbouring columns; the rest stay alone."""
    names = list(X.columns)
    return {f"group {g}": names[g * per_group : (g + 1) * per_group] for g in range(n_groups)}


def truth(model, X, groups):
    """Return the Shapley values of the game of groups, by enumeration of `model.value`."""
    n_players = model.explain(X[:1], groups=groups).shape[1]

    def value(masks):
        return model.value(X, np.broadcast_to(masks, (len(X), *masks.shape)), groups=groups)

    return exact_shapley(value, n_players)


@pytest.mark.parametrize("kind", KINDS)
def test_up_to_nine_players_are_exact(kind):
    model, X = fitted(kind), rows(8)
    groups = groups_of(X, per_group=2, n_groups=4)  # 8 players
    found, true = model.explain(X, groups=groups), truth(model, X, groups)
    assert found.shape[1] == 8
    np.testing.assert_allclose(found.values, true, atol=1e-5 * np.abs(true).max())
    sums = model.explain(X).sum_of_members(groups)
    with pytest.raises(AssertionError):  # the twin: sums of members are another thing
        np.testing.assert_allclose(sums.values, true, atol=1e-5 * np.abs(true).max())


@pytest.mark.parametrize("kind", KINDS)
def test_more_players_are_close(kind):
    model, X = fitted(kind), rows(8)
    groups = groups_of(X)  # 10 players
    true = truth(model, X, groups)
    assert r2(model.explain(X, groups=groups).values, true) > 0.999
    other = groups_of(X.iloc[:, ::-1])
    assert r2(model.explain(X, groups=other).values, true) < 0.9  # the twin: other groups


@pytest.mark.parametrize("kind", KINDS)
def test_groups_add_up_and_missing_ones_get_nothing(kind):
    model, X = fitted(kind), rows()
    names = list(X.columns)
    found = model.explain(X, groups={"front": names[:3], "back": names[3:6]})
    np.testing.assert_allclose(found.prediction, model.explain(X).prediction, atol=1e-9)
    back = found.feature_names.index("back")
    assert found.data.isna().to_numpy()[1, back]  # all of its cells are missing
    assert (found.values[1, back] == 0).all()
    assert (found.values[0] != 0).all()
    assert all("back" not in sentence for sentence in found.reasons(1, k=20))


def test_groups_of_one_column_are_the_plain_explanation(monkeypatch):
    monkeypatch.setattr(SetValue, "_alone", lambda *_: None)  # it interpolates v of single cells
    model, X = fitted("binary"), rows()
    alone = model.explain(X, groups={name: [name] for name in X.columns})
    np.testing.assert_allclose(alone.values, model.explain(X).values, atol=1e-5)
    assert alone.groups == {}


def test_a_row_alone_and_the_order_of_groups_change_nothing():
    model, X = fitted("binary"), rows()
    groups = groups_of(X)
    found = model.explain(X, groups=groups)
    np.testing.assert_allclose(
        model.explain(X[3:4], groups=groups).values, found.values[3:4], atol=1e-5
    )
    turned = model.explain(X, groups=dict(reversed(groups.items())))
    assert (turned.values == found.values).all()


def test_one_group_of_all_columns_has_all_of_the_value():
    model, X = fitted("binary"), rows()
    found = model.explain(X, groups={"all": list(X.columns)})
    gain = model.decision_function(X) - model.base_value_
    np.testing.assert_allclose(found.values[:, 0], gain, atol=1e-9)


def test_groups_can_be_refined(monkeypatch):
    monkeypatch.setattr(run, "ENUMERATED", 5)  # ten players would be exact
    model, X = fitted("binary"), rows(8)
    groups = groups_of(X)
    true, found = truth(model, X, groups), model.explain(X, groups=groups, n_orders=200)
    known = found.error_std > 1e-6
    z = (found.values - true)[known] / found.error_std[known]
    assert known.sum() > 50
    assert 0.7 < np.sqrt((z**2).mean()) < 1.3
    exact = model.explain(X, groups=groups_of(X, n_groups=4), n_orders=4)
    assert (exact.error_std == 0).all()


def test_value_takes_groups_by_name():
    model, X = fitted("binary"), rows()
    groups = groups_of(X)
    members = [*groups["group 0"], X.columns[-1]]
    found = model.value(X, ["group 0", X.columns[-1]], groups=groups)
    assert (found == model.value(X, members)).all()
    with pytest.raises(InvalidInputError, match="coalitions must name features"):
        model.value(X, [X.columns[0]], groups=groups)  # it is inside a group now


def test_the_audit_measures_the_game_of_groups():
    model, X = fitted("binary"), rows()
    model.__dict__.pop("audit_", None)
    found = model.audit(X, n_rows=12, groups=groups_of(X))
    assert found["self-game R²"].value > 0.999
    assert found["additivity gap"].value < 1e-9
    assert found.n_features == 10
    assert not hasattr(model, "audit_")  # it is not a certificate of explain(X)


def test_the_sequence_network_has_no_groups():
    X = rows()
    with pytest.raises(InvalidInputError, match="need the set network"):
        fitted("sequence").explain(X, groups=groups_of(X))
