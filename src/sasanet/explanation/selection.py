"""Rows, features and outputs of an explanation, by position or by name."""

from __future__ import annotations

import difflib
import reprlib
from typing import Any

import numpy as np
import numpy.typing as npt

from sasanet.errors import InvalidInputError


class SelectionError(InvalidInputError, KeyError, IndexError):
    """No such row, feature or output; also what Python's own containers raise in that case."""

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError would print the sentence in quotes


def find_name(name: str, names: tuple[str, ...], what: str) -> int:
    """Return the position of a name, or raise an error that suggests similar names."""
    if name in names:
        return names.index(name)
    close = difflib.get_close_matches(name, names) or names[:9]
    raise SelectionError(f"There is no {what} {name!r}; did you mean one of {list(close)}?")


def by_name(key: Any, names: tuple[str, ...]) -> Any:
    """Return the key with names replaced by positions."""
    if isinstance(key, str):
        return find_name(key, names, "feature")
    if isinstance(key, slice) or not hasattr(key, "__iter__"):
        return key
    return [find_name(part, names, "feature") if isinstance(part, str) else part for part in key]


def positions(key: Any, size: int, what: str) -> npt.NDArray[np.intp]:
    """Return a key as an array of positions, so that one row or feature keeps its dimension."""
    try:
        found = np.atleast_1d(np.arange(size)[key])
    except (IndexError, TypeError, ValueError):
        found = np.empty((0, 0), dtype=np.intp)
    if found.ndim != 1:
        raise SelectionError(f"e[rows, features] has {size} {what}s, got {reprlib.repr(key)}.")
    return found
