"""The page's table of rows: cells, attributions, and how many rows fit into the page.

Sizes: n rows, d features, K outputs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sasanet.explanation.explanation import Explanation
from sasanet.explanation.wording import cell_text, shorten
from sasanet.network.export import PortableNetwork
from sasanet.report.packing import pack, pack_reals, packed_size
from sasanet.table.columns import Column
from sasanet.table.reading import read_levels, read_numbers

Cells = NDArray[np.float32]
MOST_ROWS = 5_000
_PAGE_BYTES, _NETWORK_BYTES = 4_500_000, 2_700_000  # so that a page stays below 5 MB
_EVALUATIONS = 20_000  # of a model that the page cannot evaluate, one per cell
_MISSING = 2**16 - 1
_LONGEST_TEXT = 100  # characters of a row's label or of a level
_CLOSE = 1e-5  # share of the smallest step between knots that rounding to 32 bits may move a number


def used_places(cells: Cells, columns: tuple[Column, ...]) -> list[NDArray[np.intp]]:
    """Return the places each column's table must keep: all knots, and the levels that occur."""
    found = []
    for j, column in enumerate(columns):
        if column.kind == "number":
            found.append(np.arange(column.places))
        elif column.parts:  # the page evaluates no bags
            found.append(np.zeros(1, dtype=np.intp))
        else:
            present = cells[~np.isnan(cells[:, j]), j].astype(np.intp)
            found.append(np.union1d(present, [0]))
    return found


def fits(network: PortableNetwork) -> bool:
    """Whether the network is small enough to be part of the page."""
    return packed_size(network) <= _NETWORK_BYTES


def page_text(value: object) -> str:
    """Return a label or level as the page shows it: both ends, if it is long."""
    return shorten(str(value), _LONGEST_TEXT)


def text_bytes(texts: Iterable[str]) -> int:
    """Return how many bytes texts take in the page, where < > & are six characters each."""
    whole = json.dumps(list(texts), ensure_ascii=False)
    return len(whole.encode("utf-8", "replace")) + 5 * sum(map(whole.count, "<>&"))


def cell_bytes(data: pd.DataFrame, columns: tuple[Column, ...]) -> int:
    """Return how many characters the label and the cells of one row take on average."""
    texts, numbers = text_bytes(map(page_text, data.index)), 0
    for j, column in enumerate(columns):
        if column.kind == "number":
            values = read_numbers(data.iloc[:, j], column.name)
            numbers += int(_number_kind(values, np.array(column.knots))[1])
        else:
            numbers += 2
            texts += text_bytes(map(page_text, _levels(data.iloc[:, j], column)[1]))
    return numbers * 4 // 3 + texts // len(data) + 1


def row_limit(
    network: PortableNetwork | None, n_features: int, n_outputs: int, cells: int, names: int = 0
) -> tuple[int, str]:
    """Return how many rows the page can hold, and why not more (empty: it is the maximum).

    ``cells`` is what :func:`cell_bytes` found, ``names`` what the names of columns take.
    """
    attributions = n_features * n_outputs * 16 // 3
    cells += n_outputs * 32 // 3  # the predictions
    room = _PAGE_BYTES - names
    if network is None:  # the values without each feature are stored beside the attributions
        limit = min(room // (cells + 2 * attributions + 60), _EVALUATIONS // n_features)
        why = "the model is evaluated beforehand for every row without each of its features"
    else:
        limit = (room - packed_size(network)) // (cells + attributions + 60)
        why = "more would make the page larger than 5 MB"
    return (MOST_ROWS, "") if limit >= MOST_ROWS else (max(1, limit), why)


def pack_rows(explanation: Explanation, cells: Cells, columns: tuple[Column, ...]) -> Any:
    """Return the rows as data of a page: labels, predictions, attributions, columns."""
    n, d = explanation.shape[:2]
    places = used_places(cells, columns)
    packed = [
        _pack_column(explanation.data.iloc[:, j], cells[:, j], column, places[j])
        for j, column in enumerate(columns)
    ]
    return {
        "labels": [page_text(label) for label in explanation.data.index],
        "predictions": pack(explanation.prediction.reshape(n, -1), "f8"),
        "attributions": pack_reals(explanation.values.reshape(n, d, -1)),
        "columns": packed,
    }


def _pack_column(
    series: pd.Series, cells: Cells, column: Column, places: NDArray[np.intp]
) -> dict[str, Any]:
    if column.kind == "number":
        knots = np.array(column.knots)
        values = read_numbers(series, column.name)
        if not column.seen:  # empty in training: its cells are absent, whatever they hold
            values = np.full_like(values, np.nan)
        packed = pack(values, _number_kind(values, knots))
        return {"name": column.name, "values": packed, "knots": pack(knots, "f8")}
    codes, levels = _levels(series, column)
    place_of = np.zeros(len(levels), dtype=np.intp)
    present = codes >= 0
    if not column.parts:
        place_of[codes[present]] = np.searchsorted(places, cells[present])
    return {
        "name": column.name,
        "words": [page_text(level) for level in levels],
        "places": place_of.tolist(),
        "codes": pack(np.where(present, codes, _MISSING), "u2"),
    }


def _levels(series: pd.Series, column: Column) -> tuple[NDArray[Any], list[Any]]:
    """Return codes (−1 is missing) and what they stand for: levels, or bags as text."""
    if not column.parts:
        return read_levels(series, column.name)
    texts = series.astype(object).map(cell_text).where(series.notna())
    codes, found = pd.factorize(texts)
    return codes, found.tolist()


def _number_kind(values: NDArray[np.float64], knots: NDArray[np.float64]) -> str:
    """Return the shortest type that holds a column: small whole numbers take one byte."""
    if np.array_equal(values, np.rint(values)):  # false with a missing cell, which needs NaN
        for kind in ("u1", "i2"):
            ends = np.iinfo(kind)
            if ends.min <= values.min() and values.max() <= ends.max:
                return kind
    return "f4" if _fits_in_32_bits(values, knots) else "f8"


def _fits_in_32_bits(values: NDArray[np.float64], knots: NDArray[np.float64]) -> bool:
    """Whether rounding changes no whole number, and others by little beside the knots' distance."""
    present = values[~np.isnan(values)]
    with np.errstate(over="ignore"):
        lost = np.abs(present.astype(np.float32).astype(np.float64) - present).max(initial=0.0)
    if np.array_equal(present, np.rint(present)):
        return bool(lost == 0)
    step = np.diff(knots).min(initial=np.inf)
    return bool(lost <= _CLOSE * min(step, float(np.ptp(knots)) or 1.0))
