"""The two small real tables that come with the package."""

from __future__ import annotations

from importlib.resources import files

import pandas as pd


def _read(name: str) -> pd.DataFrame:
    with files("sasanet").joinpath("datasets", "csv", name).open("rb") as file:
        # "none" is a level of several credit columns, not a missing cell.
        return pd.read_csv(file, keep_default_na=False, na_values=[""])


def load_german_credit() -> tuple[pd.DataFrame, pd.Series]:
    """Return 1,000 credit applications with 20 features and whether each went bad (0 or 1).

    Statlog (German Credit Data), Hans Hofmann, UCI Machine Learning Repository, CC BY 4.0; codes
    are replaced by the words of its documentation.

    Returns
    -------
    X : DataFrame (1000, 20)
        Numbers and words, no missing cells.
    y : Series (1000,)
        1 where the credit went bad, else 0.

    Examples
    --------
    >>> X, y = load_german_credit()
    >>> X.shape, int(y.sum())
    ((1000, 20), 300)
    """
    table = _read("german_credit.csv")
    return table.drop(columns="bad"), table["bad"]


def load_penguins() -> tuple[pd.DataFrame, pd.Series]:
    """Return 344 penguins with 7 features, some cells missing, and their three species.

    palmerpenguins by Allison Horst, Alison Hill and Kristen Gorman, CC0.

    Returns
    -------
    X : DataFrame (344, 7)
        Numbers and words, some cells missing.
    y : Series (344,)
        Adelie, Chinstrap or Gentoo.

    Examples
    --------
    >>> X, y = load_penguins()
    >>> X.shape, sorted(y.unique())
    ((344, 7), ['Adelie', 'Chinstrap', 'Gentoo'])
    """
    table = _read("penguins.csv")
    return table.drop(columns="species"), table["species"]
