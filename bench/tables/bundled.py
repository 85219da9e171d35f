"""Tables that packages bring with them, and known ones with noise: no file is needed.

They are there so that no rule is fitted to the tables of files alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd
from sklearn import datasets as sklearn_tables

from sasanet import datasets as known_tables

_ROWS = 6_000  # of a known table


@dataclass(frozen=True)
class BundledTable:
    """How to get a table, and whether its target is a number."""

    load: Callable[[], tuple[pd.DataFrame, pd.Series]]
    regression: bool


def _sklearn(name: str) -> Callable[[], tuple[pd.DataFrame, pd.Series]]:
    def load() -> tuple[pd.DataFrame, pd.Series]:
        found = getattr(sklearn_tables, f"load_{name}")(as_frame=True)
        return found.data, found.target

    return load


def _statsmodels(
    name: str, read: Callable[[pd.DataFrame], tuple[pd.DataFrame, pd.Series]]
) -> Callable[[], tuple[pd.DataFrame, pd.Series]]:
    def load() -> tuple[pd.DataFrame, pd.Series]:
        from statsmodels import datasets

        return read(getattr(datasets, name).load_pandas().data)

    return load


def _affairs(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series]:
    """Return whether there was an affair; the two occupations are codes."""
    codes = {c: table[c].astype(int).astype(str).astype("category") for c in
             ("occupation", "occupation_husb")}  # fmt: skip
    return table.drop(columns="affairs").assign(**codes), (table["affairs"] > 0).astype(int)


def _visits(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series]:
    """Return the number of visits to a doctor."""
    return table.drop(columns="mdvis"), table["mdvis"]


def _votes(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series]:
    """Return the vote; the logarithm of a column is not another column."""
    return table.drop(columns=["vote", "logpopul"]), table["vote"].astype(int)


def _friedman() -> tuple[pd.DataFrame, pd.Series]:
    """Return Friedman's first function of five of ten uniform columns, with noise."""
    X, y = sklearn_tables.make_friedman1(_ROWS, noise=3.0, random_state=0)
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(10)]), pd.Series(y)


def _known(make: Any, **settings: Any) -> Callable[[], tuple[pd.DataFrame, pd.Series]]:
    def load() -> tuple[pd.DataFrame, pd.Series]:
        table = make(_ROWS, random_state=0, **settings)
        return table.X, pd.Series(table.y)

    return load


BUNDLED: dict[str, BundledTable] = {
    "diabetes": BundledTable(_sklearn("diabetes"), regression=True),
    "breast cancer": BundledTable(_sklearn("breast_cancer"), regression=False),
    "wine": BundledTable(_sklearn("wine"), regression=False),
    "digits": BundledTable(_sklearn("digits"), regression=False),
    "affairs": BundledTable(_statsmodels("fair", _affairs), regression=False),
    "doctor visits": BundledTable(_statsmodels("randhie", _visits), regression=True),
    "votes": BundledTable(_statsmodels("anes96", _votes), regression=False),
    "friedman": BundledTable(_friedman, regression=True),
    "known probit": BundledTable(
        _known(
            known_tables.make_gaussian_probit,
            n_features=12,
            correlation=0.4,
            redundant=2,
            null=3,
            missing=0.1,
        ),
        regression=False,
    ),
    "known quadratic": BundledTable(
        _known(
            known_tables.make_gaussian_quadratic, n_features=10, correlation=0.3, null=2, noise=1.5
        ),
        regression=True,
    ),
}
