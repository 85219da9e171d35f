"""Columns of CSV files that hold dates: recognised for training, read as in training afterwards.

They are dates if every filled cell is a date, or a date with a time, as ISO 8601 writes them:
``2026-11-15``, ``2026-11-15 14:30``, ``2026-11-15T14:30:00+01:00``.
"""

from __future__ import annotations

from reprlib import repr as short
from typing import NoReturn

import pandas as pd

from sasanet.cli.files.tables import Chunk
from sasanet.errors import InvalidInputError
from sasanet.table.bags import dates

_OFFSET = r"(Z|[+-]\d{2}:?\d{2})"
_ISO = rf"\s*\d{{4}}-\d{{2}}-\d{{2}}(?:[T ]\d{{2}}:\d{{2}}(?::\d{{2}}(?:\.\d+)?)?{_OFFSET}?)?\s*"
_FEW = 10  # different dates among words are levels like these; more are dates


def infer_dates(chunk: Chunk, name: str, cells: pd.Series) -> pd.Series | None:
    """Return a column of text as times; ``None`` if it holds something else."""
    filled = cells[cells.notna()]
    like = filled.str.fullmatch(_ISO)
    if not like.any():
        return None
    if not like.all():
        _refuse_mixture(chunk, name, cells, filled[like])
        return None
    _refuse_others(chunk, name, cells)
    offsets = filled.str.strip().str.extract(rf"{_OFFSET}$")[0].fillna("none").unique().tolist()
    if len(offsets) > 1:
        raise InvalidInputError(
            f"Column {name!r} must hold times of one offset from UTC, got {offsets[0]} and "
            f"{offsets[1]}; write all of them in one zone, or add --categorical {name!r}."
        )
    zone = dates.zone_of(cells.astype(object), name)
    return pd.Series(dates.read_times(cells.astype(object), name, zone), index=cells.index)


def dates_as_trained(chunk: Chunk, name: str, zone: str, cells: pd.Series) -> pd.Series:
    """Return a column of text as times in the zone of training."""
    cells = cells.astype(object)
    _refuse_others(chunk, name, cells)
    return pd.Series(dates.read_times(cells, name, zone), index=cells.index)


def _refuse_others(chunk: Chunk, name: str, cells: pd.Series) -> None:
    """Refuse what is no date, such as the 30th of February."""
    texts = enumerate(zip(cells, cells.notna(), strict=True))
    bad = (i for i, (text, filled) in texts if filled and dates.read_time(text) is None)
    if (first := next(bad, None)) is not None:
        raise InvalidInputError(
            f"Column {name!r} must hold dates such as 2026-11-15 14:30, got "
            f"{cells.iloc[first]!r} {chunk.where(first)}; correct it, or empty it if it is missing."
        )


def _refuse_mixture(chunk: Chunk, name: str, cells: pd.Series, like: pd.Series) -> None:
    """Refuse words among many dates."""
    others = cells.notna() & ~cells.index.isin(like.index)
    if len(like) <= others.sum() or like.nunique() <= _FEW:
        return
    refuse_stranger(chunk, name, int(others.to_numpy().argmax()), "dates")


def refuse_stranger(chunk: Chunk, name: str, row: int, others: str) -> NoReturn:
    """Refuse a word among so many numbers or dates that it cannot be a level like them."""
    raise InvalidInputError(
        f"Column {name!r} must hold either {others} or words, got "
        f"{short(chunk.frame[name].iloc[row])} {chunk.where(row)} among {others}; correct it, "
        f"empty it if it is missing, or add --categorical {name!r}."
    )
