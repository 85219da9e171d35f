"""What one fit learns from."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length

from sasanet.arrays import Floats, Masks
from sasanet.errors import InvalidInputError
from sasanet.estimator.fitting.survival import Survival
from sasanet.table.columns import Columns
from sasanet.table.encoder import TableEncoder
from sasanet.table.reading import read_table
from sasanet.table.target import Target
from sasanet.training.losses import Objective
from sasanet.training.rows import Augmented, Batchable, Rows
from sasanet.training.shared.fellows import Alone
from sasanet.training.yardstick import Yardstick
from sasanet.validation import our_refusals

_TRAINING_TIME = 0.4  # of a time limit: the network's, whatever came before it
_TEACHER_TIME = 1 / 3  # of a time limit, at most
_FINISHING_TIME = 0.03  # of a time limit: what is measured on the trained network


@dataclass(frozen=True)
class FitData:
    """What one fit learns from: an encoded table with its labels and weights.

    cells [n, N] (NaN absent), labels [n] as the network reads them, weights [n]; ``kept`` marks the
    user's rows that these are, ``validation`` holds rows to stop by, ``n_rows`` counts the held-out
    rows too, ``start`` is when ``fit`` began; ``yardstick`` is what the network is to reach. Of a
    table larger than memory these are a sample, and ``stored`` holds all rows;
    ``still_needed`` are the seconds that storing them will take.
    """

    encoder: TableEncoder
    target: Target
    cells: NDArray[np.float32]
    labels: Floats
    weights: Floats
    kept: Masks
    validation: Rows | None
    n_rows: int
    device: torch.device
    seed: int
    start: float
    yardstick: Yardstick | None = None
    stored: Batchable | None = None
    still_needed: float = 0.0
    directions: tuple[int, ...] = ()  # of monotone columns; empty: none is
    augmented: Augmented | None = None  # rows for teachers to label, on the CPU
    survival: Survival | None = None  # where a killed fit left what it had done
    fellows: Alone = field(default_factory=Alone)  # workers of the same fit

    @property
    def columns(self) -> Columns:
        """What the network must know of the columns."""
        return replace(self.encoder.layout, directions=self.directions)

    @property
    def n_outputs(self) -> int:
        """How many numbers are predicted: one, or one per class."""
        return len(self.target.base)

    @property
    def n_trained(self) -> int:
        """How many rows the network is trained on."""
        return len(self.cells) if self.stored is None else len(self.stored)

    def rows(self) -> Batchable:
        """Return the rows to train on."""
        return self.rows_in_memory() if self.stored is None else self.stored

    def rows_in_memory(self) -> Rows:
        """Return the rows that are in memory, on the device: all of them, or a sample."""
        rows = put_rows(self.cells, self.labels, self.weights, self.device)
        if self.augmented is None:
            return rows
        more = self.augmented
        cells, targets = more.cells.to(self.device), more.targets.to(self.device)
        return replace(rows, augmented=Augmented(cells, targets, more.share))

    def objective(self, full_share: float) -> Objective:
        """Return what predictions are judged by."""
        base = torch.tensor(self.target.network_base, dtype=torch.float32, device=self.device)
        return Objective(self.target.loss, base, full_share, self.target.quantiles)

    def teacher_time(self, time_limit: float) -> float:
        """Return the seconds that teachers may take."""
        passed = time.monotonic() - self.start + self.still_needed
        return max(0.0, min(time_limit * _TEACHER_TIME, time_limit * (1 - _TRAINING_TIME) - passed))

    def time_left(self, time_limit: float) -> float:
        """Return the seconds that ``fit`` has left of its limit; the network's share is kept."""
        left = time_limit * (1 - _FINISHING_TIME) - (time.monotonic() - self.start)
        return max(left, time_limit * _TRAINING_TIME)


def check_validation(validation: Any, has_exposure: bool) -> None:
    """Refuse anything but a table and its labels, and with exposures their weights.

    A third part means nothing elsewhere, and must not be taken for weights.
    """
    listed = isinstance(validation, list | tuple)
    if not listed or len(validation) != 2 + has_exposure:
        what = f"{type(validation).__name__} of {len(validation)}" if listed else repr(validation)
        raise InvalidInputError(
            f"validation must be a pair of a table and its labels, got {what:.80}"
        )


def read_validation(
    validation: tuple[Any, ...],
    encoder: TableEncoder,
    target: Target,
    device: torch.device,
    factors: Floats | None,
) -> Rows:
    """Return the rows that the user gave to choose the best epoch by.

    Rates come with their weights, their exposure.
    """
    table, labels = read_table(validation[0]), validation[1]
    with our_refusals():
        check_consistent_length(table, labels)
    numbers = target.read(labels)
    if len(validation) == 3:
        return put_rows(encoder.transform(table), numbers, validation[2], device)
    weights = np.ones(len(table)) if factors is None else factors[numbers.astype(int)]
    return put_rows(encoder.transform(table), numbers, weights, device)


def put_rows(cells: Any, targets: Floats, weights: Floats, device: torch.device) -> Rows:
    """Put encoded rows on the device; weights are relative, so their mean becomes 1."""
    parts = [
        torch.as_tensor(part, dtype=torch.float32).to(device)
        for part in (cells, targets, weights / weights.mean())
    ]
    return Rows(parts[0], parts[1], parts[2])
