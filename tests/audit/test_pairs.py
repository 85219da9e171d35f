"""The audit of interactions agrees with enumeration, and notices pairs that are not the game's."""

import numpy as np
import pytest

from sasanet.errors import InvalidInputError
from sasanet.estimator.sasanet import SASANetModel
from sasanet.network import inference
from sasanet.shapley import exact_interactions, game_of
from small_models import fitted, r2, rows


def groups_of(X):
    names = list(X.columns)
    return {f"g{i}": names[2 * i : 2 * i + 2] for i in range(6)}


def test_few_players_are_enumerated():
    model, X = fitted("binary"), rows()
    found = model._player_game(groups_of(X))
    audit = model.audit(X, n_rows=6, n_orders=8, groups=groups_of(X), interactions=True)
    assert audit["interactions R²"].n_orders == audit["interactions R²"].noise == 0
    assert audit["interactions RMSE"].value < 1e-5  # six players are exact
    assert found.is_exact
    assert "Are the interactions those of pairs" in str(audit)
    plain = model.audit(X, n_rows=6, n_orders=8, groups=groups_of(X))
    assert "interactions R²" not in plain
    assert [f.value for f in plain.findings] == [
        f.value for f in audit.findings[: len(plain.findings)]
    ]


@pytest.mark.parametrize("kind", ["binary", "classes", "number"])
def test_sampled_pairs_agree_with_enumeration(kind):
    model, X = fitted(kind), rows(6)
    audit = model.audit(X, n_rows=6, n_orders=60, interactions=True)
    found, true = model.interactions(X), exact_interactions(game_of(model, X), X.shape[1])
    first, second = true.pairs.T
    gone = X.isna().to_numpy()
    both = ~(gone[:, first] | gone[:, second])
    known = r2(2 * found[:, first, second][both], true.values[both])
    finding = audit["interactions R²"]
    assert finding.noise > 0
    assert abs(finding.value - known) < 2 * finding.noise
    del model.audit_


def test_pairs_of_another_game_are_noticed(monkeypatch):
    """The twin: half of every pair."""
    model, X = fitted("binary"), rows(6)
    real = inference.interactions
    monkeypatch.setattr(inference, "interactions", lambda *given: real(*given) / 2)
    audit = model.audit(X, n_rows=6, n_orders=60, interactions=True, groups=groups_of(X))
    assert audit["interactions R²"].value < 0.8


def test_the_scale_is_that_of_the_target():
    model, X = fitted("number"), rows(6)
    audit = model.audit(X, n_rows=6, n_orders=20, interactions=True)
    spread = np.std(2 * model.interactions(X))
    assert audit["interactions RMSE"].noise < 2 * spread
    assert isinstance(model, SASANetModel)
    del model.audit_


def test_other_units_are_refused():
    with pytest.raises(InvalidInputError, match="interactions are those of the raw output"):
        fitted("binary").audit(rows(), units="probability", interactions=True)
