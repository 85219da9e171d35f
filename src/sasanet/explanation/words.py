"""What the words of a text add: which of them a reason names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

WordEffects = Mapping[str, Sequence[float]]  # of one text: for each word one number per output
Words = Mapping[str, Sequence[WordEffects]]  # of each column of text, for every row
_MOST_NAMED = 3
_LEAST = 0.2  # of the strongest: weaker words are not named


def driving_words(effects: WordEffects, value: float, output: int = 0) -> list[str]:
    """Return the words that moved the prediction the way the whole text did, strongest first.

    Examples
    --------
    >>> driving_words({"lid": [0.1], "broken": [-0.8], "late": [-0.3], "the": [-0.01]}, -0.9)
    ['broken', 'late']
    """
    sign = 1 if value > 0 else -1
    sizes = {word: sign * own[output] for word, own in effects.items()}
    least = _LEAST * max(sizes.values(), default=0.0)
    named = sorted((word for word in sizes if sizes[word] > 0), key=lambda word: -sizes[word])
    return [word for word in named if sizes[word] >= least][:_MOST_NAMED]


def rows_of(words: Words, names: Sequence[str], rows: Sequence[int]) -> dict[str, Any]:
    """Return the words of some columns and rows."""
    return {name: [own[i] for i in rows] for name, own in words.items() if name in names}


def of_output(words: Words, output: int) -> dict[str, Any]:
    """Return what words add to one of several outputs."""
    return {
        name: [{word: [effects[output]] for word, effects in row.items()} for row in own]
        for name, own in words.items()
    }
