"""A name in, a table and its labels out: real tables, and made ones whose truth is known.

- ``bundled``: two small real tables that come with the package
- ``gaussian_tables``, ``discrete_tables``: makers of tables with E[y | x_S] in closed form
- ``known``: what the makers return, with exact Shapley values · ``known_games``: the closed forms
- ``roles``: which column of a made table is a copy, a twin or a null
"""

from sasanet.datasets.bundled import load_german_credit, load_penguins
from sasanet.datasets.discrete_tables import make_discrete
from sasanet.datasets.gaussian_tables import (
    make_gaussian_linear,
    make_gaussian_probit,
    make_gaussian_quadratic,
)
from sasanet.datasets.known import KnownTable

__all__ = [
    "KnownTable",
    "load_german_credit",
    "load_penguins",
    "make_discrete",
    "make_gaussian_linear",
    "make_gaussian_probit",
    "make_gaussian_quadratic",
]
