"""Small fitted models and their tables, for the tests of the report."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

from sasanet import Architecture, SASANetClassifier, SASANetRegressor
from sasanet.datasets import load_german_credit, load_penguins

SMALL = {"width": 16, "marginal_layers": (12,), "n_knots": 8}
HOSTILE = "</script><script>alert(1)</script>"
QUOTED = "\"'><img src=x onerror=alert(2)>"


def fitted(kind, X, y, **fields):
    """Fit a small network for two epochs."""
    network = Architecture(**SMALL | fields)
    return kind(network, random_state=0, max_epochs=2, teacher_weight=0).fit(X, y)


@cache
def credit():
    """Return a model of two classes, and the rows it has not seen with their labels."""
    X, y = load_german_credit()
    table = X[:120].assign(bad=y[:120])
    return fitted(SASANetClassifier, X[120:400], y[120:400]), table


@cache
def penguins():
    """Return a model of three classes with three members; some cells are missing."""
    X, y = load_penguins()
    rows = np.random.default_rng(0).permutation(len(X))
    table = X.iloc[rows[:90]].assign(species=y)
    return fitted(SASANetClassifier, X.iloc[rows[90:]], y.iloc[rows[90:]], members=3), table


@cache
def masses():
    """Return a model of a number, in grams."""
    X, _ = load_penguins()
    X = X[X["body_mass_g"].notna()]
    features = X.drop(columns="body_mass_g")
    return fitted(SASANetRegressor, features[::2], X["body_mass_g"][::2]), X[1::2]


@cache
def sequences():
    """Return a model that no page can evaluate: the paper's sequence network."""
    X, y = load_penguins()
    shape = {
        "marginal": "sequence",
        "attribution": "attention",
        "attribution_width": 8,
        "attribution_layers": (8,),
        "attribution_steps": 5,
    }
    model = fitted(SASANetClassifier, X[::4], y[::4] == "Gentoo", **shape)
    return model, X[1::32].assign(gentoo=y[1::32] == "Gentoo")


@cache
def hostile():
    """Return a table whose names and levels try to leave their place in a page."""
    random = np.random.default_rng(0)
    long = "a_very_long_feature_name_without_any_place_to_break_" * 3
    table = pd.DataFrame(
        {
            HOSTILE: random.normal(size=60),
            QUOTED: random.choice([HOSTILE, QUOTED, "{{ 7 * 7 }}"], size=60),
            long: random.choice(["level_" * 20, "b"], size=60),
            "line\nbreak\u2028é": random.integers(0, 3, size=60),
        }
    )
    labels = np.where(random.random(60) < 0.5, HOSTILE, "no & <b>")
    return fitted(SASANetClassifier, table, labels), table.assign(**{"<i>y</i>": labels})


@cache
def rates(n=240):
    """Return a model of claims per year, and rows with their claims and years."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=["age", "power", "density"])
    years = rng.uniform(0.2, 1.0, n)
    claims = rng.poisson(np.exp(0.3 + X["age"]) * years)
    network = Architecture(**SMALL)
    model = SASANetRegressor(network, objective="poisson", random_state=0, max_epochs=12)
    model.fit(X[:120], claims[:120], exposure=years[:120])
    return model, X[120:].assign(claims=claims[120:], years=years[120:])


@cache
def intervals():
    """Return a model of three quantiles, and rows with their labels."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 3)), columns=["a", "b", "c"])
    y = X["a"] + rng.normal(size=300)
    network = Architecture(**SMALL)
    model = SASANetRegressor(
        network, objective="quantile", quantile=[0.1, 0.5, 0.9], random_state=0, max_epochs=8
    )
    return model.fit(X[:180], y[:180]), X[180:].assign(y=y[180:])
