"""The card says what the model is, shows strange names as they are, and holds no training row."""

import re

import numpy as np
import pandas as pd
import pytest

from sasanet import Architecture, SASANetClassifier, SASANetRegressor, load
from sasanet.persistence.card import MARK, escaped
from small_models import fitted, rows

QUICK = {"max_epochs": 1, "teacher_weight": 0, "random_state": 0}
HOSTILE = "a|b\n# top <script>alert(1)</script> [x](http://x.org) `c` *d* \u202eend"


def cells(card):
    """Return how many cells every line of a table has."""
    lines = [line for line in card.splitlines() if line.startswith("|")]
    return [len(re.split(r"(?<!\\)\|", line)) - 2 for line in lines]


@pytest.fixture(scope="module")
def hostile():
    X = pd.DataFrame({HOSTILE: [HOSTILE, "plain"] * 30, "n": np.arange(60.0) * 1.2345678})
    y = np.where(X[HOSTILE] == "plain", "<b>no|</b>", "yes")
    return SASANetClassifier(**QUICK).fit(X, y), X, y


def test_strange_names_are_shown_and_obeyed_by_nobody(hostile):
    card = hostile[0].card()
    assert "<script>" not in card
    assert "<b>" not in card
    assert "http://" not in card
    assert "\u202e" not in card
    assert set(cells(card)) == {4}
    assert [line for line in card.splitlines() if line.startswith("# ")] == [card.splitlines()[2]]
    for what in ("&lt;script&gt;", r"a\|b", r"\`c\`", r"\[x\]"):
        assert what in escaped(HOSTILE, 200)
    assert set(cells(card.replace(r"\|", "|"))) != {4}  # the twin: without escapes


def test_it_holds_no_training_row_and_stays_small(hostile):
    model, X, _ = hostile
    card = model.card()
    inner = [str(number) for number in X["n"][1:-1]]
    assert [number for number in inner if number in card] == []
    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 300)))
    wide[0] = [f"level {i}" for i in range(60)]
    many = SASANetRegressor(Architecture(width=8, marginal_layers=(4,)), **QUICK)
    long = many.fit(wide, np.arange(60.0)).card()
    assert len(long) < 8_000
    assert "The strongest 60 … (300 in all)." in long
    assert "a number" in long


def test_it_says_what_was_measured_and_what_was_not():
    model, X = fitted("binary"), rows()
    assert "Not audited" in model.card()
    assert "Not measured" in model.card()
    try:
        model.audit(X, [0, 1] * 12, n_rows=8, n_orders=8)
        card = model.card()
        assert "On the 24 labelled rows" in card
        shown = re.search(r"self-game R² \| (\S+)", card)[1]
        assert abs(float(shown) - model.audit_["self-game R²"].value) < 1e-4
        found = model.audit_
        next(model.network_.parameters()).data.mul_(2.0)
        assert "Not audited" in model.card()  # the certificate is of other weights
        next(model.network_.parameters()).data.div_(2.0)
        assert found is model.audit_
    finally:
        del model.audit_
    assert "nine present features" in model.card()


@pytest.mark.parametrize("kind", ["number", "classes", "sequence", "members"])
def test_every_kind_of_model_has_a_card_and_keeps_it(kind, tmp_path):
    model = fitted(kind)
    model.save(tmp_path / "m")
    assert (tmp_path / "m" / "README.md").read_text("utf-8") == model.card()
    assert load(tmp_path / "m").card() == model.card()
    assert model.card().startswith(MARK)


def test_somebodys_own_page_is_kept_and_an_older_card_replaced(hostile, tmp_path):
    model, X, y = hostile
    path = tmp_path / "m" / "README.md"
    model.save(tmp_path / "m")
    balanced = SASANetClassifier(class_weight="balanced", **QUICK).fit(X, y)
    balanced.save(tmp_path / "m")
    assert "Classes were weighted" in path.read_text("utf-8")
    path.write_text("# My own page")
    model.save(tmp_path / "m")
    assert path.read_text() == "# My own page"
    assert load(tmp_path / "m").card() == model.card()
