"""What every network estimator shares: from a table and its labels to a fitted network.

``fit`` reads down the page: check, read the target, encode, soften the labels, train, keep. Nothing
is assigned before all of it has succeeded, so a fit that fails leaves the estimator as it was. What
classifier and regressor do not share, the meaning of the target, is in
:mod:`sasanet.estimator.classifier_regressor`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor

from sasanet.arrays import Floats, Masks
from sasanet.errors import InvalidInputError
from sasanet.estimator.device import pick_device
from sasanet.estimator.fit_checks import check_finite, check_table, features_in, warn_if_short
from sasanet.explanation.explanation import Explanation
from sasanet.explanation.players import Players
from sasanet.network import inference
from sasanet.network.interface import TabularNetwork
from sasanet.network.layers import GLOBAL_GENERATOR
from sasanet.table.columns import Columns
from sasanet.table.encoder import EncodedTable, TableEncoder
from sasanet.table.reading import read_table
from sasanet.table.target import Target
from sasanet.training.hyperparameters import Hyperparameters
from sasanet.training.loop import History, Phase, Rows, train
from sasanet.training.losses import Objective
from sasanet.training.yardstick import Yardstick, train_further
from sasanet.validation import our_refusals

_TRAINING_TIME = 0.4  # of a time limit: the network's, whatever came before it


@dataclass(frozen=True)
class FitData:
    """What one fit learns from: an encoded table with its labels and weights.

    cells [n, N] (NaN absent), labels [n] as the network reads them, weights [n]; ``kept`` marks the
    user's rows that these are, ``validation`` holds rows to stop by, ``n_rows`` counts the held-out
    rows too, ``start`` is when ``fit`` began; ``yardstick`` is what the network is to reach.
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

    @property
    def columns(self) -> Columns:
        """What the network must know of the columns."""
        return Columns(self.encoder.places, self.encoder.is_number)

    @property
    def n_outputs(self) -> int:
        """How many numbers are predicted: one, or one per class."""
        return len(self.target.base)

    def rows(self) -> Rows:
        """Return the rows on the device."""
        return put_rows(self.cells, self.labels, self.weights, self.device)

    def objective(self, full_share: float) -> Objective:
        """Return what predictions are judged by."""
        base = torch.tensor(self.target.network_base, dtype=torch.float32, device=self.device)
        return Objective(self.target.task, base, full_share)

    def time_left(self, time_limit: float) -> float:
        """Return the seconds that ``fit`` has left of its limit; the network's share is kept."""
        left = time_limit - (time.monotonic() - self.start)
        return max(left, time_limit * _TRAINING_TIME)


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

    def _class_factors(self, target: Target) -> Floats | None:
        """Return how much the rows of each class count, if not the same: (C,)."""
        del target
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

    def _finish(self, network: Any, rows: Rows, data: FitData) -> dict[str, Any]:
        """Return further attributes that end with the fit."""
        del network, rows, data
        return {}

    # --- fitting ------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        validation: tuple[Any, Any] | None = None,
    ) -> Self:
        """Learn from a table and its labels.

        Parameters
        ----------
        X : table (n, d)
            A DataFrame (numbers, strings, categories, booleans; cells may be missing),
            an array, or any table pandas can read through Arrow.
        y : array-like (n,)
            Labels.
        sample_weight : array-like (n,), optional
            How much each row counts.
        validation : (X, y), optional
            Rows that choose the best epoch; by default ``validation_fraction`` of the rows.

        Returns
        -------
        self
        """
        start = time.monotonic()
        table, weights = check_table(type(self).__name__, X, y, sample_weight)
        features = features_in(X, table)
        settings = self._resolve(len(table))
        target = self._read_target(y, weights)
        if (factors := self._class_factors(target)) is not None:
            weights = weights * factors[target.numbers.astype(int)]
            target = self._read_target(y, weights)  # the base value follows the weights
        data = self._encode_training(table, target, weights, validation, settings, start)
        data, settings = self._soften_labels(data, settings, table, y)
        fitted = self._train(data, settings)
        self._keep(fitted | features)
        return self

    def _encode_training(
        self,
        table: pd.DataFrame,
        target: Target,
        weights: Floats,
        validation: tuple[Any, Any] | None,
        settings: Hyperparameters,
        start: float,
    ) -> FitData:
        """Hold rows out, learn the columns from the others, and encode both."""
        with our_refusals():
            random = check_random_state(self.random_state)
        device = pick_device(self.device)
        held_out = target.hold_out(0 if validation else settings.validation_fraction, random)
        if not weights[~held_out].any():  # all rows that count would only be stopped by
            held_out[:] = False
        encoder = self._make_encoder()
        # Levels that only held-out rows have are learned as unseen, and need no warning.
        cells = encoder.fit(table[~held_out]).transform(table, warn=False)
        stop = None
        if validation:
            stop = _read_validation(
                validation, encoder, target, device, self._class_factors(target)
            )
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
            start=start,
        )

    def _train(self, data: FitData, settings: Hyperparameters) -> dict[str, Any]:
        """Make the network, train it, and return everything the fit is to leave."""
        network, dropout = self._make_seeded_network(data, settings)
        rows, phases = data.rows(), self._make_phases(data, settings)
        generator = torch.Generator().manual_seed(data.seed)

        def run(rows: Rows, phases: Sequence[Phase]) -> History:
            left = data.time_left(settings.time_limit)
            return train(network, rows, phases, generator, left, settings.verbose, dropout)

        history = run(rows, phases)
        check_finite(network)
        if data.yardstick and len(phases) == 1 and not history.interrupted:
            objective, deadline = data.objective(full_share=1.0), data.start + settings.time_limit
            history = train_further(
                network, rows, phases[0], data.yardstick, objective, history, run, deadline
            )
        warn_if_short(history, phases[0], len(rows), settings.time_limit)
        fitted = {"encoder_": data.encoder, "target_": data.target, "network_": network}
        return fitted | {"history_": history.epochs} | self._finish(network, rows, data)

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
        """Return the rows in the columns of training, and their cells [n, d]."""
        if isinstance(X, EncodedTable):
            return X.table, torch.from_numpy(X.cells)
        check_is_fitted(self)
        table = self.encoder_.align(read_table(X))
        if not self.encoder_.has_labels_of(X):  # names against positions: scikit-learn's warning
            validate_data(self, X, reset=False, skip_check_array=True)
        return table, torch.from_numpy(self.encoder_.transform(table))

    def _raw(self, X: Any) -> Floats:
        """Return the raw output of every row: [n, K]."""
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
            output_names=() if single else tuple(map(str, self.target_.labels)),
            error_std=errors if errors is None or not single else errors[..., 0],
            units=self.target_.units,
            groups=players.groups if players else {},
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "network_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags


def _read_validation(
    validation: tuple[Any, Any],
    encoder: TableEncoder,
    target: Target,
    device: torch.device,
    factors: Floats | None,
) -> Rows:
    """Return the rows that the user gave to choose the best epoch by."""
    if not isinstance(validation, list | tuple) or len(validation) != 2:
        raise InvalidInputError(
            f"validation must be a pair of a table and its labels, got {type(validation).__name__}"
        )
    table, labels = read_table(validation[0]), validation[1]
    with our_refusals():
        check_consistent_length(table, labels)
    numbers = target.read(labels)
    weights = np.ones(len(table)) if factors is None else factors[numbers.astype(int)]
    return put_rows(encoder.transform(table), numbers, weights, device)


def put_rows(cells: Any, targets: Floats, weights: Floats, device: torch.device) -> Rows:
    """Put encoded rows on the device; weights are relative, so their mean becomes 1."""
    tensors = (cells, targets, weights / weights.mean())
    return Rows(*(torch.as_tensor(part, dtype=torch.float32).to(device) for part in tensors))
