"""A name in, a real table split into training and test rows out.

The files are not part of the repository: SASANET_DATA names the directory that holds them, by
default ``sasanet`` in the user's cache. A file that is missing there is fetched from its public
source when SASANET_FETCH=1 says so (``bench.tables.fetch``: census_income, coil2000, creditcard).
``data.sha256`` holds the checksums of their content (``bench.tables.content``).
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import KFold, RepeatedStratifiedKFold, ShuffleSplit

from bench.tables import content, fetch
from bench.tables.bundled import BUNDLED

CENSUS_CODES = (
    "detailed_industry_recode",
    "detailed_occupation_recode",
    "own_business_or_self_employed",
    "veterans_benefits",
    "year",
)


@dataclass(frozen=True)
class Split:
    """One way of dividing a table."""

    X_train: pd.DataFrame
    y_train: Any
    X_test: pd.DataFrame
    y_test: Any
    official: bool = False  # the only split there is: another seed has the same test rows


# Where each file comes from: what to convert to parquet, and what is its target.
SOURCES = {
    "census_income": "UCI, Census-Income (KDD), the official training and test files",
    "creditcard": "Kaggle mlg-ulb/creditcardfraud, or OpenML 1597",
    "higgs_64k": "four public samples of UCI HIGGS, united without duplicates, so there is no one "
    "address of it; any sample with the 28 features and a column label serves, as the 98,050 other "
    "rows of OpenML 23512, with which the figures will differ",
    "coil2000": "UCI, Insurance Company Benchmark (COIL 2000), training and evaluation files",
    "german_credit": "UCI, Statlog (German Credit Data)",
    "penguins": "the palmerpenguins package",
    "titanic": "seaborn's titanic table",
    "diamonds": "ggplot2's diamonds table",
    "california_housing": "the housing table of Aurélien Géron's handson-ml",
    "bike_sharing_hourly": "UCI, Bike Sharing (Capital Bikeshare), by hour, one column of time",
    "fremtpl2_freq": "freMTPL2freq of the R package CASdatasets",
    "credit_default_taiwan": "UCI, Default of Credit Card Clients, column names written out",
}


def read(name: str) -> pd.DataFrame:
    """Return one raw file, as it was when the results were measured."""
    path = _folder() / f"{name}.parquet"
    if not path.exists():
        _obtain(name, path)
    return _load(path)


@lru_cache(maxsize=4)
def _load(path: Path) -> pd.DataFrame:
    """Read and check a file once; nobody may change the table in place."""
    table = pd.read_parquet(path)
    _check(path.stem, table, path)
    return table


def _folder() -> Path:
    """Return the directory of the files: the user's own, or the cache of what was fetched."""
    given = os.environ.get("SASANET_DATA")
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sasanet"


def _obtain(name: str, path: Path) -> None:
    """Fetch a file, or say where it can be had."""
    source = fetch.source_of(name)
    fetchable = source in fetch.ADDRESSES
    if fetchable and os.environ.get("SASANET_FETCH") == "1":
        fetch.fetch(name, path.parent)
        return
    way = "SASANET_FETCH=1 fetches it" if fetchable else "it cannot be fetched"
    raise SystemExit(
        f"{path} is missing: SASANET_DATA must name the directory that holds it; {way}. "
        f"Its rows come from: {SOURCES[source]}."
    )


def _check(name: str, table: pd.DataFrame, path: Path) -> None:
    """Warn where a file is not the one the committed results were measured on."""
    found, wanted = content.checksum(table), content.expected(name)
    if found != wanted:
        warnings.warn(
            f"{path} does not hold the rows of the committed results (content SHA-256 "
            f"{found[:12]}…, expected {str(wanted)[:12]}…): figures may differ.",
            stacklevel=4,
        )


def _features(table: pd.DataFrame, target: str, codes: tuple[str, ...] = ()) -> Any:
    X = table.drop(columns=target)
    for column in codes:
        X[column] = X[column].astype(str)
    for column in X.columns[[not pd.api.types.is_numeric_dtype(kind) for kind in X.dtypes]]:
        X[column] = X[column].astype("category")
    return X, table[target]


def _shuffles(n_test: int) -> ShuffleSplit:
    return ShuffleSplit(10, test_size=n_test, random_state=0)


# name → (file, target, dropped columns, regression?, splitter)
_CV = RepeatedStratifiedKFold(n_splits=5, n_repeats=10, random_state=0)
_FOLDS = KFold(5, shuffle=True, random_state=0)
_BIKE_SUMS = ("casual", "registered")  # they add up to the target
_TABLES: dict[str, tuple[str, str, tuple[str, ...], bool, Any]] = {
    "german credit": ("german_credit", "credit", (), False, _CV),
    "penguins": ("penguins", "species", (), False, _CV),
    "titanic": ("titanic", "survived", ("alive",), False, _CV),
    "diamonds": ("diamonds", "price", (), True, _FOLDS),
    "california housing": ("california_housing", "median_house_value", (), True, _FOLDS),
    "creditcard": ("creditcard", "Class", (), False, _shuffles(56_962)),
    "higgs_64k": ("higgs_64k", "label", ("source",), False, _shuffles(15_979)),
    "credit default": ("credit_default_taiwan", "default", (), False, _shuffles(6_000)),
    "motor claims": ("fremtpl2_freq", "ClaimNb", ("IDpol",), False, _shuffles(135_603)),
    "bike sharing": ("bike_sharing_hourly", "cnt", _BIKE_SUMS, True, _shuffles(3_476)),
    "bike sharing by time": ("bike_sharing_hourly", "cnt", _BIKE_SUMS, True, None),
}
_BIKE_TEST_SHARE = 0.25  # of the two years: the last six months
NAMES = (*_TABLES, *BUNDLED, "coil2000")


def is_regression(name: str) -> bool:
    """Whether a table's target is a number."""
    if name in BUNDLED:
        return BUNDLED[name].regression
    return name in _TABLES and _TABLES[name][3]


def splits(name: str, count: int = 5) -> Iterator[Split]:
    """Yield the first splits of a table: folds, random splits, or the official one each time."""
    if name == "census":
        yield from [census()] * count
        return
    if name == "coil2000":
        codes = ("MOSTYPE", "MOSHOOFD")
        train = _features(read("coil2000_train"), "CARAVAN", codes)
        test = _features(read("coil2000_test"), "CARAVAN", codes)
        yield from [_official(train, test)] * count
        return
    if name in BUNDLED:
        X, y = BUNDLED[name].load()
        yield from _divided(X, y, _FOLDS if is_regression(name) else _CV, count)
        return
    file, target, dropped, _, splitter = _TABLES[name]
    if file == "bike_sharing_hourly":
        yield from _bike(splitter, count)
        return
    # Another sample of Higgs has no column that tells of which of four samples a row is.
    X, y = _features(read(file).drop(columns=list(dropped), errors="ignore"), target)
    if name == "motor claims":
        y = (y > 0).astype(int)  # whether there was a claim; the exposure is a feature
    yield from _divided(X, y, splitter, count)


def _bike(splitter: Any, count: int) -> Iterator[Split]:
    """Yield splits of bike sharing, its time written as year, month, day and hour."""
    table = read("bike_sharing_hourly").drop(columns=list(_BIKE_SUMS))
    times = pd.to_datetime(table.pop("datetime")).dt
    parts = {"year": times.year, "month": times.month, "day": times.day, "hour": times.hour}
    X, y = _features(table.assign(**parts), "cnt")
    if splitter is None:
        last = int(len(X) * (1 - _BIKE_TEST_SHARE))
        yield from [_official((X[:last], y[:last]), (X[last:], y[last:]))] * count
        return
    yield from _divided(X, y, splitter, count)


def _divided(X: pd.DataFrame, y: Any, splitter: Any, count: int) -> Iterator[Split]:
    """Yield the first splits of a splitter."""
    for train_rows, test_rows in islice(splitter.split(X, y), count):
        yield Split(X.iloc[train_rows], y.iloc[train_rows], X.iloc[test_rows], y.iloc[test_rows])


def census() -> Split:
    """Return the official split of census income, the survey weight dropped."""
    parts = [read(f"census_income_{part}") for part in ("train", "test")]
    parts = [part.drop(columns="instance_weight") for part in parts]
    train, test = (_features(part, "income", CENSUS_CODES) for part in parts)
    return _official(train, test)


def _official(train: tuple[pd.DataFrame, Any], test: tuple[pd.DataFrame, Any]) -> Split:
    """Return the split; the test part has the training part's categories, as LightGBM needs."""
    X_train, y_train = train
    kinds = {c: X_train[c].dtype for c in X_train if X_train[c].dtype == "category"}
    return Split(X_train, y_train, test[0].astype(kinds), test[1], official=True)


def shifted(X: pd.DataFrame, X_train: pd.DataFrame) -> pd.DataFrame:
    """Add one normal bias per number column, in its standard deviations; turn levels on.

    The paper adds "a large random bias to each dimension, same scale as the normalised input". A
    category has no scale: its levels are replaced by others, one fixed permutation per column.
    """
    random = np.random.RandomState(0)
    moved: dict[Any, Any] = {}
    for column in X:
        bias = random.randn()
        if pd.api.types.is_numeric_dtype(X[column]):
            moved[column] = X[column] + bias * X_train[column].std()
        else:
            levels = X[column].cat.categories
            turned = levels[random.permutation(len(levels))]
            codes = X[column].cat.codes.to_numpy()
            moved[column] = pd.Categorical.from_codes(codes, turned)
    return pd.DataFrame(moved, index=X.index)
