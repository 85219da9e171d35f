"""A name in, its table from the public source out: downloaded, checked, kept as parquet.

UCI's archives and OpenML's table are read by ``bench.tables.raw``. The files without an address
here are not fetched: ``bench.tables.data.SOURCES`` says where their rows come from.
"""

from __future__ import annotations

import socket
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.request import urlopen

import pandas as pd
from sklearn.datasets import fetch_openml

from bench.tables import content, raw

TIMEOUT = 60.0  # seconds without a byte
UCI = "https://archive.ics.uci.edu/static/public"
ADDRESSES = {
    "census_income": f"{UCI}/117/census+income+kdd.zip",
    "coil2000": f"{UCI}/125/insurance+company+benchmark+coil+2000.zip",
    "creditcard": "https://www.openml.org/d/1597",
}


def fetch(name: str, folder: Path) -> None:
    """Put a file into a folder, and the other part of its source beside it."""
    address = ADDRESSES[source_of(name)]
    print(f"Fetching {name} from {address}.", file=sys.stderr)
    try:
        tables = _tables(source_of(name))
    except (OSError, HTTPException) as error:
        raise SystemExit(f"{name} could not be downloaded from {address}: {error}.") from error
    except (ValueError, KeyError) as error:
        raise SystemExit(f"{address} does not serve {name} as expected: {error}.") from error
    for part, table in tables.items():
        _refuse_other_content(part, table, address)
    for part, table in tables.items():
        _keep(table, folder / f"{part}.parquet")


def source_of(name: str) -> str:
    """Return the source of a file: one for both parts where it has two."""
    return name.removesuffix("_train").removesuffix("_test")


def _tables(source: str) -> dict[str, pd.DataFrame]:
    if source == "census_income":
        return raw.census_income(_download(ADDRESSES[source]))
    if source == "coil2000":
        return raw.coil2000(_download(ADDRESSES[source]))
    return raw.credit_card(_openml_credit_card())


def _refuse_other_content(name: str, table: pd.DataFrame, address: str) -> None:
    found, wanted = content.checksum(table), content.expected(name)
    if found != wanted:
        raise SystemExit(
            f"{address} serves a {name} that is not the one of the committed results (content "
            f"SHA-256 {found[:12]}…, expected {str(wanted)[:12]}…): it is not kept."
        )


def _keep(table: pd.DataFrame, path: Path) -> None:
    """Write a table, under its name only when it is complete; never over a file that is there."""
    if path.exists():
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=path.parent) as folder:
            part = Path(folder) / path.name
            table.to_parquet(part, index=False)
            part.replace(path)
    except OSError as error:
        raise SystemExit(f"{path} could not be written: {error}.") from error


def _download(address: str) -> bytes:
    with urlopen(address, timeout=TIMEOUT) as answer:
        whole: bytes = answer.read()  # read at once: an answer that breaks off is an error
    return whole


def _openml_credit_card() -> Any:
    """Return OpenML's table 1597, with the column Time.

    OpenML's table comes without Time, as that is marked as no feature there; it is given when it
    is asked for as the target, and scikit-learn warns of the mark.
    """
    with _patience(), TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answer = fetch_openml(
            data_id=1597,
            target_column="Time",
            as_frame=True,
            parser="liac-arff",  # slow, but no pandas' way of rounding what it reads
            data_home=folder,
        )
    return answer.frame


@contextmanager
def _patience() -> Iterator[None]:
    """Limit the wait of connections that are opened without a limit of their own."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(TIMEOUT)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)
