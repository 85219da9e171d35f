"""What each word of a text adds to a prediction: the output with it, less the output without it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from sasanet.arrays import Floats
from sasanet.network import inference
from sasanet.table.bags import text
from sasanet.table.columns import Column

_MOST_WORDS, _KEPT = 40, 8  # looked at and kept of each text
_AT_ONCE = 2_048  # rows without a word


def word_effects(
    network: Any, columns: tuple[Column, ...], table: pd.DataFrame, cells: Tensor, scale: float
) -> dict[str, list[dict[str, list[float]]]]:
    """Return, for every column of text and every row, what its strongest words add."""
    found = {}
    further = len(columns)  # where the further cells of a column begin
    for j, column in enumerate(columns):
        if column.kind == "text":
            position = {b: further + k - 1 for b, k in text.known_buckets(column).items()}
            found[column.name] = _effects(network, table.iloc[:, j], position, cells, scale)
        further += max(len(column.parts) - 1, 0)
    return found


def _effects(
    network: Any, texts: pd.Series, position: dict[int, int], cells: Tensor, scale: float
) -> list[dict[str, list[float]]]:
    lost = [
        (i, word, [position[bucket] for bucket in buckets if bucket in position])
        for i, cell in enumerate(texts.tolist())
        for word, buckets in text.without_each_word(cell, _MOST_WORDS).items()
    ]
    lost = [one for one in lost if one[2]]  # no row of training had the others
    whole = inference.outputs(network, cells).numpy()
    found: list[dict[str, list[float]]] = [{} for _ in range(len(texts))]
    for start in range(0, len(lost), _AT_ONCE):
        some = lost[start : start + _AT_ONCE]
        for (i, word, _), without in zip(some, _without(network, cells, some), strict=True):
            found[i][word] = ((whole[i] - without) * scale).tolist()
    return [dict(_strongest(effects)) for effects in found]


def _without(network: Any, cells: Tensor, lost: list[tuple[int, str, list[int]]]) -> Floats:
    """Return the outputs of rows without a word each: (m, K)."""
    hidden: NDArray[np.float32] = cells.numpy()[[i for i, _, _ in lost]]
    for row, (_, _, places) in zip(hidden, lost, strict=True):
        row[places] = np.nan
    return inference.outputs(network, torch.from_numpy(hidden)).numpy()


def _strongest(effects: dict[str, list[float]]) -> Iterator[tuple[str, list[float]]]:
    order = sorted(effects, key=lambda word: -max(map(abs, effects[word])))
    return ((word, effects[word]) for word in order[:_KEPT])
