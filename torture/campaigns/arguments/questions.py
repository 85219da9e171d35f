"""Random arguments of what is asked of a fitted model, and of fits with an exposure."""

from __future__ import annotations

import functools
import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sasanet import Explanation, SASANetClassifier, SASANetRegressor
from sasanet.report import write_report
from torture.campaigns.arguments.values import NOT_COUNTS, NOT_NUMBERS, Values, draw_arguments
from torture.case import expect
from torture.draw import Draw
from torture.models import check_sums, small_model, tiny

Call = tuple[Callable[[], object], bool | None]
_GROUPS = Values(
    (None, {}, {"money": ["age", "income"]}, {"a": ["age"], "b": ("city", "member")}),
    (5, "x", {"a": ["nope"]}, {"a": ["age"], "b": ["age"]}, {"a": 5}, [["age"]], {"a": [None]},
     {"a": ["age", "age"]}, {"city": ["age", "income"]}, object()),
    ({"a": "age"}, {1: ["age"]}, {"a": []}, {"age": ["age"]}),
)  # fmt: skip
_UNITS = Values(("raw",), ("x", None, 5, ["raw"], {}), ("probability", "response"))
_PAIRS = Values((0, 4, np.int64(4)), (-1, 1, 3, 1.5, "4", True, None, math.nan, [4]))
_THRESHOLD = Values((0.5, 0, np.float32(0.1)), (*NOT_NUMBERS[:2], *NOT_NUMBERS[3:]), (math.inf, 2))
_REFUSE = Values(("above", "below"), ("x", None, 5, ["above"]))
_OUTPUT = Values((None,), ("nope", 5.5, ["1"], {}), ("1", "0", 1))
EXPLAIN = {
    "groups": _GROUPS,
    "units": _UNITS,
    "within": Values((False, np.bool_(False)), (), (True, None, "x")),
    "method": Values(("auto", "formula"), ("x", None, 5, ["auto"]), ("learned",)),
    "n_orders": _PAIRS,
}
INTERACTIONS = {"groups": _GROUPS, "n_orders": _PAIRS}
REASONS = {
    "threshold": _THRESHOLD,
    "refuse": _REFUSE,
    "k": Values((1, 4, np.int64(9)), NOT_COUNTS),
    "codes": Values(
        (None, {name: ["R1", "Because of it"] for name in ("age", "income", "city", "member")}),
        (5, "x", ["R1"], {"age": 5}, {"age": ["R1", "a", "b"]}, {"age": None}),
        ({}, {"nope": "R"}, {"age": "R1"}, {"age": ["R1", "Too young"], "city": "R2"}),
    ),
    "exclude": Values(((), ["age"], ("city", "member")), (("nope",), 5, [5], [None]), ("age",)),
    "output": _OUTPUT,
    "groups": _GROUPS,
    "units": _UNITS,
}
RECOURSE = {
    "threshold": _THRESHOLD,
    "refuse": _REFUSE,
    "change": Values(
        ({"age": None}, {"age": (20, 60)}, {"city": ["Rome"]}, {"city": None, "income": None}),
        (None, 5, "x", {"nope": None}, {"age": (60, 20)}, {"age": "x"}, {"age": (math.nan, 5)},
         {"age": 5}, {"age": (None, None)},
         {"age": (20, math.inf)}, [["age"]], {"city": 5}),
        ({}, {"city": ["Paris"]}, {"city": []}, {"age": [20, 30]}, ["age"]),
    ),
    "max_changes": Values((1, 2, np.int8(3)), NOT_COUNTS, (10**6,)),
    "output": _OUTPUT,
}  # fmt: skip
LEARN = {
    "n_rows": Values((None, 200, np.int64(200)), (*NOT_COUNTS[:1], *NOT_COUNTS[2:], 10)),
    "random_state": Values((0, np.int64(1)), ("x", None, -1, 1.5, [1])),
    "time_limit": Values((0.05, np.float32(0.05)), (*NOT_NUMBERS, -1), (0,)),
}
_N = 20
PARTIAL = {
    "classes": Values((None, [0, 1], np.array([1, 0])), ([0], 5, "x", [0, 2]),
                      ([0, 1, 2], [[0, 1]])),
    "sample_weight": Values(
        (None, np.ones(_N), [1] * _N, pd.Series(np.ones(_N))),
        (np.zeros(_N), -np.ones(_N), np.ones(_N - 1), "x", [None] * _N, np.full(_N, math.nan)),
    ),
}  # fmt: skip
FIT = {
    "exposure": Values(
        (None, np.ones(_N), [2] * _N, pd.Series(np.full(_N, 0.5))),
        (np.zeros(_N), -np.ones(_N), np.ones(_N - 1), "x", ["a"] * _N, np.full(_N, math.nan),
         np.full(_N, math.inf), np.ones((_N, 2)), {"a": 1}),
        (5, np.full(_N, 1e300), np.full(_N, 1e-300)),
    ),
    "checkpoint": Values((None, "state"), (5, b"x", "a\0b", [], 1.5, "file", "")),
    "scratch": Values((None,), (5, b"x", "a\0b", [], 1.5, ""), ("file", "state")),
    "target": Values((None,), (5, ["y"], b"y", "nope"), ("age",)),
}  # fmt: skip
_PLACES: tuple[Any, ...] = (5, None, b"x", "", "a\0b", [], ".", "nowhere/at/all")
_ROWS: tuple[Any, ...] = (
    None, 5, "x", [], {}, {"nope": 1}, [1, 2], [[1, 2, 3, 4]] * 2, object(), b"1", {"age": 1},
    {"age": [1], "income": 1, "city": "a", "member": True}, ["x", 1.0, "Rome", True],
)  # fmt: skip


@functools.cache
def _models() -> tuple[tuple[Any, pd.DataFrame], ...]:
    return small_model(2, 2), small_model(3, 3), small_model(0, 0, objective="poisson")


def ask(draw: Draw) -> Call:
    """Return a question with random arguments, and whether it must be answered."""
    model, X = draw.one_of(_models())
    questions = (
        _explain, _interactions, _reasons, _recourse, _one_row, _learn, _partial, _fit, _write,
    )  # fmt: skip
    return draw.one_of(questions)(draw, model, X[:_N])


def _drawn(draw: Draw, known: dict[str, Values]) -> tuple[dict[str, Any], bool | None]:
    """Return arguments; several that are right need not go together."""
    given, works = draw_arguments(draw, known, most=3)
    return given, None if works and len(given) > 1 else works


def _explain(draw: Draw, model: Any, X: pd.DataFrame) -> Call:
    given, works = _drawn(draw, EXPLAIN)

    def call() -> None:
        values = model.explain(X[:3], **given).values
        expect(np.isfinite(values).all(), "an attribution is not finite")

    return call, works


def _interactions(draw: Draw, model: Any, X: pd.DataFrame) -> Call:
    given, works = _drawn(draw, INTERACTIONS)

    def call() -> None:
        expect(np.isfinite(model.interactions(X[:3], **given)).all(), "a pair is not finite")

    return call, works


def _reasons(draw: Draw, model: Any, X: pd.DataFrame) -> Call:
    given, works = _drawn(draw, REASONS)
    given = {"threshold": 0.5} | given
    works = None if works and len(model.base_value_) > 1 else works  # a class must be named
    return (lambda: model.reasons(X[:4], given.pop("threshold"), **given)), works


def _recourse(draw: Draw, model: Any, X: pd.DataFrame) -> Call:
    given, works = _drawn(draw, RECOURSE)
    given = {"threshold": 0.5, "change": {"age": None}} | given
    works = None if works and len(model.base_value_) > 1 else works
    first = given.pop("threshold"), given.pop("change")
    return (lambda: model.recourse(X[:4], *first, **given)), works


def _one_row(draw: Draw, model: Any, X: pd.DataFrame) -> Call:
    right = X.iloc[0]
    good: tuple[Any, ...] = (right, right.to_dict(), right.tolist(), tuple(right), [None] * 4)
    works = draw.happens(0.5)
    row = draw.one_of(good if works else _ROWS)
    method = getattr(model, draw.one_of(("predict_one", "explain_one")))
    return (lambda: method(row)), works


def _learn(draw: Draw, model: Any, X: pd.DataFrame) -> Call:
    del model
    given, works = draw_arguments(draw, LEARN, most=2)
    given = {"n_rows": 200, "time_limit": 0.05} | given
    fresh, _ = small_model(1)

    def call() -> None:
        fresh.learn_attributions(X, **given)
        check_sums(fresh, X)

    return call, works


def _partial(draw: Draw, model: Any, X: pd.DataFrame) -> Call:
    del model
    classes = draw.happens(0.5)
    known = PARTIAL if classes else {"sample_weight": PARTIAL["sample_weight"]}
    given, works = _drawn(draw, known)
    kind: Any = SASANetClassifier if classes else SASANetRegressor
    y = np.arange(_N) % 2

    def call() -> None:
        new = tiny(kind)
        for _ in range(2):
            new.partial_fit(X, y, **given)
        check_sums(new, X)

    return call, works


def _fit(draw: Draw, model: Any, X: pd.DataFrame) -> Call:
    """Fit rates with an exposure, and with places for files."""
    del model
    given, works = _drawn(draw, FIT)

    def call() -> None:
        with tempfile.TemporaryDirectory() as place:
            (Path(place) / "file").write_text("x")
            here = {n: str(Path(place) / v) if v in ("file", "state") else v
                    for n, v in given.items() if isinstance(v, str)}  # fmt: skip
            new = tiny(SASANetRegressor, objective="poisson")
            check_sums(new.fit(X, np.arange(_N) % 3, **given | here), X)

    return call, works


def _write(draw: Draw, model: Any, X: pd.DataFrame) -> Call:
    """Write a file to a place that is none, or read one there."""
    explanation = model.explain(X[:2])
    writers = (
        lambda path: write_report(model, X[:4], path),
        lambda path: model.audit(X[:4], n_rows=4, n_orders=4).save(path),
        explanation.save,
        Explanation.load,
        lambda path: model.to_onnx(path),
    )
    work, path = draw.one_of(writers), draw.one_of(_PLACES[:2] if draw.happens(0.3) else _PLACES)
    return (lambda: work(path)), False
