"""A uniform sample of the rows of a source whose length is not known, which can be merged.

Every row gets a random key; the rows with the smallest keys are the sample.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sasanet.arrays import Floats


@dataclass
class RowSample:
    """At most ``size`` rows with their numbers in the source, each row as likely as any other."""

    size: int
    random: np.random.Generator
    keys: list[Floats] = field(default_factory=list)
    numbers: list[NDArray[np.int64]] = field(default_factory=list)
    frames: list[pd.DataFrame] = field(default_factory=list)

    def add(self, frame: pd.DataFrame, first: int) -> None:
        """Consider the rows of a frame, the first of which has this number."""
        keys = self.random.random(len(frame))
        chosen = np.flatnonzero(keys < self._largest_key())
        self._append(keys[chosen], first + chosen, frame.iloc[chosen])

    def merge(self, other: RowSample) -> None:
        """Consider the rows of another sample."""
        for keys, numbers, frame in zip(other.keys, other.numbers, other.frames, strict=True):
            self._append(keys, numbers, frame)

    def rows(self) -> tuple[NDArray[np.int64], pd.DataFrame]:
        """Return the sample in the order of the source: numbers [m], and a table of m rows."""
        self._prune()
        order = np.argsort(self.numbers[0], kind="stable")
        return self.numbers[0][order], self.frames[0].iloc[order].reset_index(drop=True)

    def _append(self, keys: Floats, numbers: NDArray[np.int64], frame: pd.DataFrame) -> None:
        self.keys.append(keys)
        self.numbers.append(numbers)
        self.frames.append(frame)
        if sum(map(len, self.keys)) > 2 * self.size:
            self._prune()

    def _largest_key(self) -> float:
        """Return the key above which no row can be in the sample."""
        pruned = len(self.keys) > 0 and len(self.keys[0]) == self.size
        return float(self.keys[0].max()) if pruned else 1.0

    def _prune(self) -> None:
        """Make one table of what is kept, with the smallest keys."""
        keys, numbers = np.concatenate(self.keys), np.concatenate(self.numbers)
        best = np.argsort(keys, kind="stable")[: self.size]
        frame = pd.concat(self.frames, ignore_index=True)
        self.keys, self.numbers = [keys[best]], [numbers[best]]
        self.frames = [frame.iloc[best].reset_index(drop=True)]
