"""What one pass finds out about a table: its columns, its target, and a sample of its rows.

All of it is made of sketches that can be merged, so that several workers can share a pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from sasanet.arrays import Floats
from sasanet.errors import InvalidInputError
from sasanet.streaming.levels import LevelSketch
from sasanet.streaming.quantiles import Moments, QuantileSketch
from sasanet.streaming.sample import RowSample
from sasanet.table.bags import ids, text
from sasanet.table.bags.parts import bag_kind, begin, expand, with_parts
from sasanet.table.columns import Column
from sasanet.table.encoder import TableEncoder
from sasanet.table.learning import (
    averaged,
    choose_knots,
    column_kind,
    warn_of_unique_ids,
)
from sasanet.table.reading import read_numbers

_SAMPLE_CELLS = 2**24  # of the sample that teachers learn from: 128 MB
_SAMPLE_ROWS = 200_000
_MOST_CLASSES = 10_000  # distinct labels that are counted
_POINTS = 2**16  # that stand for a column where knots must be means of several values


@dataclass
class ColumnSketch:
    """A column of which it may not be known yet whether it holds numbers or levels."""

    name: str
    as_category: bool
    numbers: QuantileSketch | None = None
    levels: LevelSketch | None = None
    bag: Column | None = None
    parts: dict[str, ColumnSketch] = field(default_factory=dict)  # of a bag
    buckets: Any = 0  # of text: how many rows have each

    def add(self, series: pd.Series) -> None:
        """Count the cells of more rows."""
        if self.numbers is None and self.levels is None and self._is_bag(series):
            self._add_parts(series)
            return
        kind = column_kind(series, self.name, self.as_category)
        if kind == "category" or (kind and self.levels is not None):
            self._become_levels().add(series, self.name)
        elif kind == "number":
            values = read_numbers(series, self.name)
            self.numbers = self.numbers or QuantileSketch()
            self.numbers.add(values[~np.isnan(values)])

    def _is_bag(self, series: pd.Series) -> bool:
        """Tell whether the column holds bags, as its first rows say."""
        if self.bag is None and not self.as_category and (kind := bag_kind(series)):
            self.bag = begin(series, self.name, kind)
        return self.bag is not None

    def _add_parts(self, series: pd.Series) -> None:
        assert self.bag is not None
        if self.bag.kind == "text":
            found = text.read(series, self.name)
            self.buckets = self.buckets + text.counts(found)
            parts = {text.LENGTH: pd.Series(found.lengths)}
        else:
            parts = expand(series, self.bag)
        for part, cells in parts.items():
            self.parts.setdefault(part, ColumnSketch(part, False)).add(cells)

    def merge(self, other: ColumnSketch) -> None:
        """Count what another sketch of the column has counted."""
        if other.bag is not None:
            self._merge_parts(other)
            return
        if other.levels is not None:
            self._become_levels().merge(other.levels)
        elif other.numbers is not None and self.levels is not None:
            other._become_levels()
            self.merge(other)
        elif other.numbers is not None:
            self.numbers = self.numbers or QuantileSketch()
            self.numbers.merge(other.numbers)

    def _merge_parts(self, other: ColumnSketch) -> None:
        if self.bag is None and (self.numbers is not None or self.levels is not None):
            raise InvalidInputError(
                f"Column {self.name!r} must hold one kind of cells in all parts of a source, got "
                "dates in some of them; convert the column."
            )
        self.bag = self.bag or other.bag
        self.buckets = self.buckets + other.buckets
        for name, part in other.parts.items():
            self.parts.setdefault(name, ColumnSketch(name, False)).merge(part)

    def _become_levels(self) -> LevelSketch:
        """Read what were numbers so far as levels, as a table in memory would be read."""
        self.levels = self.levels or LevelSketch()
        if self.numbers is not None:
            if not self.numbers.is_exact:
                raise InvalidInputError(
                    f"Column {self.name!r} must hold either numbers or text, got text after many "
                    "numbers; convert the column, or name it in categorical_features."
                )
            self.levels.add_numbers(self.numbers.distinct.tolist(), self.numbers.counts.tolist())
            self.numbers = None
        return self.levels

    def column(self, n_knots: int, min_count: int) -> Column:
        """Return what the encoder is to remember of the column."""
        if self.bag is not None:
            parts = [part.column(n_knots, min_count) for part in self.parts.values()]
            if self.bag.kind == "text":
                return text.with_buckets(self.name, parts[0], self.buckets, min_count)
            return with_parts(self.bag, parts)
        if self.levels is not None:
            return self._category(self.levels, min_count)
        numbers = self.numbers or QuantileSketch()
        if numbers.moments.n < min_count or not numbers.moments.n:
            return Column(self.name, "number", knots=(0.0,), seen=False)
        distinct, counts = numbers.summary()
        if min_count > 1:
            distinct, counts = _means(distinct, counts, min_count)
        knots = tuple(choose_knots(distinct, counts, n_knots).tolist())
        mean, std = float(numbers.moments.mean), numbers.moments.std
        return Column(self.name, "number", (), knots, mean, std or 1.0)

    def _category(self, sketch: LevelSketch, min_count: int) -> Column:
        levels = sketch.levels(min_count)
        if not sketch.lost and len(levels) <= ids.MOST_LEVELS:
            return Column(self.name, "category", tuple(levels))
        counts = {level: count for (_, level), count in sketch.counts.items()}
        found = ids.id_column(self.name, counts, min_count)
        warn_of_unique_ids(found)
        return found


def _means(distinct: Floats, counts: Floats, min_count: int) -> tuple[Floats, Floats]:
    """Return values of which each is the mean of at least min_count rows, and their counts."""
    total = counts.sum()
    n_points = int(min(total, _POINTS))
    ranks = (np.arange(n_points) + 0.5) / n_points * total
    points = distinct[np.searchsorted(np.cumsum(counts), ranks)]
    scale = float(np.abs(points).max()) or 1.0
    group = int(np.ceil(min_count * n_points / total)) + (n_points < total)
    values, found = np.unique(scale * averaged(points / scale, group), return_counts=True)
    return values, found.astype(float)


@dataclass
class TargetSketch:
    """Labels: each distinct one with its rows and their weight, and moments of numbers."""

    rows: dict[Any, int] | None = field(default_factory=dict)  # None: too many to be classes
    mass: dict[Any, float] = field(default_factory=dict)
    moments: Moments = field(default_factory=Moments)
    values: QuantileSketch = field(default_factory=QuantileSketch)

    def add(self, labels: pd.Series, weights: Floats) -> None:
        """Count the labels of more rows."""
        missing = int(labels.isna().sum())
        if missing:
            raise InvalidInputError(
                f"y must not have missing labels, got Input y contains NaN in {missing} rows"
            )
        if self.rows is not None:
            self._count(labels, weights)
        if labels.dtype.kind in "iuf":
            values = labels.to_numpy(dtype=np.float64)
            if not np.isfinite(values).all():
                raise InvalidInputError("y must be finite, got Input y contains infinity")
            self.moments = self.moments.merged(Moments.of(values, weights))
            self.values.add(values)

    def merge(self, other: TargetSketch) -> None:
        """Count what another sketch has counted."""
        self.moments = self.moments.merged(other.moments)
        self.values.merge(other.values)
        if self.rows is None or other.rows is None:
            self.rows = None
            return
        self._join(other.rows, other.mass)

    def _count(self, labels: pd.Series, weights: Floats) -> None:
        codes, found = pd.factorize(labels)
        rows = np.bincount(codes, minlength=len(found)).tolist()
        mass = np.bincount(codes, weights, minlength=len(found)).tolist()
        names = found.tolist()
        self._join(
            dict(zip(names, rows, strict=True)),
            dict(zip(names, mass, strict=True)),
        )

    def _join(self, rows: dict[Any, int], mass: dict[Any, float]) -> None:
        assert self.rows is not None
        for label, count in rows.items():
            self.rows[label] = self.rows.get(label, 0) + count
            self.mass[label] = self.mass.get(label, 0.0) + mass[label]
        if len(self.rows) > _MOST_CLASSES:
            self.rows, self.mass = None, {}

    def summary(self) -> tuple[Any, Floats, Floats]:
        """Return labels that stand for all, the weight of each, and the rows of each: [m]."""
        if self.rows is not None:
            labels = np.array(list(self.rows))
            mass = np.array([self.mass[label] for label in self.rows])
            return labels, mass, np.array(list(self.rows.values()), dtype=float)
        if not self.values.moments.n:
            raise InvalidInputError(
                f"y must hold numbers, or at most {_MOST_CLASSES:,} classes, got more; group them"
            )
        values, counts = self.values.summary()
        return values, counts, counts


@dataclass
class Survey:
    """Everything that one pass over a table finds out."""

    labels: tuple[Any, ...]  # of the columns, as the table has them
    columns: list[ColumnSketch]
    target: TargetSketch
    sample: RowSample
    n_rows: int = 0
    weight: float = 0.0  # of all rows

    @classmethod
    def begin(cls, labels: Sequence[Any], encoder: TableEncoder, seed: int) -> Survey:
        """Return the survey of a table of which no row has been seen."""
        names = [str(label) for label in labels]
        codes = encoder.code_columns(names)
        columns = [ColumnSketch(name, name in codes) for name in names]
        size = max(1, min(_SAMPLE_ROWS, _SAMPLE_CELLS // len(names)))
        sample = RowSample(size, np.random.default_rng(seed))
        return cls(tuple(labels), columns, TargetSketch(), sample)

    def add(self, features: pd.DataFrame, labels: pd.Series, weights: Floats, first: int) -> None:
        """Count more rows, the first of which has this number."""
        for j, column in enumerate(self.columns):
            column.add(features.iloc[:, j])
        self.target.add(labels, weights)
        kept = features.set_axis(range(features.shape[1]), axis=1)
        kept[-1], kept[-2] = labels.to_numpy(), weights
        self.sample.add(kept, first)
        self.n_rows += len(features)
        self.weight += float(weights.sum())

    def merge(self, other: Survey) -> None:
        """Count what another worker has counted."""
        for mine, others in zip(self.columns, other.columns, strict=True):
            mine.merge(others)
        self.target.merge(other.target)
        self.sample.merge(other.sample)
        self.n_rows += other.n_rows
        self.weight += other.weight

    def learn(self, encoder: TableEncoder) -> TableEncoder:
        """Return the encoder with the columns that were found."""
        n_knots = encoder.knots_of(len(self.columns))
        encoder.columns = tuple(
            sketch.column(n_knots, encoder.min_level_count) for sketch in self.columns
        )
        encoder.named = all(isinstance(label, str) for label in self.labels)
        return encoder

    def sampled(self) -> SampledRows:
        """Return the sample of rows."""
        numbers, frame = self.sample.rows()
        features = frame.drop(columns=[-1, -2]).set_axis(list(self.labels), axis=1)
        weights = frame[-2].to_numpy(dtype=np.float64)
        return SampledRows(numbers, features, frame[-1].to_numpy(), weights)


@dataclass(frozen=True)
class SampledRows:
    """Some rows of a source: their numbers in it, features, labels and weights."""

    numbers: Any
    features: pd.DataFrame
    labels: Any
    weights: Floats
