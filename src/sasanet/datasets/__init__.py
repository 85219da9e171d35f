"""Tables to try things on: two real ones, and synthetic ones with known Shapley values.

- ``bundled``: two small real tables, from ``csv/``
- ``synthetic/``: tables with E[y | x_S] in closed form
"""

from sasanet.datasets.bundled import load_german_credit, load_penguins
from sasanet.datasets.synthetic.discrete import make_discrete
from sasanet.datasets.synthetic.gaussian import (
    make_gaussian_linear,
    make_gaussian_probit,
    make_gaussian_quadratic,
)
from sasanet.datasets.synthetic.table import KnownTable

__all__ = [
    "KnownTable",
    "load_german_credit",
    "load_penguins",
    "make_discrete",
    "make_gaussian_linear",
    "make_gaussian_probit",
    "make_gaussian_quadratic",
]
