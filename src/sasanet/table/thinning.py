"""Fewer knots for a table that was encoded with many: noisy labels cannot tell that many apart."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sasanet.arrays import Floats
from sasanet.table.columns import Column, with_rulers
from sasanet.table.encoder import TableEncoder
from sasanet.table.learning import choose_knots


def thin_knots(encoder: TableEncoder, cells: NDArray[np.float32], n_knots: int) -> TableEncoder:
    """Return an encoder with at most n_knots of each number column's knots.

    They are chosen as if the rows, whose cells [n, N] this encoder made, had the knots' values.
    """
    thin = TableEncoder(
        encoder.numbers, n_knots, encoder.categorical_features, encoder.min_level_count
    )
    thin.named = encoder.named
    rulers = tuple(map(_thinned, encoder.rulers, cells.T, [n_knots] * cells.shape[1]))
    thin.columns = with_rulers(encoder.columns, rulers)
    return thin


def _thinned(column: Column, places: Floats, n_knots: int) -> Column:
    if column.kind != "number" or len(column.knots) <= n_knots:
        return column
    present = places[~np.isnan(places)].astype(float)
    low, fraction = np.floor(present).astype(int), present % 1
    counts = np.bincount(low, 1 - fraction, minlength=len(column.knots) + 1).astype(float)
    counts[1:] += np.bincount(low, fraction, minlength=len(column.knots) + 1)[:-1]
    chosen = choose_knots(np.array(column.knots), counts[:-1], n_knots)
    return replace(column, knots=tuple(chosen.tolist()))


def recode(cells: NDArray[np.float32], old: TableEncoder, new: TableEncoder) -> NDArray[np.float32]:
    """Return cells [n, N] of one encoder as those of another whose knots are some of its knots."""
    moved = cells.copy()
    for j, (before, after) in enumerate(zip(old.rulers, new.rulers, strict=True)):
        if before.knots == after.knots:
            continue
        places, missing = cells[:, j], np.isnan(cells[:, j])
        # Halved, because the distance between two finite numbers may exceed the largest one.
        fine, coarse = np.array(before.knots) / 2, np.array(after.knots) / 2
        values = np.interp(places, np.arange(len(fine)), fine)
        moved[:, j] = np.minimum(np.interp(values, coarse, np.arange(len(coarse))), len(coarse) - 1)
        moved[missing, j] = np.nan
    return moved
