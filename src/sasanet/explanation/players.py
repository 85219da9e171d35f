"""Who plays the game: every column for itself, or groups of columns that come and go together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sasanet.arrays import Floats, Masks
from sasanet.errors import InvalidInputError
from sasanet.explanation.wording import cell_text


@dataclass(frozen=True)
class Players:
    """The players of a game on a table's columns: each column belongs to exactly one.

    Parameters
    ----------
    names : tuple of str
        Of the players: a group's own name, or that of a single column.
    members : tuple of tuple of int
        Positions of each player's columns.
    columns : tuple of str
        The columns of the table.
    """

    names: tuple[str, ...]
    members: tuple[tuple[int, ...], ...]
    columns: tuple[str, ...]

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """The columns of every group; players that are a column of the same name are left out."""
        named = zip(self.names, self.members, strict=True)
        found = {name: tuple(self.columns[j] for j in own) for name, own in named}
        return {name: own for name, own in found.items() if own != (name,)}

    @property
    def membership(self) -> Masks:
        """Which column belongs to which player: (p, d)."""
        found = np.zeros((len(self.names), len(self.columns)), dtype=bool)
        for player, own in enumerate(self.members):
            found[player, list(own)] = True
        return found

    def sums(self, values: Floats) -> Floats:
        """Return the sum over each player's columns: (n, d) or (n, d, C) → (n, p) or (n, p, C)."""
        return np.stack([values[:, list(own)].sum(axis=1) for own in self.members], axis=1)

    def frame(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return what each player holds: a column as it is, a group as text, (n, d) → (n, p).

        A group is missing where all of its cells are.
        """
        found = {}
        for name, own in zip(self.names, self.members, strict=True):
            cells, columns = table.iloc[:, list(own)], [self.columns[j] for j in own]
            found[name] = cells.iloc[:, 0] if columns == [name] else _as_text(cells, columns)
        return pd.DataFrame(found, index=table.index)


def read_players(groups: Any, columns: Sequence[str]) -> Players:
    """Return the players that groups of columns make; other columns stay players of their own.

    Parameters
    ----------
    groups : mapping of str to sequence of str, or None
        The columns of each group, by its name; None makes every column a player.
    columns : sequence of str
        The columns of the table; a group stands where its first column stood.

    Examples
    --------
    >>> read_players({"address": ["zip", "street"]}, ["age", "street", "zip"]).names
    ('age', 'address')
    """
    columns = tuple(columns)
    owner = _owners({} if groups is None else groups, columns)
    members: dict[tuple[bool, str], list[int]] = {}
    for position, column in enumerate(columns):
        player = (True, owner[column]) if column in owner else (False, column)
        members.setdefault(player, []).append(position)
    names = tuple(name for _, name in members)
    if len({*names}) < len(names):
        taken = sorted({name for name in names if names.count(name) > 1})
        raise InvalidInputError(
            f"groups must not have the name of a column outside them, got {taken}; rename the group"
        )
    return Players(names, tuple(tuple(own) for own in members.values()), columns)


def _owners(groups: Any, columns: tuple[str, ...]) -> dict[str, str]:
    """Return the group of every grouped column, or say what is wrong with the groups."""
    if not isinstance(groups, Mapping):
        raise InvalidInputError(
            f"groups must be a dict of lists of column names, got {type(groups).__name__}; "
            'for example {"address": ["street", "zip"]}'
        )
    owner: dict[str, str] = {}
    for name, own in groups.items():
        listed = isinstance(own, list | tuple) and len(own) > 0
        if not isinstance(name, str) or not listed:
            raise InvalidInputError(
                f"groups must have text as names and lists of column names, got {name!r}: {own!r}; "
                "a group needs one column or more"
            )
        for column in own:
            if column not in columns:
                raise InvalidInputError(
                    f"groups must hold columns of the model, got {column!r} in {name!r}; "
                    f"choose from {list(columns)}"
                )
            if column in owner:
                raise InvalidInputError(
                    f"groups must not share a column, got {column!r} in {owner[column]!r} and "
                    f"{name!r}; name it once"
                )
            owner[column] = name
    return owner


def _as_text(cells: pd.DataFrame, names: Sequence[str]) -> pd.Series:
    """Return the cells of a group as one text per row, "street=Main St, zip=1234"."""
    texts = [""] * len(cells)
    for j, name in enumerate(names):
        column = cells.iloc[:, j]
        known = column.notna().to_numpy()
        for i, cell in enumerate(column):
            if known[i]:
                texts[i] += f"{', ' if texts[i] else ''}{name}={cell_text(cell)}"
    return pd.Series([text or None for text in texts], cells.index, dtype=object)
