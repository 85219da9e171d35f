"""Random columns of every kind a table may hold, those that must be refused among them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from torture.draw import Draw

Make = Callable[[Draw, int], Any]
TEXTS = (
    "a", "b", "B", " b", "b ", "", "nan", "None", "NA", "True", "1", "1.0", "01", "é", "e\u0301",
    "日本", "\u202eabc", "a,b", 'q"q', "'", "x\ny", "\t", "\x1b[31m", "<b>", "=1+1", "\u2028",
    "\ud800",
    "long " * 50, "{{ 7 }}", "\x00", "0",
)  # fmt: skip
_WRITABLE = tuple(text for text in TEXTS if "\ud800" not in text and len(text) < 50)
BAD_NAMES = ("\ud800", "\x00")  # no UTF-8; no name of a C library
EXTREMES = (0.0, -0.0, 1e308, -1e308, 1.7e308, 5e-324, -5e-324, 2.3e-308, 1e-300, 1.0, 1e16, -1e154)
HUGE = (2**53, 2**53 + 1, 2**53 + 2, -(2**53) - 1, 2**62, 2**62 + 1, 2**63 - 1, -(2**63), 0, 1)
MIXTURES: tuple[tuple[Any, ...], ...] = (
    (True, 1, 0, False),
    (1, "1", 1.0, True),
    (1, "a", 2.5, None),
    (Decimal("1.5"), 2, np.float32(0.5), None),
    (np.int64(3), np.float64(3.0), 3, np.bool_(True)),
    ("a", np.str_("a"), None, np.nan, pd.NA),
    (2**53, 2**53 + 1, float(2**53), 10**30),
    (0.1, np.float32(0.1), "x"),
)


def _numbers(draw: Draw, n: int) -> Any:
    scale = 10.0 ** draw.between(-12, 12)
    return draw.numbers.normal(size=n) * scale + draw.one_of((0.0, 0.0, 1e6, -1e-9))


def _with_holes(make: Make) -> Make:
    def holes(draw: Draw, n: int) -> Any:
        column = pd.Series(make(draw, n))
        return column.mask(draw.numbers.random(n) < draw.one_of((0.05, 0.5, 0.95)))

    return holes


def _picked(options: tuple[Any, ...]) -> Make:
    """Return a maker of plain arrays from some values."""

    def make(draw: Draw, n: int) -> Any:
        return np.array(options)[draw.numbers.integers(0, len(options), n)]

    return make


def _objects(options: tuple[Any, ...]) -> Make:
    """Return a maker of columns of Python objects."""

    def make(draw: Draw, n: int) -> Any:
        cells = np.empty(n, dtype=object)
        cells[:] = [draw.one_of(options) for _ in range(n)]
        return pd.Series(cells, dtype=object)

    return make


def _integers(draw: Draw, n: int) -> Any:
    dtype = draw.one_of((np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint64))
    return draw.numbers.integers(0, draw.one_of((2, 5, 100)), n).astype(dtype)


def _small_floats(draw: Draw, n: int) -> Any:
    return draw.numbers.normal(size=n).astype(draw.one_of((np.float16, np.float32)))


def _unsigned(draw: Draw, n: int) -> Any:
    return np.array([2**64 - 1, 2**64 - 2, 2**63, 0], dtype=np.uint64)[
        draw.numbers.integers(0, 4, n)
    ]


def _constant(draw: Draw, n: int) -> Any:
    return pd.Series([draw.one_of((0, 1.5, "a", True, 1e308, 2**60))] * n)


def _empty(draw: Draw, n: int) -> Any:
    return pd.Series([draw.one_of((None, np.nan, pd.NA))] * n, dtype=draw.one_of((object, None)))


def _text(draw: Draw, n: int) -> Any:
    levels = draw.random.sample(TEXTS, draw.between(1, 8))
    cells: list[Any] = [draw.one_of(levels) for _ in range(n)]
    if draw.happens(0.3):
        cells = [None if draw.happens(0.2) else cell for cell in cells]
    return pd.Series(cells, dtype=object)


def _unique_text(draw: Draw, n: int) -> Any:
    return pd.Series([f"id {draw.random.getrandbits(40):x}" for _ in range(n)])


def _category(draw: Draw, n: int) -> Any:
    kinds: tuple[list[Any], ...] = (
        ["S", "M", "L", "XL"],
        [3, 1, 2, 9],
        [True, False],
        [0.5, 1.5, 2.0],
        [True, "a", 1.5],  # levels of several types
    )
    levels = draw.one_of(kinds)
    used = levels[: draw.between(1, len(levels))]  # the others are declared and absent
    cells: list[Any] = [None if draw.happens(0.1) else draw.one_of(used) for _ in range(n)]
    return pd.Series(pd.Categorical(cells, categories=levels, ordered=draw.happens(0.3)))


def _intervals(draw: Draw, n: int) -> Any:
    return pd.cut(pd.Series(draw.numbers.normal(size=n)), [-9, -1, 0, 1, 9])


def _nullable(draw: Draw, n: int) -> Any:
    kind = draw.one_of(("Int64", "UInt8", "Float64", "Float32", "boolean", "string"))
    options: tuple[Any, ...] = (1, 0, pd.NA)
    if kind in ("Int64",):
        options = (2**53 + 1, 2**53, -5, pd.NA)
    elif kind == "string":
        options = ("a", "b", "", pd.NA)
    return pd.Series([draw.one_of(options) for _ in range(n)], dtype=kind)


def _arrow(draw: Draw, n: int) -> Any:
    kind = draw.one_of(("int64[pyarrow]", "double[pyarrow]", "bool[pyarrow]", "string[pyarrow]"))
    options: tuple[Any, ...] = ("a", "b", None) if "string" in kind else (1, 0, None)
    return pd.Series([draw.one_of(options) for _ in range(n)], dtype=kind)


def _mixture(draw: Draw, n: int) -> Any:
    return _objects(draw.one_of(MIXTURES))(draw, n)


def _dates(draw: Draw, n: int) -> Any:
    """Return moments of several forms: with a clock and a zone or without, some missing."""
    step = draw.one_of((86_400, 3_600, 1))  # seconds
    first = draw.one_of(("1700-01-01", "1969-12-31", "2020-02-29", "2199-12-31"))
    moments = pd.Timestamp(first) + pd.to_timedelta(
        draw.numbers.integers(0, 5_000, n) * step, unit="s"
    )
    column = pd.Series(moments.as_unit(draw.one_of(("s", "us", "ns"))))
    if draw.happens(0.3):
        column = column.mask(draw.numbers.random(n) < 0.2)
    zone = draw.one_of((None, None, "UTC", "Europe/Rome", "Asia/Kathmandu"))
    return column if zone is None else column.dt.tz_localize("UTC").dt.tz_convert(zone)


def _sentences(draw: Draw, n: int) -> Any:
    words = [*draw.some_of(_WRITABLE, 6), "the", "lid", "came", "broken"]
    return pd.Series([" ".join(draw.one_of(words) for _ in range(draw.between(3, 9)))
                      for _ in range(n)], dtype=object)  # fmt: skip


def _tags(draw: Draw, n: int) -> Any:
    pool = draw.some_of(_WRITABLE, 5)
    kind = draw.one_of((list, tuple, set))
    cells = [kind(draw.some_of(pool, 3)) if draw.happens(0.8) else kind() for _ in range(n)]
    return pd.Series(cells, dtype=object)


def _vectors(draw: Draw, n: int) -> Any:
    return pd.Series(draw.numbers.normal(size=(n, draw.between(1, 4))).tolist(), dtype=object)


LEGAL: dict[str, Make] = {
    "numbers": _numbers,
    "numbers with holes": _with_holes(_numbers),
    "extreme numbers": _picked(EXTREMES),
    "extreme numbers with holes": _with_holes(_picked(EXTREMES)),
    "whole numbers": _integers,
    "huge whole numbers": _picked(HUGE),
    "unsigned numbers": _unsigned,
    "small floats": _small_floats,
    "truth": _picked((True, False)),
    "truth with holes": _objects((True, False, None)),
    "constant": _constant,
    "empty": _empty,
    "text": _text,
    "unique text": _unique_text,
    "category": _category,
    "intervals": _intervals,
    "nullable": _nullable,
    "arrow": _arrow,
    "mixture": _mixture,
    "decimals": _objects((Decimal("1.5"), Decimal("2"), Decimal("1e-30"))),
}

BAGS: dict[str, Make] = {  # of many parts: slower
    "dates": _dates,
    "dates as objects": _objects((dt.date(2020, 1, 1), dt.date(1600, 2, 29), None)),
    "sentences": _sentences,
    "tags": _tags,
    "vectors": _vectors,
}


def _whole(make: Callable[[int], Any]) -> Make:
    return lambda draw, n: make(n)  # noqa: ARG005 - every maker takes a draw


ILLEGAL: dict[str, Make] = {
    "infinity": _whole(lambda n: np.array([1.0, np.inf] * n)[:n]),
    "negative infinity among objects": _objects((1.5, -np.inf)),
    "dates among numbers": _whole(lambda n: pd.Series([dt.date(2020, 1, 1), 1] * n)[:n]),
    "two time zones": _whole(
        lambda n: pd.Series([pd.Timestamp(0, tz="UTC"), pd.Timestamp(0, tz="Asia/Tokyo")] * n)[:n]
    ),
    "times of day": _objects((dt.time(1), dt.time(2))),
    "durations": _whole(lambda n: pd.Series(pd.to_timedelta(np.arange(n), unit="s"))),
    "complex": _whole(lambda n: np.arange(n) * 1j),
    "lists of several lengths": _whole(lambda n: pd.Series([[1], [2, 3]] * n)[:n]),
    "lists of lists": _objects(([[1]], [["a"]])),
    "lists of infinity": _objects(([np.inf], [-np.inf])),
    "dictionaries": _objects(({"a": 1}, {})),
    "bytes": _objects((b"a", b"b")),
    "numbers beyond float64": _objects((1, 10**400)),
}
