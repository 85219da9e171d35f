"""What every network estimator shares: from a table and its labels to a fitted network.

``fit`` reads down the page: check, read the target, encode, soften the labels, train, keep. Nothing
is assigned before all of it has succeeded, so a fit that fails leaves the estimator as it was. What
classifier and regressor do not share, the meaning of the target, is in
:mod:`sasanet.estimator.classifier_regressor`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import torch
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor

from sasanet.arrays import Floats
from sasanet.estimator.fitting.checks import check_finite, warn_if_short
from sasanet.estimator.fitting.data import FitData, check_validation
from sasanet.estimator.fitting.device import pick_device
from sasanet.estimator.fitting.given import Given, Maker, TrainingTable, training_table
from sasanet.estimator.fitting.survival import Survival, check_seed
from sasanet.estimator.word_effects import word_effects
from sasanet.explanation.explanation import Explanation
from sasanet.explanation.players import Players
from sasanet.network import inference
from sasanet.network.interface import TabularNetwork
from sasanet.network.layers import GLOBAL_GENERATOR
from sasanet.table.encoder import EncodedTable, TableEncoder
from sasanet.table.reading import read_table
from sasanet.table.sources import frames_of, is_source
from sasanet.table.target import Target
from sasanet.training.hyperparameters import Hyperparameters
from sasanet.training.loop import History, Phase, Rows, Surroundings, train
from sasanet.training.yardstick import train_further
from sasanet.validation import our_refusals
from sasanet.whole_files import read_path


class TabularModel(BaseEstimator):
    """What all network estimators share.

    A subclass resolves its parameters, makes its encoder and its network, and says in which phases
    that is trained; :mod:`sasanet.estimator.classifier_regressor` says how to read labels and what
    predictions are called.
    """

    device: str
    categorical_features: Sequence[str | int]
    random_state: int | np.random.RandomState | None
    encoder_: TableEncoder
    target_: Target
    network_: Any
    history_: list[dict[str, Any]]

    # --- what a subclass says -----------------------------------------------------------------

    def _resolve(self, n_rows: int) -> Any:
        """Check the parameters and replace every "auto"."""
        raise NotImplementedError

    def _make_encoder(self) -> TableEncoder:
        raise NotImplementedError

    def _read_target(self, y: Any, weights: Floats) -> Target:
        raise NotImplementedError

    def _class_factors(self, target: Target, table: TrainingTable) -> Floats | None:
        """Return how much the rows of each class count, if not the same: (C,)."""
        del target, table
        return None

    def _soften_labels(
        self, data: FitData, settings: Any, table: pd.DataFrame, y: Any
    ) -> tuple[FitData, Any]:
        """Return data with softer labels, and the settings that follow from them.

        ``table`` and ``y`` are the rows as the user gave them, for teachers of the user's own.
        """
        del table, y
        return data, settings

    def _make_network(self, data: FitData, settings: Any) -> TabularNetwork:
        raise NotImplementedError

    def _make_phases(self, data: FitData, settings: Any) -> Sequence[Phase]:
        raise NotImplementedError

    def _finish(self, network: Any, data: FitData) -> dict[str, Any]:
        """Return further attributes that end with the fit."""
        del network, data
        return {}

    # --- fitting ------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        validation: tuple[Any, Any] | None = None,
        *,
        target: str | None = None,
        scratch: str | Path | None = None,
        checkpoint: str | Path | None = None,
    ) -> Self:
        """Learn from a table and its labels.

        Parameters
        ----------
        X : table (n, d), or source
            A DataFrame (numbers, strings, categories, booleans; cells may be missing),
            an array, or any table pandas can read through Arrow. With ``target`` also a source
            that may be larger than memory: a Parquet file or folder, a pyarrow Dataset, Table or
            RecordBatchReader, or an iterable of DataFrames.
        y : array-like (n,)
            Labels.
        sample_weight : array-like (n,) or str, optional
            How much each row counts; with ``target`` the name of a column.
        validation : (X, y), optional
            Rows that choose the best epoch; by default ``validation_fraction`` of the rows.
        target : str, optional
            The column of X that holds the labels, in place of ``y``.
        scratch : path, optional
            Folder for the encoded rows of a table that is too large for memory (1 to 4 bytes a
            cell), by default the system's for temporary files. They are removed afterwards.
        checkpoint : path, optional
            Folder for the state of this fit. When it is killed, the same call goes on from there,
            with the weights that it would have had (unless ``time_limit`` decides them).

        Returns
        -------
        self
        """
        return self._fit(Given(X, y, sample_weight, target, scratch), validation, checkpoint)

    def _fit(
        self, given: Given, validation: tuple[Any, ...] | None, checkpoint: str | Path | None
    ) -> Self:
        """Learn from what was given."""
        start = time.monotonic()
        for place in (checkpoint, given.scratch):
            if place is not None:
                read_path(place)
        if validation is not None:
            check_validation(validation, given.exposure is not None)
        if checkpoint is not None:
            check_seed(self.random_state)
        maker = Maker(type(self).__name__, self._make_encoder, self._resolve)
        with training_table(given, maker, self.random_state, start) as table:
            self._keep(self._learn(table, validation, checkpoint))
        return self

    def _learn(
        self,
        table: TrainingTable,
        validation: tuple[Any, Any] | None,
        checkpoint: str | Path | None,
    ) -> dict[str, Any]:
        """Return everything that a fit of this table leaves."""
        settings = self._resolve(table.n_rows)
        meaning, factors = self._learn_target(table)
        data = self._encode_training(table, meaning, factors, validation, settings)
        data = self._go_on(data, checkpoint)
        data, settings = self._soften_labels(data, settings, *table.given)
        data = table.store(data, settings)
        return self._train(data, settings) | table.features

    def _learn_target(self, table: TrainingTable) -> tuple[Target, Floats | None]:
        """Return what the labels mean, and how much the rows of each class count."""
        target = self._read_target(table.labels, table.weights)
        factors = self._class_factors(target, table)
        if factors is not None:  # the base value follows the weights
            weights = table.weights * factors[target.numbers.astype(int)]
            target = self._read_target(table.labels, weights)
        return table.exact(target), factors

    def _encode_training(
        self,
        table: TrainingTable,
        target: Target,
        factors: Floats | None,
        validation: tuple[Any, ...] | None,
        settings: Hyperparameters,
    ) -> FitData:
        """Learn the columns and encode the rows: all of them, or of a large table a sample."""
        with our_refusals():
            random = check_random_state(self.random_state)
        chance = random, pick_device(self.device)
        return table.encode(self._make_encoder(), target, factors, validation, settings, chance)

    def _go_on(self, data: FitData, checkpoint: str | Path | None) -> FitData:
        """Find what a killed fit of the same data has left, if it was to leave anything."""
        if checkpoint is None:
            return data
        parameters = self.get_params(deep=False)
        kept = Survival.begin(checkpoint, type(self).__name__, parameters, data)
        return replace(data, survival=kept)

    def _train(self, data: FitData, settings: Hyperparameters) -> dict[str, Any]:
        """Make the network, train it, and return everything the fit is to leave."""
        network, dropout = self._make_seeded_network(data, settings)
        rows, phases = data.rows(), self._make_phases(data, settings)
        fellows, stages = data.fellows, count()
        generator = torch.Generator().manual_seed(data.seed + fellows.rank)

        def run(rows: Any, phases: Sequence[Phase]) -> History:
            left = fellows.once(lambda: data.time_left(settings.time_limit))
            keeper = data.survival.checkpoint(next(stages)) if data.survival else None
            around = Surroundings(dropout, keeper, fellows)
            return train(network, rows, phases, generator, left, settings.verbose, around)

        history = run(rows, phases)
        check_finite(network)
        goes_on = len(phases) == 1 and not history.interrupted
        if data.yardstick and goes_on and isinstance(rows, Rows):
            objective, deadline = data.objective(full_share=1.0), data.start + settings.time_limit
            history = train_further(
                network, rows, phases[0], data.yardstick, objective, history, run, deadline
            )
        warn_if_short(history, phases[0], data.n_trained, settings.time_limit)
        fitted = {"encoder_": data.encoder, "target_": data.target, "network_": network}
        return fitted | {"history_": history.epochs} | self._finish(network, data)

    def _make_seeded_network(
        self, data: FitData, settings: Hyperparameters
    ) -> tuple[TabularNetwork, torch.Generator]:
        """Return the network, and the generator its dropout goes on with: both by the seed."""
        on_cuda = data.device.type == "cuda"
        # torch makes weights with its global generator: one fit at a time may seed it.
        with GLOBAL_GENERATOR, torch.random.fork_rng([data.device] if on_cuda else []):
            torch.manual_seed(data.seed)
            network = self._make_network(data, settings).to(data.device)
            dropout = torch.Generator(data.device).manual_seed(data.seed)
            if data.device.type == "cpu":
                dropout.set_state(torch.get_rng_state())
            if data.fellows.rank:  # the others draw their own
                dropout.manual_seed(data.seed + data.fellows.rank)
        return network, dropout

    def _keep(self, fitted: dict[str, Any]) -> None:
        """Replace everything an earlier fit left, in one assignment: all of it or nothing."""
        kept = {name: value for name, value in vars(self).items() if not name.endswith("_")}
        self.__dict__ = kept | fitted

    # --- using --------------------------------------------------------------------------------

    @property
    def base_value_(self) -> Floats:
        """φ0 per output, raw scale: what is predicted when nothing is known."""
        return np.array(self.target_.base)

    def _encode(self, X: Any) -> tuple[pd.DataFrame, Tensor]:
        """Return the rows in the columns of training, and their cells [n, d].

        Of a source all rows are read, of its columns those of training.
        """
        if isinstance(X, EncodedTable):
            return X.table, torch.from_numpy(X.cells)
        check_is_fitted(self)
        if is_source(X):
            X = pd.concat(frames_of(X, self.encoder_.names), ignore_index=True)
        table = self.encoder_.align(read_table(X))
        if not self.encoder_.has_labels_of(X):  # names against positions: scikit-learn's warning
            validate_data(self, X, reset=False, skip_check_array=True)
        return table, torch.from_numpy(self.encoder_.transform(table))

    def _raw(self, X: Any) -> Floats:
        """Return the raw output of every row: [n, K]; a source is read part by part."""
        check_is_fitted(self)
        if is_source(X):
            return np.concatenate([self._raw(rows) for rows in frames_of(X, self.encoder_.names)])
        _, cells = self._encode(X)
        return self.target_.to_raw(inference.outputs(self.network_, cells).numpy())

    def _explanation(
        self,
        table: pd.DataFrame,
        values: Floats,
        errors: Floats | None = None,
        players: Players | None = None,
    ) -> Explanation:
        """Name raw attributions [n, d, K] of a table's rows; with one output the last axis goes."""
        names = players.names if players else self.encoder_.names
        data = players.frame(table) if players else table.set_axis(list(names), axis=1)
        single = len(self.base_value_) == 1
        base = np.tile(self.base_value_, (len(values), 1))
        return Explanation(
            values=values[..., 0] if single else values,
            base_values=base[:, 0] if single else base,
            data=data,
            feature_names=names,
            output_names=self.target_.output_names,
            error_std=errors if errors is None or not single else errors[..., 0],
            units=self.target_.units,
            groups=players.groups if players else {},
        )

    def _words(self, table: pd.DataFrame, cells: Tensor) -> dict[str, Any]:
        """Return what the words of columns of text add; nothing where there are none."""
        if not self.encoder_.has_text or len(table) != len(cells):
            return {}
        columns, scale = self.encoder_.columns, self.target_.scale
        return word_effects(self.network_, columns, table, cells, scale)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "network_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags
