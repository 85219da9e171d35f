"""A table of numbers, words, categories and truths with missing cells, and a model of it."""

import numpy as np
import pandas as pd


def people(n, seed=0):
    """Return numbers, words, categories and truths, with missing cells."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "income": rng.normal(size=n),
            "city": rng.choice(["Rome", "Oslo", "Bonn"], n),
            "size": pd.Categorical(rng.choice(["S", "M", "L"], n), categories=["S", "M", "L"]),
            "member": rng.random(n) < 0.5,
        }
    )
    table.loc[rng.random(n) < 0.3, "income"] = np.nan
    table["city"] = table["city"].where(rng.random(n) < 0.8)
    return table


def score(table):
    """Return a number from every column and two interactions; missing cells count."""
    income = table["income"].fillna(-3.0).to_numpy()
    rome = table["city"].isna().to_numpy() * 2.0 + (table["city"] == "Rome").to_numpy()
    large = (table["size"] == "L").to_numpy()
    return table["age"].to_numpy() / 50 + income * rome + large * (1.0 + table["member"].to_numpy())
