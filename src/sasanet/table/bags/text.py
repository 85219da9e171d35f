"""Free text: its number of words, and which buckets its words and pairs of words fall into.

Words are read without capitals and punctuation. A checksum names the bucket of a word, the same on
every computer, so that no vocabulary is kept; a bucket in which no training row has a word says
nothing. The parts of a text are the number of its words and one category for each bucket, whose
cell is missing where no word of the text is in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from reprlib import repr as short
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sasanet.arrays import Floats
from sasanet.errors import InvalidInputError
from sasanet.table.columns import Column

N_WORDS, N_PAIRS = 512, 256  # buckets
N_BUCKETS = N_WORDS + N_PAIRS
LENGTH = "number of words"
_LOOKED_AT, _FEWEST = 2_000, 20  # cells, to tell whether a column is text
_MOSTLY, _WORDS_EACH = 0.5, 3.0
_WORD = re.compile(r"\w+")


def holds_text(series: pd.Series) -> bool:
    """Tell whether a column holds sentences: most cells differ, with three words or more each.

    Examples
    --------
    >>> letters = [f"Dear {name}, thank you" for name in "abcdefghijklmnopqrstuvwxyz"]
    >>> holds_text(pd.Series(letters)), holds_text(pd.Series(["unknown or none"] * 26))
    (True, False)
    """
    if isinstance(series.dtype, pd.CategoricalDtype):
        return False
    if series.dtype != object and not isinstance(series.dtype, pd.StringDtype):
        return False
    known = np.flatnonzero(series.notna().to_numpy())
    cells = series.iloc[known[:: max(1, len(known) // _LOOKED_AT)]].tolist()
    if len(cells) < _FEWEST or not all(isinstance(cell, str) for cell in cells):
        return False
    different = len(set(cells)) >= _MOSTLY * len(cells)
    return different and sum(len(cell.split()) for cell in cells) >= _WORDS_EACH * len(cells)


def words_of(text: str) -> list[str]:
    """Return the words of a text, in order.

    Examples
    --------
    >>> words_of("Not good: the lid's broken!")
    ['not', 'good', 'the', 'lid', 's', 'broken']
    """
    return _WORD.findall(text.casefold())


def buckets_of(words: Sequence[str]) -> set[int]:
    """Return the buckets of words and of pairs of neighbours; an empty word separates."""
    return {*_buckets(words)}


def _buckets(words: Sequence[str]) -> Iterator[int]:
    for word in words:
        if word:
            yield _checksum(word) % N_WORDS
    for first, second in pairwise(words):
        if first and second:
            yield N_WORDS + _checksum(f"{first} {second}") % N_PAIRS


def _checksum(text: str) -> int:
    return crc32(text.encode("utf-8", "surrogatepass"))


class Read(NamedTuple):
    """Texts as numbers of words, (n,), and pairs of a row and a bucket that it has, two (m,)."""

    lengths: Floats
    rows: NDArray[np.intp]
    buckets: NDArray[np.intp]


def read(series: pd.Series, name: str) -> Read:
    """Read the texts of a column; a missing one has a length of NaN and no buckets."""
    lengths = np.full(len(series), np.nan)
    rows: list[int] = []
    buckets: list[int] = []
    known = series.notna().to_numpy()
    for i, cell in zip(np.flatnonzero(known).tolist(), series[known].tolist(), strict=True):
        if not isinstance(cell, str):
            raise InvalidInputError(
                f"Column {name!r} must hold text as in training, got {short(cell)}; convert it "
                f"first: X[{name!r}].astype(str), or set it to None if it is missing."
            )
        words = words_of(cell)
        lengths[i] = len(words)
        found = buckets_of(words)
        rows += [i] * len(found)
        buckets += found
    return Read(lengths, np.array(rows, dtype=np.intp), np.array(buckets, dtype=np.intp))


def counts(found: Read) -> NDArray[np.int64]:
    """Return how many rows have each bucket: [N_BUCKETS]."""
    return np.bincount(found.buckets, minlength=N_BUCKETS).astype(np.int64)


def with_buckets(name: str, length: Column, rows: NDArray[np.int64], least: int) -> Column:
    """Return a column of text with a part for every bucket that as many rows have."""
    kept = np.flatnonzero(rows >= max(least, 1)).tolist()
    parts = (Column(_part_name(bucket), "category", (bucket,)) for bucket in kept)
    return Column(name, "text", parts=(length, *parts))


def _part_name(bucket: int) -> str:
    return f"words {bucket}" if bucket < N_WORDS else f"pairs {bucket - N_WORDS}"


def known_buckets(column: Column) -> dict[int, int]:
    """Return the position among the parts of every bucket that training had."""
    return {int(part.levels[0]): j for j, part in enumerate(column.parts) if j}


def places(series: pd.Series, column: Column) -> tuple[Floats, NDArray[np.float32]]:
    """Return the numbers of words, (n,), and the places of all further parts: (n, parts − 1)."""
    found = read(series, column.name)
    position = np.zeros(N_BUCKETS, dtype=np.intp)  # 0 is the length: no bucket
    for bucket, j in known_buckets(column).items():
        position[bucket] = j
    at = position[found.buckets]
    cells = np.full((len(series), len(column.parts) - 1), np.nan, dtype=np.float32)
    cells[found.rows[at > 0], at[at > 0] - 1] = 1.0
    return found.lengths, cells


def without_each_word(text: Any, most: int) -> dict[str, set[int]]:
    """Return, for the first distinct words of a text, the buckets that are lost without it.

    Examples
    --------
    >>> [*without_each_word("Good, very good lid", 2)]
    ['good', 'very']
    """
    if not isinstance(text, str):
        return {}
    words = words_of(text)
    every = buckets_of(words)
    first = list(dict.fromkeys(words))[:most]
    return {
        word: every - buckets_of(["" if other == word else other for other in words])
        for word in first
    }
