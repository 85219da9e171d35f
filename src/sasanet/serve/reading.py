"""JSON in, cells by column out: what a client sends is checked here, before any model sees it.

A row may lack columns, or hold null (or NaN): both are absent players. Whatever passes these
checks can be encoded, so no request can spoil the batch that it shares with others.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from fastapi import Request

from sasanet.errors import InvalidInputError
from sasanet.explanation.wording import shorten
from sasanet.serve.limits import Limits, Refusal, unusable
from sasanet.table.bags.dates import read_times
from sasanet.table.bags.parts import expand
from sasanet.table.columns import Column

Cell = str | bool | int | float | dt.datetime | list[Any] | None
_SHOWN = 80  # characters of a name or value that an answer repeats
_HALF_SIGN = re.compile("[\ud800-\udfff]")  # of a surrogate pair
_NUMBERS = {int, float}
_EXACT = 2**53  # beyond it a float may be another number than the integer that was sent


@dataclass(frozen=True)
class Rows:
    """Cells of the model's columns, in their order: d lists of n; and names it does not know."""

    cells: list[list[Cell]]
    n_rows: int
    ignored: tuple[str, ...] = ()


async def read_body(request: Request, limits: Limits) -> bytes:
    """Return the body of a request, if it is small enough and comes in time."""
    try:
        async with asyncio.timeout(limits.body_seconds):
            body = bytearray()
            async for part in request.stream():
                body += part
                if len(body) > limits.body_bytes:
                    raise Refusal(413, f"A body must have at most {limits.body_bytes} bytes.")
    except TimeoutError:
        raise Refusal(408, f"A body must arrive within {limits.body_seconds:g} s.") from None
    return bytes(body)


# --- JSON ---------------------------------------------------------------------------------------


def read_json(body: bytes) -> Any:
    """Return what a body says; NaN is null, and a name that stands twice in an object is refused.

    Examples
    --------
    >>> read_json(b'{"age": NaN}')
    {'age': None}
    >>> read_json(b'{"age": 1, "age": 2}')
    Traceback (most recent call last):
    sasanet.serve.limits.Refusal: A JSON object must name each field once, got 'age' twice.
    """
    try:
        return json.loads(body.decode(), object_pairs_hook=_unique, parse_constant=_constant)
    except Refusal:
        raise
    except RecursionError:
        raise unusable("The body must be nested less deeply.") from None
    except ValueError as error:  # of UTF-8 and of numbers with thousands of digits too
        where = f" at character {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
        raise unusable(f"The body must be JSON in UTF-8, got something else{where}.") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise unusable(f"A JSON object must name each field once, got {shown(twice)} twice.")
    return found


def _constant(word: str) -> None:
    if word != "NaN":
        raise unusable(f"Numbers must be finite, got {word}.")


def shown(value: object) -> str:
    """Return something a client sent as an answer may repeat it: short, in quotes, in ASCII."""
    return (
        ascii(shorten(value, _SHOWN)) if isinstance(value, str) else shorten(ascii(value), _SHOWN)
    )


def field(body: Any, name: str, kind: type, default: Any = None) -> Any:
    """Return a field of an object, of one type; without a default it must be there."""
    if not isinstance(body, Mapping):
        raise unusable(f"The body must be a JSON object with {name!r}, got {_kind(body)}.")
    value = body.get(name)
    if value is None and default is not None:
        return default
    if kind is int and type(value) is float and value.is_integer():
        value = int(value)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise unusable(f"{name!r} must be {_KINDS[kind]}, got {_kind(value)}.")
    return value


_KINDS: dict[type, str] = {
    list: "a list",
    dict: "an object",
    str: "text",
    int: "a whole number",
    bool: "true or false",
    float: "a number",
    type(None): "nothing",
}


def _kind(value: Any) -> str:
    return _KINDS.get(type(value), "something else")


# --- the shapes of tables -------------------------------------------------------------------------


def from_records(records: Any, columns: Sequence[Column], limits: Limits) -> Rows:
    """Read a list of objects, one per row; columns may lack."""
    if not isinstance(records, list) or not all(type(record) is dict for record in records):
        raise unusable('Rows must be a list of objects, such as [{"age": 31}].')
    _check_count(len(records), limits)
    known = {column.name for column in columns}
    strange = [record for record in records if not known.issuperset(record)]
    ignored = dict.fromkeys(name for record in strange for name in record if name not in known)
    if len(records) == 1:  # as most requests have
        given = [[records[0].get(column.name)] for column in columns]
    else:
        given = [[record.get(column.name) for record in records] for column in columns]
    return _checked(given, len(records), tuple(ignored), columns, limits)


def from_lists(rows: Any, names: Any, columns: Sequence[Column], limits: Limits) -> Rows:
    """Read a list of lists and the names of their positions."""
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise unusable("'columns' must be a list of names.")
    if len(set(names)) < len(names):
        raise unusable("'columns' must name each column once.")
    if not isinstance(rows, list) or not all(
        isinstance(row, list) and len(row) == len(names) for row in rows
    ):
        raise unusable(f"Rows must be a list of lists of {len(names)} cells each.")
    _check_count(len(rows), limits)
    return from_columns(
        {name: [row[j] for row in rows] for j, name in enumerate(names)}, columns, limits
    )


def from_columns(given: dict[str, list[Any]], columns: Sequence[Column], limits: Limits) -> Rows:
    """Read lists of equal length by name of column."""
    lengths = {len(cells) for cells in given.values()}
    if len(lengths) != 1:
        raise unusable("At least one column must be given, and all with equally many cells.")
    n_rows = lengths.pop()
    _check_count(n_rows, limits)
    known = {column.name for column in columns}
    ignored = tuple(name for name in given if name not in known)
    nothing = [None] * n_rows
    cells = [given.get(column.name, nothing) for column in columns]
    return _checked(cells, n_rows, ignored, columns, limits)


def keep_only(rows: Rows, only: Any, columns: Sequence[Column]) -> Rows:
    """Return the rows with all other columns absent; ``None`` keeps every column."""
    if only is None:
        return rows
    names = [column.name for column in columns]
    if not isinstance(only, list) or any(name not in names for name in only):
        raise unusable("'only' must be a list of names of the model's columns.")
    empty: list[Cell] = [None] * rows.n_rows
    kept = [cells if name in only else empty for name, cells in zip(names, rows.cells, strict=True)]
    return Rows(kept, rows.n_rows, rows.ignored)


def _check_count(n_rows: int, limits: Limits) -> None:
    if not 1 <= n_rows <= limits.rows:
        raise unusable(f"A request must have from 1 to {limits.rows} rows, got {n_rows}.")


# --- cells ----------------------------------------------------------------------------------------


def _checked(
    given: list[list[Any]],
    n_rows: int,
    ignored: tuple[str, ...],
    columns: Sequence[Column],
    limits: Limits,
) -> Rows:
    """Return cells, given by column, if all of them may stand in their columns."""
    longest = limits.text_length
    cells: list[list[Cell]] = []
    for column, values in zip(columns, given, strict=True):
        kind = column.kind
        for value in values:  # most need nothing else to be asked of them
            if value is None:
                continue
            if kind == "category":
                if type(value) is str and len(value) <= longest and value.isascii():
                    continue
            elif kind == "number" and type(value) in _NUMBERS and -_EXACT <= value <= _EXACT:
                continue
            read = _READERS.get(kind, _level)
            values = [None if v is None else read(v, column, limits) for v in values]
            break
        cells.append(values)
    return Rows(cells, n_rows, ignored)


def _number(value: Any, column: Column, limits: Limits) -> Cell:
    del limits
    name = column.name
    if type(value) not in (int, float):
        raise unusable(f"Column {shown(name)} must hold numbers or null, got {_kind(value)}.")
    try:
        finite = math.isfinite(value)
    except OverflowError:  # an integer beyond 1e308
        finite = False
    if not finite:
        raise unusable(f"Column {shown(name)} must hold finite numbers, got one beyond 1.8e308.")
    return float(value) if abs(value) > _EXACT else value


def _level(value: Any, column: Column, limits: Limits) -> Cell:
    name = column.name
    if isinstance(value, str):
        if len(value) > limits.text_length:
            raise unusable(
                f"Column {shown(name)} must hold texts of at most {limits.text_length} "
                f"characters, got {len(value)}."
            )
        if not value.isascii() and _HALF_SIGN.search(value):
            raise unusable(f"Column {shown(name)} must hold text that UTF-8 can write.")
        return value
    if isinstance(value, bool):
        return value
    if type(value) in (int, float):
        return _number(value, column, limits)
    raise unusable(f"Column {shown(name)} must hold text, numbers, true, false or null.")


def _text(value: Any, column: Column, limits: Limits) -> Cell:
    """Return free text."""
    if not isinstance(value, str):
        raise unusable(f"Column {shown(column.name)} must hold text or null, got {_kind(value)}.")
    return _level(value, column, limits)


def _date(value: Any, column: Column, limits: Limits) -> Cell:
    """Return a date or time written in ISO 8601."""
    if not isinstance(value, str) or len(value) > limits.text_length:
        raise unusable(
            f"Column {shown(column.name)} must hold dates such as '2026-11-15T14:30' or null, got "
            f"{_kind(value)}."
        )
    try:
        times = read_times(pd.Series([value], dtype=object), column.name, column.zone)
    except InvalidInputError:
        clock = f"with their offset, such as +01:00 (training: {column.zone})"
        zone = clock if column.zone else "without an offset"
        raise unusable(
            f"Column {shown(column.name)} must hold dates of ISO 8601 {zone}, got {shown(value)}."
        ) from None
    return times[0].to_pydatetime(warn=False)


def _list(value: Any, column: Column, limits: Limits) -> Cell:
    """Return a list of tags or of numbers."""
    try:
        if not isinstance(value, list) or len(value) > limits.text_length:
            raise InvalidInputError("no list")
        expand(pd.Series([value], dtype=object), column)
    except (InvalidInputError, OverflowError):
        what = f"{len(column.parts)} finite numbers" if column.kind == "vectors" else "texts"
        raise unusable(
            f"Column {shown(column.name)} must hold lists of {what} or null, got {_kind(value)}."
        ) from None
    return value


_READERS: dict[str, Callable[[Any, Column, Limits], Cell]] = {
    "number": _number,
    "dates": _date,
    "tags": _list,
    "vectors": _list,
    "text": _text,
}
