"""What is learned of one column of a training table: its levels, or its knots.

Both are values of the training table. ``min_level_count`` = k keeps none that fewer than k rows
share: rarer levels become unknown, and knots become means of k neighbouring values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pandas as pd

from sasanet import errors
from sasanet.arrays import Floats
from sasanet.table.bags import ids, text
from sasanet.table.bags.parts import bag_kind, begin, expand, with_parts
from sasanet.table.columns import Column, family
from sasanet.table.reading import Level, factor, read_levels, read_numbers

_MANY_LEVELS = 1_000  # fewer are no burden, however few rows there are
_MOSTLY = 0.5  # of the rows
_TAIL_ROWS = 20  # at each end of a column


def learn_column(
    series: pd.Series, name: str, n_knots: int, as_category: bool, min_count: int
) -> Column:
    """Learn one column, as a category if asked to or if it holds something else than numbers."""
    kind = "" if as_category else bag_kind(series)
    if kind == "text":
        found = text.read(series, name)
        length = _learn_numbers(found.lengths, text.LENGTH, n_knots, min_count)
        return text.with_buckets(name, length, text.counts(found), min_count)
    if kind:
        bag = begin(series, name, kind)
        parts = expand(series, bag)
        learned = [learn_column(parts[part], part, n_knots, False, min_count) for part in parts]
        return with_parts(bag, learned)
    if column_kind(series, name, as_category) != "category":
        return _learn_numbers(read_numbers(series, name), name, n_knots, min_count)
    levels = _learn_levels(series, name, min_count)
    if len(levels) > ids.MOST_LEVELS:
        return ids.id_column(name, _level_counts(series, name), min_count)
    return Column(name, "category", tuple(levels))


def column_kind(series: pd.Series, name: str, as_category: bool) -> str:
    """Return "category", "number", or "" for a column that holds nothing."""
    if as_category or isinstance(series.dtype, pd.CategoricalDtype | pd.StringDtype):
        return "category"
    if series.dtype.kind in "iuf":
        return "number"
    kinds = set(map(family, factor(series, name)[1]))
    return "" if not kinds else "number" if kinds == {"number"} else "category"


def warn_of_unique_levels(columns: Sequence[Column], n_rows: int) -> None:
    """Warn of categories with another level in most rows: large, and no help for other rows."""
    for column in columns:
        if column.kind == "ids":
            warn_of_unique_ids(column)
            continue
        n_levels = len(column.levels)
        if n_levels >= max(_MANY_LEVELS, _MOSTLY * n_rows):
            errors.warn_user(
                f"Column {column.name!r} should have levels that repeat, got {n_levels:,} in "
                f"{n_rows:,} rows: each takes memory and says nothing about other rows; drop the "
                "column, or set min_level_count=2.",
                errors.UniqueLevelsWarning,
            )


def warn_of_unique_ids(column: Column) -> None:
    """Warn of ids of which none comes twice: they say nothing about other rows."""
    if len(column.parts) == len(ids.HASHES):
        errors.warn_user(
            f"Column {column.name!r} should have ids that repeat, got more than "
            f"{ids.MOST_LEVELS:,} of which hardly any does: they say nothing about other rows; "
            "drop the column.",
            errors.UniqueLevelsWarning,
        )


def _level_counts(series: pd.Series, name: str) -> dict[Level, int]:
    """Return how many rows have each level."""
    codes, levels = read_levels(series, name)
    return dict(zip(levels, np.bincount(codes[codes >= 0]).tolist(), strict=True))


def _learn_levels(series: pd.Series, name: str, min_count: int) -> list[Level]:
    codes, levels = read_levels(series, name)
    mixed = len(set(map(family, levels))) > 1  # such levels have no order but that of their text
    names: list[Level] = [str(level) for level in levels] if mixed else levels
    if min_count > 1:
        counts: Counter[Level] = Counter()
        for level, count in zip(names, np.bincount(codes[codes >= 0]).tolist(), strict=True):
            counts[level] += count
        names = [level for level in names if counts[level] >= min_count]
    names = list(dict.fromkeys(names))
    return names if isinstance(series.dtype, pd.CategoricalDtype) else sorted(names)


def _learn_numbers(values: Floats, name: str, n_knots: int, min_count: int) -> Column:
    values = values[~np.isnan(values)]
    if len(values) < min_count:
        return Column(name, "number", knots=(0.0,), seen=False)
    scale = float(np.abs(values).max()) or 1.0  # sums and squares of 1e308 would overflow
    mean, std = scale * float((values / scale).mean()), scale * float((values / scale).std())
    if min_count > 1:
        values = scale * averaged(values / scale, min_count)
    distinct, counts = np.unique(values, return_counts=True)
    knots = tuple(choose_knots(distinct, counts.astype(float), n_knots).tolist())
    return Column(name, "number", (), knots, mean, std or 1.0)


def averaged(values: Floats, count: int) -> Floats:
    """Replace each value by the mean of its group of so many neighbours in order of size."""
    ordered = np.sort(values)
    starts = np.arange(max(1, len(ordered) // count)) * count  # the last group takes the rest
    sizes = np.diff([*starts, len(ordered)])
    lowest, highest = ordered[starts], np.maximum.reduceat(ordered, starts)
    means = np.clip(np.add.reduceat(ordered, starts) / sizes, lowest, highest)
    return np.repeat(means, sizes)


def choose_knots(distinct: Floats, counts: Floats, n_knots: int) -> Floats:
    """Return at most n_knots values: the ends, the dominating ones, and quantiles of the rest.

    The quantiles are closer together towards both ends. Between two knots a function is a straight
    line, and a gap between evenly spaced quantiles is widest in the tails: with 32 of them the last
    gap of a normal column reaches from 1.9 to 4 standard deviations, half of its range.
    """
    if len(distinct) <= n_knots:
        return distinct
    chosen = np.zeros(len(distinct), dtype=bool)
    chosen[[0, -1]] = True
    # A value heavier than one step of the quantiles would be drawn twice. It gets its own knot,
    # which shortens the step for the rest, so ask again until no value is that heavy.
    while (free := n_knots - int(chosen.sum())) > 0:
        rest = np.where(chosen, 0, counts)
        step = rest.sum() / (free + 1)
        heavy = np.flatnonzero(rest > min(step, counts.sum() / n_knots))
        if not len(heavy):
            places = np.cumsum(rest * _tail_weights(rest))
            wanted = places[-1] / (free + 1) * np.arange(1, free + 1)
            chosen[np.searchsorted(places, wanted)] = True
            break
        chosen[heavy[np.argsort(-rest[heavy], kind="stable")][:free]] = True
    return distinct[chosen]


def _tail_weights(counts: Floats) -> Floats:
    """Return how much closer knots are at each value than evenly spaced quantiles: [m] → [m].

    1 / (π √(p (1 − p))) with p the share of rows below: knot k of K is then at p = sin²(π k / 2K).
    Beyond the last rows of each tail, which can tell no knots apart, the weight grows no more.
    """
    total = counts.sum()
    below = (np.cumsum(counts) - counts / 2) / total
    p = np.clip(np.minimum(below, 1 - below), min(_TAIL_ROWS / total, 0.5), 0.5)
    return np.asarray(1 / (np.pi * np.sqrt(p * (1 - p))))
