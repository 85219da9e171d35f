"""A training table larger than memory: surveyed in one pass, encoded on disk in a second one.

Teachers learn from a sample and soften the labels of its rows. All other rows keep their labels:
predicting them would take longer than training the network on them, and where there are so many
rows, labels of their neighbours average the noise away as well as a teacher does. Both kinds of
labels have the same conditional expectation, so the mixture has no bias.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from sasanet.arrays import Floats
from sasanet.errors import InvalidInputError, ShortFitWarning, warn_user
from sasanet.estimator.fitting.checks import features_in
from sasanet.estimator.fitting.data import FitData, put_rows, read_validation
from sasanet.streaming.parts import Reader, Roles
from sasanet.streaming.store import StoredRows, StoreWriter
from sasanet.streaming.survey import Survey
from sasanet.table.encoder import TableEncoder
from sasanet.table.reading import check_names, check_width
from sasanet.table.target import Target
from sasanet.training.hyperparameters import Hyperparameters
from sasanet.training.shared.fellows import Alone
from sasanet.training.shared.rows import SharedRows

READING_TIME = 0.15  # of a time limit
_STORE_TIME = 0.6  # of a time limit: when encoding ends at the latest
_STORE_COST = 1.5  # seconds of encoding for every second of the survey
_MOST_HELD_OUT = 50_000  # rows that choose the best epoch


class StreamedTable:
    """A source with the name of its target; the same stages as a table in memory has.

    Parameters
    ----------
    reader : Reader
    roles : Roles
    encoder : TableEncoder
        Without columns yet.
    time_limit, start : float
        Of the fit.
    fellows : Alone, optional
        Workers of the same fit, each with a source of its own.
    """

    def __init__(
        self,
        reader: Reader,
        roles: Roles,
        encoder: TableEncoder,
        time_limit: float,
        start: float,
        fellows: Alone | None = None,
    ) -> None:
        self.reader, self.roles, self.start = reader, roles, start
        self.fellows = fellows or Alone()
        begin = time.monotonic()
        self.survey = self.fellows.fold(lambda: self._look(encoder, time_limit), Survey.merge)
        self.took = time.monotonic() - begin
        if not self.survey.weight > 0:
            raise InvalidInputError("sample_weight must not be all 0, got no other weight")
        self._warn_of_unread(time_limit)
        self.sample = self.survey.sampled()
        self.given = (self.sample.features, self.sample.labels)
        self.features = features_in(self.sample.features, self.sample.features)
        self.labels, self.weights, self.rows_of_label = self.survey.target.summary()
        self.n_rows = self.survey.n_rows
        self.factors: Floats | None = None

    def _look(self, encoder: TableEncoder, time_limit: float) -> Survey:
        """Read all rows once, or as many as the time allows."""
        survey = None
        for first, frame in self.reader.frames("reading", self.start + time_limit * READING_TIME):
            features, labels, weights = self.roles.split(frame)
            if survey is None:
                check_width(features.shape[1])
                check_names(features)
                survey = Survey.begin(list(features.columns), encoder, self.reader.seed)
            if list(features.columns) != list(survey.labels):
                raise InvalidInputError(
                    "All parts of a source must have the same columns, got "
                    f"{list(features.columns)[:5]} after {list(survey.labels)[:5]}"
                )
            survey.add(features, labels, weights, first)
        if survey is None:
            raise InvalidInputError("A source must have rows, got Found array with 0 sample(s).")
        self.n_rows_here = survey.n_rows
        return survey

    def _warn_of_unread(self, time_limit: float) -> None:
        n_read, counts = self.survey.n_rows, self.fellows.each(lambda: self.reader.source.n_rows)
        whole = None if None in counts else sum(filter(None, counts))
        ended = time.monotonic() > self.start + time_limit * READING_TIME
        if whole is not None or ended:
            warn_of_unread(n_read, whole, time_limit)

    def counts(self, target: Target) -> Floats:
        """Return the rows of each class: [C]."""
        return np.bincount(target.numbers.astype(int), self.rows_of_label).astype(float)

    def exact(self, target: Target) -> Target:
        """Return the target of all labels, not only of those that stand for others."""
        moments = self.survey.target.moments
        if target.task != "regression" or self.survey.target.rows is not None:
            return target
        if target.has_log_link:
            return replace(target, base=(math.log(moments.mean),))
        if target.objective != "squared":  # quantiles of a sketch are those of all rows nearly
            return target
        mean, spread = float(moments.mean), moments.std
        scale = spread if spread > 1e-12 * abs(mean) else 1.0
        return replace(target, base=(mean,), scale=scale)

    def encode(
        self,
        encoder: TableEncoder,
        target: Target,
        factors: Floats | None,
        validation: tuple[Any, ...] | None,
        settings: Hyperparameters,
        chance: tuple[np.random.RandomState, torch.device],
    ) -> FitData:
        """Learn the columns from the survey, and encode the sample; some of it may be held out."""
        random, device = chance
        self.survey.learn(encoder)
        self.factors = factors
        cells = encoder.transform(self.sample.features, warn=False)
        numbers, weights = self._read(target, self.sample.labels, self.sample.weights)
        fraction = 0.0 if validation else settings.validation_fraction
        most = min(1.0, _MOST_HELD_OUT / (fraction * self.n_rows)) if fraction else 1.0
        share = min(0.5, fraction * most * self.n_rows / len(numbers))
        held_out = replace(target, numbers=numbers).hold_out(share, random)
        stop = None
        if validation:
            stop = read_validation(validation, encoder, target, device, factors)
        elif weights[held_out].any():
            stop = put_rows(cells[held_out], numbers[held_out], weights[held_out], device)
        return FitData(
            encoder=encoder,
            target=target.forget_labels(),
            cells=cells[~held_out],
            labels=numbers[~held_out],
            weights=weights[~held_out],
            kept=~held_out,
            validation=stop,
            n_rows=self.n_rows,
            device=device,
            seed=random.randint(2**31 - 1),
            start=self.start,
            still_needed=_STORE_COST * self.took,
            fellows=self.fellows,
        )

    def _read(self, target: Target, labels: Any, weights: Floats) -> tuple[Floats, Floats]:
        """Return labels as the network reads them, and weights with those of the classes."""
        numbers = target.read(labels)
        if self.factors is not None:
            weights = weights * self.factors[numbers.astype(int)]
        return numbers, weights

    def store(self, data: FitData, settings: Hyperparameters) -> FitData:
        """Encode all rows on disk, but for those held out; soft labels take their places."""
        mine: list[StoredRows] = []

        def store() -> tuple[int, float]:
            mine.append(self._store(data, settings))
            return len(mine[0]), mine[0].mean_weight

        counts, means = zip(*self.fellows.each(store), strict=True)
        if self.fellows.size == 1:
            return replace(data, stored=mine[0])
        shared = replace(mine[0], mean_weight=float(np.average(means, weights=counts)))
        return replace(data, stored=SharedRows(shared, counts, self.fellows.rank))

    def _store(self, data: FitData, settings: Hyperparameters) -> StoredRows:
        end = self.start + settings.time_limit * _STORE_TIME
        n_classes = data.labels.shape[1] if data.labels.ndim > 1 else 0
        knots = data.encoder.numbers == "knots"
        with StoreWriter(self.reader.folder, data.columns, knots, n_classes) as writer:
            needed = writer.open(self.n_rows_here)
            what = f"encoding, {math.ceil(needed / 1e6):,} MB of disk"
            for first, frame in self.reader.frames(what, end):
                writer.write(*self._encoded(frame, first, data))
            return writer.finish(data.device)

    def _encoded(
        self, frame: pd.DataFrame, first: int, data: FitData
    ) -> tuple[NDArray[np.float32], Floats, Floats]:
        """Return cells, labels and weights of the rows of a part that are trained on."""
        features, given, weights = self.roles.split(frame)
        cells = data.encoder.transform(features, warn=False)
        labels, weights = self._read(data.target, given, weights)
        if data.labels.ndim > 1:
            labels = np.eye(data.labels.shape[1])[labels.astype(int)]
        softened, held_out = self.sample.numbers[data.kept], self.sample.numbers[~data.kept]
        here = _between(softened, first, len(frame))
        labels[softened[here] - first] = data.labels[here]
        kept = np.ones(len(frame), dtype=bool)
        kept[held_out[_between(held_out, first, len(frame))] - first] = False
        return cells[kept], labels[kept], weights[kept]


def _between(numbers: NDArray[np.int64], first: int, count: int) -> slice:
    """Return which of some increasing row numbers are among so many rows."""
    start, stop = np.searchsorted(numbers, [first, first + count])
    return slice(int(start), int(stop))


def warn_of_unread(n_read: int, n_rows: int | None, time_limit: float) -> None:
    """Warn where time has ended before all rows were read; ``None``: nobody knows how many."""
    if n_rows is not None and n_read >= n_rows:
        return
    rows = f"{n_read:,} rows" if n_rows is None else f"{n_read:,} of {n_rows:,} rows"
    warn_user(
        f"time_limit={time_limit:g} s was enough to read {rows}, which is all the model learns "
        "from; give it more time.",
        ShortFitWarning,
    )
