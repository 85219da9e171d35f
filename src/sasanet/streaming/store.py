"""Encoded rows on disk: one to four bytes a cell, read back in shuffled blocks.

A category's place needs as many bytes as it has levels; a number's place among its knots is stored
in 16 bits, in steps of at least 1/512 of the way from one knot to the next where there are 128, and
exactly where a value is a knot. Files are written in one go, and mapped into memory when they are
complete: a full disk is an error of a write, never of a read.

Sizes: n rows, N cells a row, C classes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

import numpy as np
import torch
from numpy.typing import NDArray

from sasanet.arrays import Floats
from sasanet.streaming.scratch import check_room, full_disk
from sasanet.table.columns import Columns
from sasanet.training.rows import Rows

_BLOCK = 1_024  # neighbouring rows that are read together
_BUFFER_CELLS = 2**24  # decoded at once and shuffled: 64 MB
_MISSING = {"u1": 2**8 - 1, "u2": 2**16 - 1, "u4": 2**32 - 1}


@dataclass(frozen=True)
class CellCodes:
    """How cells of one width are written: which columns, and how many steps a place is."""

    kind: str  # of numpy: "u1", "u2", "u4", or "f4" for cells that are no places
    columns: NDArray[np.intp]
    steps: NDArray[np.float32]

    def encode(self, cells: NDArray[np.float32]) -> NDArray[Any]:
        """Return the codes of cells: [n, N] → [n, m]."""
        mine = cells[:, self.columns]
        if self.kind == "f4":
            return mine
        codes = np.rint(np.nan_to_num(mine) * self.steps).astype(self.kind)
        codes[np.isnan(mine)] = _MISSING[self.kind]
        return codes

    def decode(self, codes: NDArray[Any], cells: NDArray[np.float32]) -> None:
        """Fill in the cells that codes stand for: [n, m] into [n, N]."""
        if self.kind == "f4":
            cells[:, self.columns] = codes
            return
        mine = codes.astype(np.float32) / self.steps
        mine[codes == _MISSING[self.kind]] = np.nan
        cells[:, self.columns] = mine


def cell_codes(columns: Columns, knots: bool) -> list[CellCodes]:
    """Return how to write the cells of a table; without ``knots`` numbers are no places."""
    places, is_number = np.array(columns.places), np.array(columns.is_number)
    kinds = np.where(places < 255, "u1", np.where(places < 2**16 - 1, "u2", "u4"))
    kinds[is_number] = "u2" if knots else "f4"
    steps = np.where(is_number, (2**16 - 2) // np.maximum(places - 1, 1), 1).astype(np.float32)
    return [
        CellCodes(str(kind), found, steps[found])
        for kind in ("u1", "u2", "u4", "f4")
        if len(found := np.flatnonzero(kinds == kind))
    ]


class StoreWriter:
    """Rows going to disk, in order.

    Parameters
    ----------
    folder : Path
    columns : Columns
    knots : bool
        Whether numbers are places among knots.
    n_classes : int
        Of soft labels, which have one number for each class; 0 for labels of one number.
    """

    def __init__(self, folder: Path, columns: Columns, knots: bool, n_classes: int = 0) -> None:
        self.folder, self.n_cells = folder, len(columns.places)
        self.codes = cell_codes(columns, knots)
        self.width = max(1, n_classes)
        self.n_rows, self.weight = 0, 0.0
        self.files: list[IO[bytes]] = []

    @property
    def bytes_per_row(self) -> int:
        """How many bytes a row takes."""
        cells = sum(int(code.kind[1]) * len(code.columns) for code in self.codes)
        return cells + 4 * self.width + 4

    def open(self, n_rows: int) -> int:
        """Begin to write about so many rows, or refuse a disk that is too small for them.

        Returns the bytes that they will take.
        """
        needed = n_rows * self.bytes_per_row
        check_room(self.folder, needed)
        names = [*(code.kind for code in self.codes), "labels", "weights"]
        self.files = [(self.folder / name).open("wb") for name in names]
        return needed

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        for file in self.files:  # also after a failure, of which somebody has been told
            with contextlib.suppress(OSError):
                file.close()

    def write(self, cells: NDArray[np.float32], labels: Floats, weights: Floats) -> None:
        """Append rows: cells [n, N], labels [n] or [n, C], weights [n]."""
        parts = [code.encode(cells) for code in self.codes]
        parts += [labels.astype(np.float32), weights.astype(np.float32)]
        try:
            for file, part in zip(self.files, parts, strict=True):
                file.write(np.ascontiguousarray(part).data)
        except OSError as error:
            raise full_disk(self.folder, error) from None
        self.n_rows += len(cells)
        self.weight += float(weights.sum())

    def finish(self, device: torch.device) -> StoredRows:
        """Return the rows that were written, to be read."""
        try:
            for file in self.files:
                file.flush()
        except OSError as error:
            raise full_disk(self.folder, error) from None
        n = self.n_rows
        codes = [self._map(code.kind, code.kind, (n, len(code.columns))) for code in self.codes]
        shape = (n,) if self.width == 1 else (n, self.width)
        labels, weights = self._map("labels", "f4", shape), self._map("weights", "f4", (n,))
        mean = self.weight / n
        return StoredRows(self.codes, codes, labels, weights, mean, self.n_cells, device)

    def _map(self, name: str, kind: str, shape: tuple[int, ...]) -> NDArray[Any]:
        return np.memmap(self.folder / name, kind, "r", shape=shape)


@dataclass(frozen=True)
class StoredRows:
    """Rows on disk that can be trained on (a :class:`~sasanet.training.rows.Batchable`)."""

    kinds: Sequence[CellCodes]
    codes: Sequence[NDArray[Any]]
    labels: NDArray[np.float32]
    weights: NDArray[np.float32]
    mean_weight: float  # weights are relative: their mean becomes 1
    n_cells: int
    device: torch.device

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: NDArray[np.intp] | slice) -> Rows:
        """Return some rows, decoded."""
        labels = np.array(self.labels[index])
        cells = np.empty((len(labels), self.n_cells), dtype=np.float32)
        for kind, codes in zip(self.kinds, self.codes, strict=True):
            kind.decode(codes[index], cells)
        weights = self.weights[index] / np.float32(self.mean_weight)
        parts = [torch.from_numpy(part).to(self.device) for part in (cells, labels, weights)]
        return Rows(parts[0], parts[1], parts[2])

    def batches(self, size: int, generator: torch.Generator, skip: int = 0) -> Iterator[Rows]:
        """Yield the rows once: blocks in random order, shuffled by the buffer."""
        n_blocks = -(-len(self) // _BLOCK)
        order = torch.randperm(n_blocks, generator=generator).numpy()
        seed = int(torch.randint(2**62, (1,), generator=generator))
        return self._shuffled(order, size, np.random.default_rng(seed), skip * size)

    def _shuffled(
        self, order: NDArray[np.intp], size: int, random: np.random.Generator, skip: int
    ) -> Iterator[Rows]:
        """Yield batches; the first ``skip`` rows have been seen."""
        at_once = max(1, _BUFFER_CELLS // (_BLOCK * self.n_cells))
        rest: Rows | None = None
        for start in range(0, len(order), at_once):
            index = self._rows_of(order[start : start + at_once])
            index = index[random.permutation(len(index))]
            if skip >= len(index):
                skip -= len(index)
                continue
            rows = self._gather(index[skip:])
            rows, skip = rows if rest is None else _join(rest, rows), 0
            whole = len(rows) if start + at_once >= len(order) else len(rows) // size * size
            for first in range(0, whole, size):
                yield rows[first : min(first + size, whole)]
            rest = rows[whole:] if whole < len(rows) else None

    def _gather(self, index: NDArray[np.intp]) -> Rows:
        """Return rows in any order; the disk is read in its own."""
        sorted_order = np.argsort(index, kind="stable")
        back = np.empty_like(sorted_order)
        back[sorted_order] = np.arange(len(index))
        return self[index[sorted_order]][torch.from_numpy(back).to(self.device)]

    def _rows_of(self, blocks: NDArray[np.intp]) -> NDArray[np.intp]:
        rows = (blocks[:, None] * _BLOCK + np.arange(_BLOCK)).ravel()
        return rows[rows < len(self)]


def _join(first: Rows, second: Rows) -> Rows:
    return Rows(
        torch.cat([first.cells, second.cells]),
        torch.cat([first.targets, second.targets]),
        torch.cat([first.weights, second.weights]),
    )
