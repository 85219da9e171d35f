"""Owen values: members of groups share their group's Shapley value, by the formula or exactly."""

import itertools
import math

import numpy as np
import pytest

from sasanet.errors import InvalidInputError
from small_models import fitted, r2, rows

N = 12
FEW = {"front": range(4), "middle": range(4, 8), "back": range(8, 12)}  # exact: 2 + 4 players
MANY = {"half": range(6)}  # 6 + 6 players: by the formula


def named(groups):
    names = list(rows().columns)
    return {name: [names[j] for j in own] for name, own in groups.items()}


def truth(model, X, groups, units="raw"):
    """Return Owen values by their definition, from v of all coalitions of columns."""
    masks = np.array([*itertools.product([False, True], repeat=N)])
    values = model.value(X, np.broadcast_to(masks, (len(X), *masks.shape)), units=units)
    place = {mask.tobytes(): k for k, mask in enumerate(masks)}
    owner = {j: name for name, own in groups.items() for j in own}
    wholes = {name: list(own) for name, own in groups.items()}
    wholes |= {j: [j] for j in range(N) if j not in owner}
    found = np.zeros((len(X), N, *values.shape[2:]))
    for group, own in wholes.items():
        others = [members for name, members in wholes.items() if name != group]
        for i in own:
            fellows = [j for j in own if j != i]
            for before in subsets(others):
                outside = 1 / ((len(others) + 1) * math.comb(len(others), len(before)))
                for among in subsets(fellows):
                    inside = 1 / (len(own) * math.comb(len(fellows), len(among)))
                    mask = np.zeros(N, dtype=bool)
                    mask[[*itertools.chain(*before), *among]] = True
                    low = place[mask.tobytes()]
                    mask[i] = True
                    gain = values[:, place[mask.tobytes()]] - values[:, low]
                    found[:, i] += outside * inside * gain
    return found


def subsets(things):
    return itertools.chain.from_iterable(
        itertools.combinations(things, size) for size in range(len(things) + 1)
    )


@pytest.mark.parametrize("kind", ["binary", "members", "classes"])
def test_few_players_are_exact(kind):
    model, X = fitted(kind), rows(3)
    found = model.explain(X, groups=named(FEW), within=True).values
    true = truth(model, X, FEW)
    np.testing.assert_allclose(found, true, atol=1e-5)
    assert np.abs(model.explain(X).values - true).max() > 1e-3  # the twin: plain Shapley values


@pytest.mark.parametrize("units", ["raw", "probability"])
def test_others_are_close_by_the_formula(units):
    model, X = fitted("binary"), rows(3)
    found = model.explain(X, groups=named(MANY), within=True, units=units).values
    true = truth(model, X, MANY, units)
    assert r2(found[:, :6], true[:, :6]) > 0.999
    plain = model.explain(X, units=units).values
    assert ((found - true)[:, :6] ** 2).sum() < ((plain - true)[:, :6] ** 2).sum() / 4  # the twin


@pytest.mark.parametrize("units", ["raw", "probability"])
def test_members_add_up_to_their_group_and_missing_cells_get_nothing(units):
    model, X = fitted("binary"), rows()
    for groups in (named(FEW), named(MANY)):
        members = model.explain(X, groups=groups, within=True, units=units)
        whole = model.explain(X, groups=groups, units=units)
        sums = members.sum_of_members(groups)
        np.testing.assert_allclose(sums.values, whole.values, atol=1e-9)
        np.testing.assert_allclose(members.prediction, whole.prediction, atol=1e-9)
        assert (members.values[X.isna().to_numpy()] == 0).all()
    assert members.units == f"{whole.units} (within groups)"
    plain = model.explain(X, units=units).sum_of_members(groups)
    assert np.abs(plain.values - whole.values).max() > 1e-4  # the twin


def test_a_row_alone_is_the_same():
    model, X = fitted("binary"), rows()
    asked = {"groups": named(MANY), "within": True}
    whole, alone = model.explain(X, **asked), model.explain(X[3:4], **asked)
    np.testing.assert_allclose(alone.values, whole.values[3:4], atol=1e-6)


def test_the_audit_measures_them():
    model, X = fitted("binary"), rows(12)
    model.__dict__.pop("audit_", None)
    asked = {"n_rows": 8, "n_orders": 400, "groups": named(FEW)}
    found = model.audit(X, within=True, **asked)
    assert found["self-game R²"].value > 0.995
    assert found["additivity gap"].value < 1e-9
    assert not hasattr(model, "audit_")


def test_the_audit_tells_them_from_shapley_values(monkeypatch):
    model, X = fitted("binary"), rows(12)
    whole = type(model).explain

    def plain(self, table, **_):  # the twin: Shapley values where Owen values are asked for
        return whole(self, table)

    asked = {"n_rows": 8, "n_orders": 400, "groups": named(FEW), "within": True}
    right = model.audit(X, **asked)["self-game RMSE"].value
    monkeypatch.setattr(type(model), "explain", plain)
    assert model.audit(X, **asked)["self-game RMSE"].value > 2 * right


def test_what_does_not_go_together_is_refused():
    model, X = fitted("binary"), rows(2)
    with pytest.raises(InvalidInputError, match=r"within=True divides .* got no groups"):
        model.explain(X, within=True)
    with pytest.raises(InvalidInputError, match="got n_orders or max_error"):
        model.explain(X, groups=named(FEW), within=True, n_orders=10)
    with pytest.raises(InvalidInputError, match="need the set network"):
        fitted("sequence").explain(X, groups=named(FEW), within=True)
