"""A table and labels in, a fitted network out: what every network estimator shares.

``fit`` reads: check, encode, configure, train, keep. What an estimator adds is its network and how
that is trained; what classifier and regressor do not share, the meaning of the target, is in
:mod:`sasanet.tasks`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
from torch import Tensor

from sasanet import inference
from sasanet.contract import Columns, TabularNetwork
from sasanet.encoder import TableEncoder
from sasanet.errors import InterruptedFitWarning, InvalidInputError
from sasanet.explanation import Explanation
from sasanet.recipe import Schedule
from sasanet.table import check_unique_names, read_table
from sasanet.targets import Target
from sasanet.training import Rows, TrainingConfig, train

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Material:
    """What one fit learns from: encoded rows with labels and weights, and rows to stop by."""

    cells: NDArray[np.float32]
    labels: Floats
    weights: Floats
    validation: Rows | None
    n_rows: int  # with those held out
    device: torch.device
    seed: int


class TabularModel(BaseEstimator):
    """What all network estimators share.

    A subclass resolves its parameters (:meth:`_resolve`), makes its encoder and trains its network;
    :mod:`sasanet.tasks` says how to read labels and what predictions are called.
    """

    device: str
    categorical: Sequence[str | int]
    random_state: int | np.random.RandomState | None
    network_: Any

    # --- what a subclass says -----------------------------------------------------------------

    def _resolve(self, n_rows: int) -> Schedule:
        """Check the parameters and replace every "auto"."""
        raise NotImplementedError

    def _make_encoder(self) -> TableEncoder:
        raise NotImplementedError

    def _train(self, material: Material) -> None:
        """Train a network and :meth:`_keep` it."""
        raise NotImplementedError

    def _read_target(self, y: Any, weights: Floats) -> Target:
        raise NotImplementedError

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
        table, y, weights = self._check(X, y, sample_weight)
        schedule = self._resolve(len(table))
        random = check_random_state(self.random_state)
        device = inference.pick_device(self.device)
        target = self._read_target(y, weights)
        held_out = target.hold_out(0 if validation else schedule.validation_fraction, random)
        encoder = self._make_encoder()
        # Levels that only held-out rows have are learned as unseen, and are no news to the user.
        cells = encoder.fit(table[~held_out]).transform(table, warn=False)
        stop = None
        if validation:
            stop = self._validation_rows(validation, encoder, target, device)
        elif weights[held_out].any():
            stop = put_rows(cells[held_out], target.numbers[held_out], weights[held_out], device)
        self.encoder_, self.target_ = encoder, target.forget_labels()
        learn = cells[~held_out], target.numbers[~held_out], weights[~held_out]
        seed = random.randint(2**31 - 1)
        self._train(Material(*learn, stop, len(table), device, seed))
        return self

    def _check(self, X: Any, y: Any, sample_weight: Any) -> tuple[pd.DataFrame, Any, Floats]:
        """Refuse what cannot be learned from; remember the columns the scikit-learn way."""
        table = read_table(X)
        check_unique_names(table)  # before scikit-learn meets them
        if y is None:
            raise InvalidInputError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        check_consistent_length(table, y)
        validate_data(self, table if hasattr(X, "columns") else X, skip_check_array=True)
        self.n_features_in_ = table.shape[1]
        weights = _check_sample_weight(sample_weight, np.empty((len(table), 1)), dtype=np.float64)
        if (weights < 0).any() or weights.sum() <= 0:
            raise InvalidInputError(
                "sample_weight must be at least 0 and not all 0, "
                f"however: the smallest is {weights.min()} and the sum {weights.sum()}"
            )
        return table, y, weights

    def _validation_rows(
        self, validation: tuple[Any, Any], encoder: TableEncoder, target: Target, device: Any
    ) -> Rows:
        table, labels = read_table(validation[0]), validation[1]
        check_consistent_length(table, labels)
        return put_rows(encoder.transform(table), target.read(labels), np.ones(len(table)), device)

    def _keep(
        self,
        make_network: Callable[[], TabularNetwork],
        rows: Rows,
        config: TrainingConfig,
        material: Material,
    ) -> None:
        """Make the network, train it on these rows and keep it with its history."""
        device, seed = material.device, material.seed
        forked = [device] if device.type == "cuda" else []
        with torch.random.fork_rng(forked):  # weights and dropout, without a global seed
            torch.manual_seed(seed)
            network = make_network().to(device)
            generator = torch.Generator().manual_seed(seed)
            history = train(network, rows, material.validation, config, generator)
        self.network_, self.history_ = network, history.epochs
        if history.interrupted:
            warnings.warn(
                "Training was interrupted: the model is the best state so far. "
                "Call fit again to train to the end.",
                InterruptedFitWarning,
                stacklevel=4,
            )

    @property
    def _columns(self) -> Columns:
        return Columns(self.encoder_.places, self.encoder_.is_number)

    # --- using --------------------------------------------------------------------------------

    @property
    def base_value_(self) -> Floats:
        """φ0 per output, raw scale: what is predicted when nothing is known."""
        return np.array(self.target_.base)

    def _encode(self, X: Any) -> tuple[pd.DataFrame, Tensor]:
        check_is_fitted(self)
        table = read_table(X)
        if not hasattr(X, "columns"):  # names are the encoder's: it repairs a changed order
            validate_data(self, X, reset=False, skip_check_array=True)
        return table, torch.from_numpy(self.encoder_.transform(table))

    def _raw(self, X: Any) -> Floats:
        """Return the raw output of every row: [n, K]."""
        _, cells = self._encode(X)
        return self.target_.to_raw(inference.outputs(self.network_, cells).numpy())

    def _explanation(
        self, table: pd.DataFrame, values: Floats, errors: Floats | None = None
    ) -> Explanation:
        """Name raw attributions [n, d, K] of a table's rows; with one output the last axis goes."""
        names = self.encoder_.names
        table = table.set_axis([str(label) for label in table.columns], axis=1)
        single = len(self.base_value_) == 1
        base = np.tile(self.base_value_, (len(values), 1))
        return Explanation(
            values=values[..., 0] if single else values,
            base_values=base[:, 0] if single else base,
            data=table[list(names)] if self.encoder_.named else table,
            feature_names=names,
            output_names=() if single else tuple(map(str, self.target_.labels)),
            error_std=errors if errors is None or not single else errors[..., 0],
            units=self.target_.units,
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "network_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags


def put_rows(cells: Any, targets: Floats, weights: Floats, device: Any) -> Rows:
    """Put encoded rows on the device; weights are relative, so their mean becomes 1."""
    tensors = (cells, targets, weights / weights.mean())
    return Rows(*(torch.as_tensor(part, dtype=torch.float32).to(device) for part in tensors))
