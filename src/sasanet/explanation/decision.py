"""Reasons for a decision: which features moved a score to the refused side, in codes and words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from sasanet.arrays import Floats, Masks
from sasanet.errors import InvalidInputError
from sasanet.explanation.explanation import Explanation
from sasanet.explanation.wording import reason

COLUMNS = ("row", "score", "rank", "feature", "code", "reason", "attribution", "excluded")
Codes = Mapping[str, str | Sequence[str]]


def decision_reasons(
    explanation: Explanation,
    score: Floats,
    refused: Masks,
    towards: int,
    k: int,
    codes: Codes | None,
    exclude: Sequence[str],
) -> pd.DataFrame:
    """Return up to k reasons for every refused row, the strongest first.

    Parameters
    ----------
    explanation : Explanation
        Of one output, (n, d).
    score : ndarray (n,)
        What the decision was taken by.
    refused : ndarray (n,) of bool
        Which rows were refused.
    towards : {1, -1}
        The sign of attributions that move a score to the refused side.
    k, codes, exclude
        As for ``model.reasons``.

    Returns
    -------
    DataFrame
        The columns of ``model.reasons``.
    """
    names, values = explanation.feature_names, explanation.values * towards
    hidden = np.isin(names, _read_exclude(exclude, names))
    words = _read_codes(codes, [name for name, off in zip(names, hidden, strict=True) if not off])
    labels, lines = explanation.data.index.tolist(), []
    cells = [column.tolist() for _, column in explanation.data.items()]

    def told(i: int, j: int) -> tuple[Any, ...]:
        amount = float(explanation.values[i, j])
        code, sentence = words.get(names[j], (None, None))
        if not sentence:
            named = explanation.driving_words(i, names[j], amount)
            sentence = reason(names[j], cells[j][i], amount, explanation.units, None, named)
        return names[j], code, sentence, amount

    for i in np.flatnonzero(refused).tolist():
        pushing = [j for j in np.argsort(-values[i], kind="stable").tolist() if values[i, j] > 0]
        left_out = ", ".join(names[j] for j in pushing if hidden[j])
        found = [told(i, j) for j in pushing if not hidden[j]][:k]
        for rank, said in enumerate(found, start=1):
            lines.append((labels[i], score[i], rank, *said, left_out))
        if not found:
            lines.append((labels[i], score[i], 0, None, None, None, 0.0, left_out))
    return _frame(lines)


def _frame(lines: list[tuple[Any, ...]]) -> pd.DataFrame:
    """Return the lines as a table whose types do not depend on how many there are."""
    found = pd.DataFrame(lines, columns=list(COLUMNS))
    kinds = {"score": "float64", "rank": "int64", "attribution": "float64"}
    return found.astype(kinds | dict.fromkeys(("feature", "code", "reason", "excluded"), "string"))


def _read_exclude(exclude: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the features that must not be told, or say which are not there."""
    if isinstance(exclude, str) or not isinstance(exclude, list | tuple):
        raise InvalidInputError(
            f"exclude must be a list of feature names, got {exclude!r}; put it into brackets"
        )
    if unknown := [name for name in exclude if name not in names]:
        raise InvalidInputError(
            f"exclude must name features of the explanation, got {unknown}; choose from "
            f"{list(names)}"
        )
    return list(exclude)


def _read_codes(codes: Codes | None, names: Sequence[str]) -> dict[str, tuple[str, str | None]]:
    """Return code and sentence of every feature that may be a reason."""
    if codes is None:
        return {}
    if not isinstance(codes, Mapping):
        raise InvalidInputError(
            f"codes must be a dict from features to codes, got {type(codes).__name__}; "
            'for example {"months": "R01"} or {"months": ["R01", "The loan runs too long"]}'
        )
    if missing := [name for name in names if name not in codes]:
        raise InvalidInputError(
            f"codes must have a code for every feature that may be a reason, got none for "
            f"{missing}; add them, or exclude these features"
        )
    return {name: _read_code(name, codes[name]) for name in names}


def _read_code(name: str, given: str | Sequence[str]) -> tuple[str, str | None]:
    if isinstance(given, str):
        return given, None
    pair = isinstance(given, list | tuple) and len(given) == 2
    if not pair or not all(isinstance(part, str) for part in given):
        raise InvalidInputError(
            f"codes must be text, or a pair of a code and a sentence, got {given!r} for {name!r}"
        )
    return given[0], given[1]
