"""Whatever is asked of a model, of any kind of model: what must hold of its answer, with twins.

A question is a call that returns numbers of players; the properties are the same for all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

import bag_models
import small_models
from sasanet import Architecture, SASANetClassifier, SASANetRegressor, load

N = 8
ROUNDING = 2e-5  # float32 sums of a dozen vectors in another order, in units of the output
GROUPS = {"first": ["x0", "x1", "x2"], "second": ["x3", "x4"]}
SHAPE = Architecture(**small_models.SMALL)


class Answer(NamedTuple):
    """Numbers of players [n, p, ...], what they start from, and the names of the players."""

    values: Any
    base: Any
    names: tuple[str, ...]

    @property
    def total(self) -> Any:
        return self.base + self.values.sum(axis=1)


Question = Callable[[Any, pd.DataFrame], Answer]


def explained(**given: Any) -> Question:
    def ask(model: Any, X: pd.DataFrame) -> Answer:
        found = model.explain(X, **given)
        return Answer(found.values, found.base_values, found.feature_names)

    return ask


def pairs(**given: Any) -> Question:
    def ask(model: Any, X: pd.DataFrame) -> Answer:
        names = model.explain(X, **given).feature_names
        found, base = model.interactions(X, **given), np.squeeze(model.base_value_)
        return Answer(found.sum(axis=2), base, names)  # lines are attributions

    return ask


QUESTIONS: dict[str, Question] = {
    "features": explained(),
    "groups": explained(groups=GROUPS),
    "members": explained(groups=GROUPS, within=True),
    "probability": explained(units="probability"),
    "rate": explained(units="response"),
    "groups, probability": explained(groups=GROUPS, units="probability"),
    "groups, rate": explained(groups=GROUPS, units="response"),
    "pairs": pairs(),
    "pairs of groups": pairs(groups=GROUPS),
}
ASKED = {
    "binary": ["groups", "members", "probability", "groups, probability", "pairs"],
    "classes": ["groups", "members", "probability", "pairs", "pairs of groups"],
    "number": ["groups", "members", "pairs"],
    "poisson": ["features", "groups", "members", "rate", "groups, rate", "pairs"],
    "gamma": ["features", "rate"],
    "tweedie": ["features", "rate"],
    "huber": ["features", "groups", "pairs"],
    "quantiles": ["features", "groups", "pairs", "pairs of groups"],
    "one quantile": ["features", "groups", "members", "pairs"],
    "weighted": ["features", "groups", "probability", "pairs"],
    "monotone": ["features", "groups", "probability", "pairs"],
    "monotone number": ["features", "groups", "pairs"],
    "bags, number": ["features", "pairs"],
    "bags, binary": ["features", "probability"],
    "bags, classes": ["features", "probability"],
}
CASES = [(kind, question) for kind, questions in ASKED.items() for question in questions]
BY_RATE = ("poisson", "gamma", "tweedie")
OTHER_LOSSES: dict[str, dict[str, Any]] = {
    "huber": {"objective": "huber"},
    "quantiles": {"objective": "quantile", "quantile": [0.1, 0.5, 0.9]},
    "one quantile": {"objective": "quantile", "quantile": 0.9},
}


@cache
def fitted(kind: str) -> Any:
    """Return a small model of a kind."""
    if kind.startswith("bags"):
        return bag_models.fitted(kind.removeprefix("bags, "))
    if kind in ("binary", "classes", "number"):
        return small_models.fitted(kind)
    X, y, product = small_models._table()
    quick = small_models.QUICK
    directions = {"x0": 1, "x3": -1}
    if kind == "weighted":
        return SASANetClassifier(SHAPE, class_weight="balanced", **quick).fit(X, product > 1)
    if kind == "monotone":
        return SASANetClassifier(SHAPE, monotonic_cst=directions, **quick).fit(X, y)
    if kind == "monotone number":
        return SASANetRegressor(SHAPE, monotonic_cst=directions, **quick).fit(X, product)
    random = np.random.default_rng(0)
    if kind in BY_RATE:
        exposure, rate = random.uniform(0.2, 2.0, len(X)), np.exp(0.4 * product)
        amounts = random.gamma(2.0, rate * exposure / 2)
        amounts *= 1 if kind == "gamma" else random.random(len(X)) < 0.7
        y = random.poisson(rate * exposure) if kind == "poisson" else amounts
        model = SASANetRegressor(SHAPE, objective=kind, **quick)
        return model.fit(X, y, exposure=exposure)
    return SASANetRegressor(SHAPE, **OTHER_LOSSES[kind], **quick).fit(X, product)


def rows(kind: str) -> pd.DataFrame:
    """Return rows of the model's table, some of whose cells are missing."""
    if not kind.startswith("bags"):
        return small_models.rows(N)
    X = bag_models.table()[:N].copy()
    return X.where(np.random.default_rng(0).random(X.shape) < 0.8, None)


def predicted(model: Any, X: pd.DataFrame, question: str) -> Any:
    """Return what the answer must add up to."""
    if isinstance(model, SASANetClassifier):
        if "probability" not in question:
            return model.decision_function(X)
        found = model.predict_proba(X)
        return found[:, 1] if found.shape[1] == 2 else found
    log = model.objective in BY_RATE and "rate" not in question
    return np.log(model.predict(X)) if log else model.predict(X)


def assert_same(found: Any, expected: Any) -> None:
    size = max(1.0, np.abs(expected).max())
    assert np.abs(np.asarray(found) - expected).max() < ROUNDING * size


def check_addition(model: Any, X: pd.DataFrame, ask: Question, question: str) -> None:
    """Base value and numbers of all players are the prediction."""
    assert_same(ask(model, X).total, predicted(model, X, question))


def check_absence(model: Any, X: pd.DataFrame, ask: Question, _: str) -> None:
    """Players without a known cell have exactly 0."""
    found = ask(model, X)
    grouped = GROUPS if "first" in found.names else {}
    for place, name in enumerate(found.names):
        unknown = X[grouped.get(name, [name])].isna().all(axis=1).to_numpy()
        assert (found.values[unknown, place] == 0).all()


def check_order(model: Any, X: pd.DataFrame, ask: Question, _: str) -> None:
    """Columns may come in any order."""
    shuffled = X[np.random.default_rng(1).permutation(X.columns)]
    assert_same(ask(model, shuffled).values, ask(model, X).values)


def check_batch(model: Any, X: pd.DataFrame, ask: Question, _: str) -> None:
    """A row alone has the numbers that it has among others, whatever their order."""
    together = ask(model, X).values
    assert_same(np.concatenate([ask(model, X[i : i + 1]).values for i in range(3)]), together[:3])
    assert_same(ask(model, X[::-1]).values, together[::-1])


def check_saving(model: Any, X: pd.DataFrame, ask: Question, folder: Any) -> None:
    """A model that was saved and loaded gives the same numbers, bit by bit."""
    model.save(folder / "model")
    loaded = load(folder / "model")
    np.testing.assert_array_equal(ask(loaded, X).values, ask(model, X).values)


CHECKS = (check_addition, check_absence, check_order, check_batch)


@pytest.mark.parametrize(("kind", "question"), CASES)
def test_what_must_hold(kind, question, tmp_path):
    model, X, ask = fitted(kind), rows(kind), QUESTIONS[question]
    assert X.isna().to_numpy().any()
    for check in CHECKS:
        check(model, X, ask, question)
    check_saving(model, X, ask, tmp_path)


def spoiled(ask: Question, error: Callable[[Any, pd.DataFrame], Any]) -> Question:
    """Return a question whose answers are wrong by so much."""

    def wrong(model: Any, X: pd.DataFrame) -> Answer:
        found = ask(model, X)
        return found._replace(values=found.values + error(model, X))

    return wrong


def _by_place(_: Any, X: pd.DataFrame) -> float:
    return 1e-3 * (X.columns[0] == "x0")


def _by_company(_: Any, X: pd.DataFrame) -> float:
    return 1e-3 * len(X)


@pytest.mark.parametrize(
    ("check", "error"),
    [
        (check_addition, lambda *_: 1e-4),
        (check_absence, lambda *_: 1e-12),
        (check_order, _by_place),
        (check_batch, _by_company),
    ],
)
@pytest.mark.parametrize("question", ["groups", "probability", "pairs"])
def test_the_checks_find_what_is_wrong(check, error, question):
    model, X, ask = fitted("binary"), rows("binary"), QUESTIONS[question]
    with pytest.raises(AssertionError):
        check(model, X, spoiled(ask, error), question)


def test_the_check_of_saving_finds_another_model(tmp_path):
    model, X, ask = fitted("binary"), rows("binary"), QUESTIONS["groups"]
    wrong = spoiled(ask, lambda asked, _: 1e-12 * (asked is not model))
    with pytest.raises(AssertionError):
        check_saving(model, X, wrong, tmp_path)
