"""Small models, and what must hold of any fitted one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sasanet import Architecture, SASANetClassifier, SASANetRegressor
from sasanet.objectives import POWERS
from sasanet.table.bags import ids
from torture.case import expect

TINY = Architecture(width=8, marginal_layers=(4,), n_knots=8)
TOLERANCE = 1e-5
FILES = 3  # of a saved model without an audit: description, weights, card


def tiny(kind: Any, random_state: int = 0, **fields: Any) -> Any:
    """Return an unfitted model that learns in milliseconds."""
    settings = {"network": TINY, "max_epochs": 1, "teacher_weight": 0.0} | fields
    return kind(random_state=random_state, **settings)


def small_model(seed: int = 0, n_classes: int = 2, **fields: Any) -> tuple[Any, pd.DataFrame]:
    """Return a fitted model of numbers and categories, and rows it has not seen."""
    random = np.random.default_rng(seed)
    n = 60
    table = pd.DataFrame(
        {
            "age": random.integers(18, 90, n).astype(float),
            "income": random.lognormal(10, 1, n),
            "city": random.choice(["Rome", "Oslo", "Lima"], n),
            "member": random.random(n) < 0.5,
        }
    )
    table.loc[random.random(n) < 0.1, "income"] = np.nan
    kind: Any = SASANetClassifier if n_classes else SASANetRegressor
    y = random.integers(0, n_classes, n) if n_classes else np.abs(random.normal(5, 2, n))
    if n_classes:
        y[:n_classes] = np.arange(n_classes)
    return tiny(kind, seed, **fields).fit(table[:40], y[:40]), table[40:]


def models_of_every_kind() -> Iterator[tuple[Any, pd.DataFrame]]:
    """Yield small fitted models whose saved fields differ, and rows that they have not seen."""
    shape = vars(TINY)
    context = {"attribution": "context", "attribution_layers": (4,), "attribution_steps": 1}
    audited, X = small_model(2, 2)
    audited.audit(X, n_rows=4, n_orders=4)
    yield audited, X
    learned, X = small_model(4, 3)
    yield learned.learn_attributions(X, n_rows=200), X
    for n_classes, fields in (
        (3, {"class_weight": {0: 1.0, 1: 2.0, 2: 0.5}}),
        (2, {"network": Architecture(**shape | context), "min_level_count": 2}),
        (2, {"network": Architecture(**shape | {"members": 2}), "class_weight": "balanced"}),
        (0, {"categorical_features": ["age"]}),
        (0, {"monotonic_cst": {"age": 1, "income": -1}}),
        (0, {"objective": "tweedie"}),
        (0, {"objective": "quantile", "quantile": [0.1, 0.5, 0.9]}),
        (0, {"objective": "huber", "network": Architecture(**shape | {"numbers": "mlp"})}),
    ):
        yield small_model(n_classes, n_classes, **fields)
    yield _model_of_bags()


def _model_of_bags() -> tuple[Any, pd.DataFrame]:
    """Return a model of dates, tags, vectors, text and ids."""
    random, n = np.random.default_rng(0), 60
    words = ["the", "lid", "came", "broken", "late"]
    hours = pd.to_timedelta(random.integers(0, 9_000, n), unit="h")
    table = pd.DataFrame(
        {
            "posted": pd.Series((pd.Timestamp("2024-01-01") + hours).tz_localize("Europe/Rome")),
            "tags": [["new"] * (i % 2) + ["sale"] * (i % 3 == 0) for i in range(n)],
            "vector": random.normal(size=(n, 3)).tolist(),
            "note": [" ".join(random.choice(words, 6)) + f" {i}" for i in range(n)],
            "id": [f"id {i % 30}" for i in range(n)],
        }
    )
    kept, ids.MOST_LEVELS = ids.MOST_LEVELS, 20  # so few levels are ids here
    try:
        model = tiny(SASANetRegressor).fit(table[:40], random.normal(size=n)[:40])
    finally:
        ids.MOST_LEVELS = kept
    return model, table[40:]


def raw(model: Any, X: Any) -> Any:
    """Return raw predictions, (n,) or (n, C): of rates their logarithms."""
    if hasattr(model, "decision_function"):
        return model.decision_function(X)
    found = model.predict(X)
    with np.errstate(divide="ignore"):
        return np.log(found) if model.target_.objective in POWERS else found


@dataclass(frozen=True)
class Answers:
    """What a model says of some rows: asked once, compared several times."""

    raw: Any  # (n,) or (n, C)
    values: Any

    @classmethod
    def of(cls, model: Any, X: Any) -> Answers:
        """Ask a model."""
        return cls(raw(model, X), model.explain(X).values)

    def equal(self, other: Answers) -> bool:
        """Tell whether two models answer and explain bit for bit alike."""
        return np.array_equal(self.raw, other.raw) and np.array_equal(self.values, other.values)


def check_sums(model: Any, X: Any) -> Answers:
    """Expect finite answers, attributions that add up to them, and nothing from absent cells."""
    answer, explanation = raw(model, X), model.explain(X)
    expect(np.isfinite(answer).all(), "a prediction is not finite")
    expect(np.isfinite(explanation.values).all(), "an attribution is not finite")
    size = np.maximum(np.abs(answer), np.abs(explanation.base_values))
    with np.errstate(over="ignore"):
        total = explanation.base_values + explanation.values.sum(axis=1)
        gap = np.abs(total - answer) / np.maximum(size, model.target_.scale)
    expect((gap <= TOLERANCE).all(), f"base value and attributions miss by {gap.max():.1e}")
    absent = explanation.data.isna().to_numpy()
    expect((explanation.values[absent] == 0).all(), "an absent cell has an attribution")
    if hasattr(model, "predict_proba"):
        shares = model.predict_proba(X)
        expect(np.isfinite(shares).all(), "a probability is not finite")
        expect(np.allclose(shares.sum(axis=1), 1), "probabilities do not add up to 1")
    return Answers(answer, explanation.values)


def check_values(model: Any, X: Any, answer: Any) -> None:
    """Expect that no feature gives the base value and all of them the raw prediction."""
    n_features = model.n_features_in_
    nothing = model.value(X, np.zeros(n_features, dtype=bool))
    everything = model.value(X, np.ones(n_features, dtype=bool))
    base = np.broadcast_to(np.squeeze(model.base_value_), nothing.shape)
    expect((nothing == base).all(), "the value of no feature is not the base value")
    size = np.maximum(np.maximum(np.abs(answer), np.abs(base)), model.target_.scale)
    gap = np.abs(everything - answer) / size
    expect((gap <= TOLERANCE).all(), f"the value of all features misses by {gap.max():.1e}")


def same_answers(one: Any, other: Any, X: Any) -> bool:
    """Tell whether two models answer and explain bit for bit alike."""
    return Answers.of(one, X).equal(Answers.of(other, X))
