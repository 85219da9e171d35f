"""What all baselines share as estimators: settings, training and explanations."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from sasanet.arrays import Floats
from sasanet.baselines.network import BaselineNetwork, prediction_batch_loss
from sasanet.estimator.fitting.data import FitData
from sasanet.estimator.tabular import TabularModel
from sasanet.explanation.explanation import Explanation
from sasanet.network import inference
from sasanet.table.columns import Columns
from sasanet.table.encoder import TableEncoder
from sasanet.training.hyperparameters import Hyperparameters, resolve_training
from sasanet.training.loop import Phase
from sasanet.training.phases import early_stopping
from sasanet.validation import read_real, read_sizes


# A dataclass makes the constructor that scikit-learn requires: every setting in the signature,
# stored under its own name, and no logic.
@dataclass(eq=False, repr=False, kw_only=True)
class BaselineModel(TabularModel):
    """Common base of all baselines; each defines its network and, where needed, its loss."""

    learning_rate: float = 2e-3
    weight_decay: float = 1e-2
    batch_size: int | str = "auto"
    max_epochs: int | str = "auto"
    patience: int | str = "auto"
    validation_fraction: float | str = "auto"
    time_limit: float = math.inf
    categorical_features: Sequence[str | int] = ()
    device: str = "auto"
    random_state: int | np.random.RandomState | None = None
    verbose: bool = False

    def _make_baseline(self, columns: Columns, n_outputs: int) -> BaselineNetwork:
        raise NotImplementedError

    def _make_loss(self) -> Callable[..., Tensor]:
        """Return the loss of one batch, a function that also takes the objective."""
        return prediction_batch_loss

    def _resolve(self, n_rows: int) -> Hyperparameters:
        return resolve_training(self.get_params(deep=False), n_rows)

    def _make_encoder(self) -> TableEncoder:
        return TableEncoder("standard", categorical_features=self.categorical_features)

    def _make_network(self, data: FitData, settings: Hyperparameters) -> BaselineNetwork:
        del settings
        data.encoder.refuse_bags(type(self).__name__)
        return self._make_baseline(data.columns, data.n_outputs)

    def _make_phases(self, data: FitData, settings: Hyperparameters) -> Sequence[Phase]:
        objective = data.objective(full_share=1.0)  # rows are always complete
        phase = Phase(
            name="prediction",
            loss=partial(self._make_loss(), objective=objective),
            steps=settings.steps(data.n_trained),
            batch_size=settings.batch_size,
            learning_rate=settings.learning_rate,
            weight_decay=settings.weight_decay,
            early_stopping=early_stopping(data.validation, objective, settings),
        )
        return (phase,)

    def _finish(self, network: BaselineNetwork, data: FitData) -> dict[str, Any]:
        with torch.no_grad():
            network.after_training(data.rows_in_memory())
        return {}

    @property
    def base_value_(self) -> Floats:
        """φ0 per output, on the raw scale: the prediction without the attributions."""
        return self.target_.to_raw(self.network_.bias.detach().cpu().double().numpy())

    def explain(self, X: Any) -> Explanation:
        """Explain rows by the attributions of the network itself.

        Parameters
        ----------
        X : table (n, d)
            Rows to explain.

        Returns
        -------
        Explanation
            ``base_values + values.sum(axis=1)`` is the raw prediction, up to float32 rounding.
        """
        table, cells = self._encode(X)

        def attribute(part: Tensor, _: slice) -> tuple[Tensor, ...]:
            return (self.network_.attributions(part),)

        (values,) = inference.in_chunks(self.network_, cells, 1, attribute)
        return self._explanation(table, values.double().numpy() * self.target_.scale)


@dataclass(eq=False, repr=False, kw_only=True)
class LayeredModel(BaselineModel):
    """A baseline whose network is defined by its hidden layers and their dropout."""

    kind: ClassVar[type[Any]]  # constructed from columns, outputs, layers and dropout

    layers: Sequence[int] = ()
    dropout: float = 0.1

    def _make_baseline(self, columns: Columns, n_outputs: int) -> BaselineNetwork:
        dropout = read_real(self.get_params(deep=False), "dropout", below=1)
        layers = read_sizes("layers", self.layers, least=0)
        network: BaselineNetwork = self.kind(columns, n_outputs, layers, dropout)
        return network
