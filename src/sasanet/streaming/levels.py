"""A sketch of a category in bounded memory, which can be merged with others.

Levels are counted exactly while there are few. Of very many the frequent ones are kept (Misra and
Gries, 1982): each that more than one row in 100,000 has is certain to be among them, and a column
of ids that never repeat keeps none.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from sasanet.table.columns import family
from sasanet.table.reading import Level, read_levels

MOST_LEVELS = 100_000
_Key = tuple[str, Level]  # True and 1 are one key of a dict: their families tell them apart


@dataclass
class LevelSketch:
    """Levels and the rows that have them.

    Examples
    --------
    >>> sketch = LevelSketch()
    >>> sketch.add(pd.Series(["b", "a", "b", None]), "city")
    >>> sketch.levels(min_count=1)
    ['a', 'b']
    """

    counts: dict[_Key, int] = field(default_factory=dict)  # in the order of their appearance
    ordered: bool = True  # whether all came as pandas' categories, which have an order
    lost: int = 0  # at most so many rows are missing from a count

    def add(self, series: pd.Series, name: str) -> None:
        """Count the levels of more rows."""
        codes, levels = read_levels(series, name)
        self.ordered &= isinstance(series.dtype, pd.CategoricalDtype)
        found = np.bincount(codes[codes >= 0], minlength=len(levels)).tolist()
        self._count({(family(level), level): n for level, n in zip(levels, found, strict=True)})

    def add_numbers(self, distinct: list[float], counts: list[float]) -> None:
        """Count numbers of a column that turned out to hold text as well."""
        self.ordered = False
        pairs = zip(distinct, counts, strict=True)
        plain: dict[_Key, int] = {
            ("number", int(v) if v.is_integer() else v): int(n) for v, n in pairs
        }
        self._count(plain)

    def merge(self, other: LevelSketch) -> None:
        """Count what another sketch has counted."""
        self.ordered &= other.ordered
        self.lost += other.lost
        self._count(other.counts)

    def levels(self, min_count: int) -> list[Level]:
        """Return the levels that at least so many rows have, as the encoder orders them."""
        mixed = len({kind for kind, _ in self.counts}) > 1
        named: dict[Level, int] = {}
        for (_, level), count in self.counts.items():
            key = str(level) if mixed else level
            named[key] = named.get(key, 0) + count
        kept = [level for level, count in named.items() if count >= min_count]
        return kept if self.ordered else sorted(kept)

    def _count(self, found: dict[_Key, int]) -> None:
        counts = self.counts
        for key, count in found.items():
            counts[key] = counts.get(key, 0) + count
        if len(counts) > 2 * MOST_LEVELS:
            self._forget_rare()

    def _forget_rare(self) -> None:
        """Subtract the count of the first level that must go from all; what is left stays."""
        sizes = np.fromiter(self.counts.values(), np.int64, len(self.counts))
        cut = int(np.partition(sizes, -MOST_LEVELS - 1)[-MOST_LEVELS - 1])
        self.lost += cut
        self.counts = {key: n - cut for key, n in self.counts.items() if n > cut}
