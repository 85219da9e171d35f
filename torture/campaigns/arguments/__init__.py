"""Random arguments: legal ones must work, illegal ones be refused in one sentence."""

from __future__ import annotations

import functools
import math
import tempfile
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from sasanet import Architecture, SASANetClassifier, SASANetRegressor, load
from sasanet.errors import SasanetError
from torture.campaigns.arguments.questions import ask
from torture.campaigns.arguments.values import (
    NOT_COUNTS,
    NOT_NUMBERS,
    NOT_SHARES,
    Values,
    draw_arguments,
)
from torture.case import REFUSED, RIGHT, Outcome, check_sentence, expect, watched_warnings
from torture.draw import Draw
from torture.models import TINY, check_sums, small_model, tiny

CONSTRUCTOR = {
    "network": Values((TINY, "set"), ("nope", None, 5, b"set", ["set"], {}, Architecture)),
    "preset": Values(
        ("default", np.str_("default")), ("worst", None, 3, ["default"], np.array(["default", "a"]))
    ),
    "learning_rate": Values(
        ("auto", 1e-3, np.float32(1e-3), 1, Fraction(1, 100)),
        (*NOT_NUMBERS, 0, -1, math.inf),
        (1e9, Decimal("0.1")),
    ),
    "batch_size": Values(("auto", 1, 7, np.int64(8), 10**9), NOT_COUNTS, (10**30,)),
    "max_epochs": Values((1, 2, np.int32(1)), NOT_COUNTS),
    "patience": Values(("auto", 1, np.int8(2)), NOT_COUNTS),
    "validation_fraction": Values(("auto", 0, 0.2, np.float16(0.25), 0.9), NOT_SHARES),
    "teachers": Values(("auto", ["auto"]), ("trees", None, 5, [], ["auto", "auto"], {}, object())),
    "teacher_weight": Values((0, 0.0, np.float32(0)), NOT_SHARES),
    "time_limit": Values((math.inf, 100, np.float32(50)), (*NOT_NUMBERS, 0, -1)),
    "categorical_features": Values(
        ((), [], ("city",), ["age"], "city", np.array(["city"]), pd.Index(["age", "city"])),
        (("nope",), [9], None, 3, [None], [1.5], [["city"]], object()),
        ([True], {"city": 1}),
    ),
    "min_level_count": Values((1, 2, np.int64(3), 10**6), (*NOT_COUNTS, "auto")),
    "device": Values(("auto", "cpu"), ("gpu", 5.5, "", [], object()), (None, 0, "cuda")),
    "random_state": Values(
        (None, 0, 5, np.int64(3), 2**32 - 1), (-1, "x", 1.5, math.nan, 2**40, [1], object())
    ),
    "verbose": Values((False, 0, np.bool_(False)), (), ("", [])),
}
REGRESSOR = {  # the targets are from 0 to 1
    "objective": Values(
        ("squared", "huber", "quantile", np.str_("squared")),
        ("nope", None, 5, ["squared"], {}, object()),
        ("poisson", "gamma", "tweedie"),
    ),
    "quantile": Values(
        (0.5, [0.5], np.array([0.5])),
        (*NOT_NUMBERS[:6], 0, 1, -0.1, [0.9, 0.1], [0.5, 0.5], [], [None], ["x"], object()),
        (0.9, [0.1, 0.9], (0.1, 0.5, 0.9)),
    ),
}
CLASSIFIER = {
    "class_weight": Values(
        (None, "balanced", {0: 1.0, 1: 2}, {0: np.float32(1), 1: 1}),
        ("nope", 5, {0: -1, 1: 1}, {0: math.nan, 1: 1}, {0: math.inf, 1: 1}, {0: "a", 1: 1},
         [1, 2], {0: None, 1: 1}, {0: 0, 1: 0}, object()),
        ({0: 0, 1: 1}, {0: 1}, {}, {"x": 1}, {0: 1e300, 1: 1e-300}),
    ),
}  # fmt: skip
DIRECTIONS = {
    "monotonic_cst": Values(
        (None, {"age": 1}, {"age": -1, "income": 0}, (1, 0, 0, 0), np.array([1, -1, 0, 0])),
        ("x", 5, {"city": 1}, {"nope": 1}, {"age": 2}, (1, 0), {"age": "up"}, [None] * 4,
         {"age": math.nan}, {"age": None}, (0, 0, 1, 0), object(), {9: 1}),
        ({}, [0, 0, 0, 0], {"age": True}, {0: 1}, {"age": 1.0}),
    ),
}  # fmt: skip
_SIZES = (0, -1, 1.5, "8", None, True, math.nan, [8])
_LAYERS = (None, 5, "ab", [0], [1.5], [None], [[4]], object())
ARCHITECTURE = {
    **{
        name: Values((2, 3, 8), _SIZES, (np.int64(4),))
        for name in ("n_knots", "width", "members", "marginal_heads", "attribution_width")
    },
    "positions": Values((1, 8), (0, -1, 1.5, "8", True), (None, 10**4)),
    "marginal_layers": Values(((4,), [4, 3]), _LAYERS, ((), (np.int64(3),))),
    "number_layers": Values(((4,), [4, 3]), _LAYERS, ((),)),
    "attribution_layers": Values(((4,), [4, 3]), (*_LAYERS, ())),
    "activation": Values(("relu", "leaky_relu"), ("tanh", None, 5, ["relu"])),
    "full_share": Values((0, 0.5, 1.0), (*NOT_NUMBERS, -0.1, 1.1)),
    "value_weight": Values((1.0, 0.5, 2), (*NOT_NUMBERS, -1.0, math.inf)),
    "attribution_weight": Values((1.0, 0.5, 2), (*NOT_NUMBERS, -1.0, math.inf)),
    "weight_decay": Values((0, 1e-2, np.float16(0.5)), (*NOT_NUMBERS, -1, math.inf)),
    "dropout": Values(("auto", 0, 0.5, np.float64(0.2)), NOT_SHARES),
    "numbers": Values(("knots", "mlp"), ("splines", None, 5)),
    "marginal": Values(("set",), ("bag", None, 5), ("sequence",)),
    "attribution": Values(("closed_form",), ("shap", None, 5), ("none",)),
    "shared_embedding": Values((False,), (), (True, "x", None)),
}
EXPLAIN = {
    "n_orders": Values((0, 4, 8, np.int64(4)), (-1, 1, 3, 1.5, "4", True, None, math.nan, [4])),
    "max_error": Values(
        (None, 0.5, np.float32(1.0)), (0, -1, math.nan, "x", True, [1]), (math.inf,)
    ),
}
AUDIT = {
    "n_rows": Values((2, 5, np.int64(4), 10**6), (1, 0, -1, 2.5, None, "x", True, math.nan)),
    "n_orders": Values((4, 10, np.int64(6)), (3, 0, -1, 2.5, None, "x", True, math.nan)),
    "random_state": Values((0, 1, np.int64(1)), (-1, 1.5, None, "x", [1], 2**70)),
}
_TABLES: tuple[Any, ...] = (
    None, 5, "table", [], [[]], np.zeros(3), np.zeros((2, 2, 2)), {}, object(), b"x", iter([]),
    pd.Series([1.0, 2.0]), pd.DataFrame(), pd.DataFrame({"a": []}), [[1, 2], [3]], lambda: 0,
    torch.zeros(3), pd.DataFrame({"a": [1], "b": [2], "c": [3]}), np.zeros((0, 4)),
    np.zeros((3, 9)),
)  # fmt: skip
_COALITIONS = (
    None, 5, "nope", ["nope"], [None], [1.5], np.zeros(3, bool), np.zeros(4), np.full(4, np.nan),
    np.zeros((2, 4), bool), np.zeros((3, 4, 1), bool), np.zeros((1, 1, 1, 4), bool), object(),
    [["age"]], {"age": True}, np.array([2, 0, 1, 1]),
)  # fmt: skip


@functools.cache
def _fitted() -> tuple[Any, pd.DataFrame]:
    return small_model(3)


def run(seed: int) -> Outcome:
    """Call one function with random arguments."""
    draw = Draw("arguments", seed)
    calls: tuple[Callable[[Draw], tuple[Callable[[], object], bool | None]], ...] = (
        _constructor, _constructor, _constructor, _architecture, _fit, _explain, _value, _audit,
        _save, _load, ask, ask, ask, ask,
    )  # fmt: skip
    call, works = draw.one_of(calls)(draw)
    with watched_warnings():
        try:
            call()
        except SasanetError as error:
            check_sentence(error)
            expect(works is not True, f"legal arguments were refused: {error}")
            return Outcome.of(REFUSED)
    expect(works is not False, "illegal arguments were accepted")
    return Outcome.of(RIGHT)


def _rows(draw: Draw) -> tuple[Any, pd.DataFrame, Any]:
    """Return a kind of model and something to learn."""
    _, X = _fitted()
    if draw.happens(0.5):
        return SASANetClassifier, X, np.arange(len(X)) % 2
    return SASANetRegressor, X, np.linspace(0, 1, len(X))


def _constructor(draw: Draw) -> tuple[Callable[[], object], bool | None]:
    kind, X, y = _rows(draw)
    known = CONSTRUCTOR | DIRECTIONS | (REGRESSOR if kind is SASANetRegressor else CLASSIFIER)
    given, works = draw_arguments(draw, known, most=3)
    if works and len(given) > 1 and {*DIRECTIONS, *REGRESSOR} & given.keys():
        works = None  # some do not go together, such as a direction and a category

    def call() -> None:
        model = tiny(kind, **given).fit(X, y)
        check_sums(model, X)
        with tempfile.TemporaryDirectory() as folder:
            model.save(folder)
            check_sums(load(folder), X)

    return call, works


def _architecture(draw: Draw) -> tuple[Callable[[], object], bool | None]:
    kind, X, y = _rows(draw)
    given, works = draw_arguments(draw, ARCHITECTURE, most=3)

    def call() -> None:
        network = Architecture(**vars(TINY) | {"attribution_layers": (4,)} | given)
        if network.marginal == "set" and network.attribution == "closed_form":
            check_sums(tiny(kind, network=network).fit(X, y), X)

    return call, works


def _fit(draw: Draw) -> tuple[Callable[[], object], bool | None]:
    kind, X, y = _rows(draw)
    validations = ((X,), 5, "ab", (X, y, y), (X[:5], y[:4]), (None, None), (X, None), ("a", "b"))
    if draw.happens(0.3):
        return (lambda: check_sums(tiny(kind).fit(X, y, validation=(X, y)), X)), True
    if draw.happens(0.5):
        bad = draw.one_of(validations)
        return (lambda: tiny(kind).fit(X, y, validation=bad)), False
    table = draw.one_of(_TABLES[:-3])
    return (lambda: tiny(kind).fit(table, y)), False


def _explain(draw: Draw) -> tuple[Callable[[], object], bool | None]:
    model, X = _fitted()
    given, works = draw_arguments(draw, EXPLAIN, most=2)
    both = given.get("n_orders", 0) != 0 and given.get("max_error") is not None
    works = None if both and works else works
    table: Any = X[:4]
    if draw.happens(0.2):
        table, works = draw.one_of(_TABLES), False
    method = draw.one_of(("explain", "explain", "predict", "predict_proba", "profiles"))
    if method != "explain":
        works = isinstance(table, pd.DataFrame) and list(table.columns) == list(X.columns)
        return (lambda: getattr(model, method)(table)), works
    return (lambda: _check_explained(model.explain(table, **given))), works


def _check_explained(explanation: Any) -> None:
    expect(np.isfinite(explanation.values).all(), "an attribution is not finite")
    errors = explanation.error_std
    expect(errors is None or np.isfinite(errors).all(), "a standard error is not finite")


def _value(draw: Draw) -> tuple[Callable[[], object], bool | None]:
    model, X = _fitted()
    X = X[:3]
    good: tuple[Any, ...] = (
        np.ones(4, bool), np.zeros((3, 4), bool), np.ones((3, 2, 4), bool), ["age", "city"],
        ("member",), [True, False, True, False],
    )  # fmt: skip
    works = draw.happens(0.4)
    given = draw.one_of(good if works else _COALITIONS)

    def call() -> None:
        expect(np.isfinite(model.value(X, given)).all(), "a value is not finite")

    return call, works


def _audit(draw: Draw) -> tuple[Callable[[], object], bool | None]:
    model, X = _fitted()
    X = X[:6]
    given, works = draw_arguments(draw, AUDIT, most=3)
    labels = (None, np.arange(6) % 2, [0, 1] * 3)
    wrong = ([0, 1], np.full(6, np.nan), ["a"] * 6, 5, np.arange(6), [[0, 1]] * 6, "abcdef")
    y: Any = draw.one_of(labels)
    if draw.happens(0.3):
        y, works = draw.one_of(wrong), False
    return (lambda: expect(str(model.audit(X, y, **given)), "an empty certificate")), works


def _save(draw: Draw) -> tuple[Callable[[], object], bool | None]:
    model, _ = _fitted()
    folder = Path(tempfile.mkdtemp(prefix="torture-"))
    (folder / "file").write_text("x")
    (folder / "full").mkdir()
    (folder / "full" / "other").write_text("x")
    good: tuple[Any, ...] = (folder / "a", str(folder / "b" / "c"))
    places = (folder / "file", folder / "full", folder / "file" / "x")
    bad: tuple[Any, ...] = (5, None, b"bytes", "a\0b", [], 1.5, *places)
    works = draw.happens(0.5)
    path = draw.one_of(good if works else bad)
    keys: tuple[Any, ...] = (None, b"k" * 16, bytearray(20))
    if draw.happens(0.3):
        keys, works = ("secret key of some length", b"short", 5, [1] * 20), False
    key = draw.one_of(keys)

    def call() -> None:
        try:
            model.save(path, key)
            load(path, key)
        finally:
            _remove(folder)

    return call, works


def _remove(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    folder.rmdir()


def _load(draw: Draw) -> tuple[Callable[[], object], bool | None]:
    bad: tuple[Any, ...] = (
        5,
        None,
        b"bytes",
        "a\0b",
        "/nonexistent/model",
        __file__,
        "",
        [],
        1.5,
        "/dev/null",
        "/",
    )
    path = draw.one_of(bad)
    readers = (load, SASANetClassifier.load, SASANetRegressor.load)
    return (lambda: draw.one_of(readers)(path)), False
