"""A training table in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from sasanet.arrays import Floats
from sasanet.estimator.fitting.checks import check_table, features_in
from sasanet.estimator.fitting.data import FitData, put_rows, read_validation
from sasanet.table.encoder import TableEncoder
from sasanet.table.target import Target
from sasanet.training.hyperparameters import Hyperparameters


class TableInMemory:
    """A table with its labels and weights, all of whose rows are learned from.

    Attributes
    ----------
    given : (table, labels)
        As the user gave them.
    labels, weights
        From which the target is learned.
    features : dict
        What scikit-learn keeps of the columns.
    """

    def __init__(self, estimator: str, X: Any, y: Any, sample_weight: Any, start: float) -> None:
        table, self.weights = check_table(estimator, X, y, sample_weight)
        self.features = features_in(X, table)
        self.given, self.labels, self.start = (table, y), y, start
        self.n_rows = len(table)

    def counts(self, target: Target) -> Floats:
        """Return the rows of each class: [C]."""
        return np.bincount(target.numbers.astype(int), minlength=len(target.labels)).astype(float)

    def exact(self, target: Target) -> Target:
        """Return the target as it is: all labels are known."""
        return target

    def encode(
        self,
        encoder: TableEncoder,
        target: Target,
        factors: Floats | None,
        validation: tuple[Any, ...] | None,
        settings: Hyperparameters,
        chance: tuple[np.random.RandomState, torch.device],
    ) -> FitData:
        """Hold rows out, learn the columns from the others, and encode both."""
        random, device = chance
        table, weights = self.given[0], self.weights
        if factors is not None:
            weights = weights * factors[target.numbers.astype(int)]
        held_out = target.hold_out(0 if validation else settings.validation_fraction, random)
        if not weights[~held_out].any():  # all rows that count would only be stopped by
            held_out[:] = False
        # Levels that only held-out rows have are learned as unseen, and need no warning.
        encoder.fit(table[~held_out], beside=table[held_out] if held_out.any() else None)
        cells = encoder.transform(table, warn=False)
        stop = None
        if validation:
            stop = read_validation(validation, encoder, target, device, factors)
        elif weights[held_out].any():
            stop = put_rows(cells[held_out], target.numbers[held_out], weights[held_out], device)
        return FitData(
            encoder=encoder,
            target=target.forget_labels(),
            cells=cells[~held_out],
            labels=target.numbers[~held_out],
            weights=weights[~held_out],
            kept=~held_out,
            validation=stop,
            n_rows=len(table),
            device=device,
            seed=random.randint(2**31 - 1),
            start=self.start,
        )

    def store(self, data: FitData, settings: Hyperparameters) -> FitData:
        """Return the data as they are: they fit into memory."""
        del settings
        return data
