"""Which columns are bags, and their parts as plain columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sasanet.arrays import Masks
from sasanet.table.bags import dates, ids, lists, text
from sasanet.table.columns import Column
from sasanet.table.reading import read_numbers


def bag_kind(series: pd.Series) -> str:
    """Return which kind of bags a training column holds; empty: it is plain.

    Examples
    --------
    >>> bag_kind(pd.Series(pd.to_datetime(["2026-11-15"]))), bag_kind(pd.Series([1.5]))
    ('dates', '')
    """
    if dates.holds_dates(series):
        return "dates"
    return "text" if text.holds_text(series) else lists.kind_of_lists(series)


def begin(series: pd.Series, name: str, kind: str) -> Column:
    """Return a bag of which no parts are known yet, but all that tells how to read them."""
    if kind == "vectors":  # as many empty parts as there are numbers, until they are learned
        parts = tuple(Column(str(j), "number") for j in range(lists.length_of(series)))
        return Column(name, kind, parts=parts)
    return Column(name, kind, zone=dates.zone_of(series, name) if kind == "dates" else "")


def expand(series: pd.Series, column: Column) -> dict[str, pd.Series]:
    """Return the parts of a column's cells, each a plain column without labels of rows.

    The first is missing where the cell is. Text and ids have too many parts to be made columns:
    :func:`place_bag` reads them.
    """
    if column.kind == "tags":
        return lists.expand_tags(series, column.name)
    if column.kind == "vectors":
        return lists.expand_vectors(series, column.name, len(column.parts))
    return dates.expand(series, column.name, column.zone)


def place_bag(
    series: pd.Series, column: Column, place: Callable[[pd.Series, Column], NDArray[Any]]
) -> list[NDArray[Any]]:
    """Return the places of every part of a column's cells; ``place`` reads plain columns."""
    if column.kind == "ids":
        return [*ids.places(series, column).T]
    if column.kind == "text":
        lengths, further = text.places(series, column)
        return [place(pd.Series(lengths), column.parts[0]), *further.T]
    parts = expand(series, column)
    return [place(parts[part.name], part) for part in column.parts]


def beyond(series: pd.Series, column: Column) -> Masks:
    """Return which cells are numbers, or times, outside the range of training: (n,)."""
    if column.kind == "dates":
        series, column = expand(series, column)["time"], column.parts[0]
    if column.kind != "number" or not column.seen:  # of an empty column no range is known
        return np.zeros(len(series), dtype=bool)
    values = read_numbers(series, column.name)
    with np.errstate(invalid="ignore"):
        return np.asarray((values < column.knots[0]) | (values > column.knots[-1]))


def training_range(column: Column) -> tuple[Any, Any] | None:
    """Return the least and the largest number or time of training; None where there is none."""
    ruler = column.parts[0] if column.kind == "dates" else column
    if ruler.kind != "number" or not ruler.seen:
        return None
    low, high = ruler.knots[0], ruler.knots[-1]
    if column.kind == "dates":
        return dates.time_of(low, column.zone), dates.time_of(high, column.zone)
    return low, high


def with_parts(bag: Column, parts: Sequence[Column]) -> Column:
    """Return the bag with what was learned of its parts, without those that say nothing."""
    first, *others = parts
    if bag.kind != "vectors":  # the same hour in all rows, buckets of tags that no row has
        others = [part for part in others if part.kind != "number" or len(part.knots) > 1]
    return replace(bag, parts=(first, *others))
