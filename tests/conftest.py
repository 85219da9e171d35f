"""Tiny seeded tables, networks and games, all as factories: nothing here runs by itself."""

from __future__ import annotations

import gc
import math
import os

import numpy as np
import pandas as pd
import pytest
import torch

from made_explanations import CLASSES, make
from made_marginals import marginal_maker
from sasanet.network.architecture import ARCHITECTURES, Architecture
from sasanet.network.coalitions import random_orders
from sasanet.network.sasanet import SASANet
from sasanet.table.columns import Columns
from sasanet.teachers import trees

# shap compiles for seconds what tests run for milliseconds.
os.environ.setdefault("NUMBA_DISABLE_JIT", "1")

# One thread in each test process: `make test` has one process per core, and children that tests
# fork would wait for ever for threads that only their parent has.
torch.set_num_threads(1)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Keep the garbage collector off all that is imported: each look through it takes a second."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


SMALL = {
    "attribution": "context",  # the default is a formula and has no parameters to stir
    "width": 12,
    "marginal_layers": (10,),
    "marginal_heads": 2,
    "marginal_head_width": 3,
    "attribution_width": 12,
    "attribution_layers": (10, 9),
    "attribution_heads": 2,
    "attribution_head_width": 4,
    "number_layers": (4,),
    "positions": 3,
}


def _seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def _make_cells(columns: Columns, n_rows: int = 12, missing: float = 0.3, seed: int = 0):
    """Return random cells; with missing ones, row 0 is complete, row 1 empty, row 2 has one."""
    generator = _seeded(seed)
    draws = torch.rand(n_rows, len(columns), generator=generator)
    places = torch.tensor(columns.places)
    cells = torch.where(
        torch.tensor(columns.is_number),
        draws * (places - 1),
        (draws * places).floor().clamp_max(places - 1),
    )
    if missing:
        gone = torch.rand(cells.shape, generator=generator) < missing
        gone[0], gone[1], gone[2] = False, True, True
        gone[2, 0] = False
        cells[gone] = math.nan
    return cells


def _stir(module: torch.nn.Module, seed: int = 0, scale: float = 0.3) -> torch.nn.Module:
    """Move every parameter away from its start, zeros included, and return the module."""
    generator = _seeded(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += scale * torch.randn(parameter.shape, generator=generator)
    return module


def _make_network(
    columns: Columns,
    n_outputs: int = 1,
    cap: float = math.inf,
    dropout: float = 0.0,
    seed: int = 0,
    stirred: float = 0.3,
    **fields,
) -> SASANet:
    """Return a small network in eval mode, its parameters stirred so that none is special."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        architecture = Architecture(**SMALL | fields)
        network = SASANet(columns, n_outputs, architecture, cap, dropout)
    return _stir(network, seed, stirred).eval()


def _all_coalitions(n_features: int) -> torch.Tensor:
    """Return every coalition, [2^N, N] bool; bit i of the row's index is feature i."""
    return (torch.arange(2**n_features)[:, None] >> torch.arange(n_features)) % 2 == 1


def _exact_shapley(values: torch.Tensor) -> torch.Tensor:
    """Return the Shapley values of games given by their 2^N values: [B, 2^N, K] → [B, N, K]."""
    n_features = values.shape[1].bit_length() - 1
    index, masks = torch.arange(2**n_features), _all_coalitions(n_features)
    found = []
    for feature in range(n_features):
        without = index[~masks[:, feature]]
        sizes = masks[without].sum(1).tolist()
        weights = [1 / (n_features * math.comb(n_features - 1, size)) for size in sizes]
        gains = values[:, without + 2**feature].double() - values[:, without].double()
        found.append((gains * torch.tensor(weights, dtype=torch.float64)[:, None]).sum(1))
    return torch.stack(found, 1)


@pytest.fixture(scope="module")
def small_default():
    """Make the default network a small one, where what is tested is not how well it predicts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(ARCHITECTURES, "set", Architecture(width=32, marginal_layers=(16,)))
        yield


@pytest.fixture
def few_trees(monkeypatch):
    """Let boosted teachers grow few trees, where what is tested is not what they know."""
    monkeypatch.setattr(trees, "_MOST_TREES", 8)


@pytest.fixture
def mixed() -> Columns:
    """Return numbers and categories in turn, one number with a single knot."""
    return Columns((5, 4, 1, 3, 6), (True, False, True, False, True))


@pytest.fixture
def numbers() -> Columns:
    """Return five columns of numbers."""
    return Columns((5, 4, 7, 3, 6), (True,) * 5)


@pytest.fixture
def seeded():
    """Return the maker of seeded generators."""
    return _seeded


@pytest.fixture
def make_cells():
    """Return the maker of encoded rows."""
    return _make_cells


@pytest.fixture
def stir():
    """Return the function that moves all parameters of a module."""
    return _stir


@pytest.fixture
def make_network():
    """Return the maker of small networks."""
    return _make_network


@pytest.fixture
def all_coalitions():
    """Return the function that lists all coalitions."""
    return _all_coalitions


@pytest.fixture
def exact_shapley():
    """Return the function that computes Shapley values by enumeration."""
    return _exact_shapley


@pytest.fixture
def mixed_table():
    """Return a table with one column of every kind, and missing cells."""
    return pd.DataFrame(
        {
            "age": [20, 30, 40, 50],
            "income": [1.5, np.nan, 0.5, 1.5],
            "city": ["Rome", "Oslo", None, "Rome"],
            "member": [True, False, True, True],
            "size": pd.Categorical(["M", "S", None, "L"], categories=["S", "M", "L", "XL"]),
            "visits": pd.array([3, None, 1, 2], dtype="Int64"),
            "code": [7, 7, 9, 8],
        }
    )


@pytest.fixture
def one():
    """Return an explanation with one output."""
    return make()


@pytest.fixture
def multi():
    """Return an explanation of three classes."""
    return make(CLASSES)


@pytest.fixture
def sequence_marginal(make_network):
    """Return the maker of sequence modules."""
    return marginal_maker(make_network, "sequence")


@pytest.fixture
def ordered_rows(make_cells, seeded):
    """Return the maker of cells, what is present of them, and an order per row."""

    def make(columns, n_rows=12, missing=0.3, seed=0):
        cells = make_cells(columns, n_rows, missing, seed).double()
        present = ~cells.isnan()
        return cells, present, random_orders(present, seeded(seed))

    return make
