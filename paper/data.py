"""The paper's name of a data set in, its splits out: the paper's own where it states them.

Income and Insurance have official splits; Fraud is split at random into as many rows as in the
paper; Higgs is 64,000 of the paper's 11 million rows, split at random.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bench.tables import data
from bench.tables.data import Split

FILES = {
    "income": "census",
    "higgs": "higgs_64k",
    "fraud": "creditcard",
    "insurance": "coil2000",
}


def is_regression(name: str) -> bool:
    """Tell whether the paper predicts a number there: Insurance, from a target of 0 and 1."""
    return name == "insurance"


def splits(name: str, count: int, rows: int = 0) -> Iterator[Split]:
    """Yield splits of a data set; ``rows`` cuts both parts down to a sample for quick runs."""
    for seed, split in enumerate(data.splits(FILES[name], count)):
        if not rows:
            yield split
            continue
        train = sample(split.y_train, rows, seed)[0]
        test = sample(split.y_test, rows, seed)[0]
        yield Split(
            split.X_train.iloc[train],
            split.y_train.iloc[train],
            split.X_test.iloc[test],
            split.y_test.iloc[test],
        )


def one_split(name: str, number: int, rows: int = 0) -> Split:
    """Return split ``number`` of a data set."""
    *_, split = splits(name, number + 1, rows)
    return split


def sample(y: pd.Series, n: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return places of n rows and their weights.

    Of a rare class more rows are taken than its share, up to a quarter of the sample; the weights
    undo that, so weighted measures are those of all rows.
    """
    random, places = np.random.RandomState(seed), []
    counts = y.value_counts(ascending=True)
    left, weights = min(n, len(y)), []
    for label, count in counts.items():
        wanted = left if label == counts.index[-1] else max(n // 4, n * count // len(y))
        taken = min(int(count), wanted, left)
        places.append(random.choice(np.flatnonzero(y == label), taken, replace=False))
        weights.append(np.full(taken, count / taken))
        left -= taken
    order = random.permutation(sum(map(len, places)))
    return np.concatenate(places)[order], np.concatenate(weights)[order]


def judged_rows(split: Split, n: int, seed: int) -> tuple[pd.DataFrame, Any, NDArray[np.float64]]:
    """Return n test rows, their labels and weights."""
    places, weights = sample(split.y_test, n, seed)
    return split.X_test.iloc[places], split.y_test.iloc[places], weights
