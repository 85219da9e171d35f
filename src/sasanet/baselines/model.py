"""A baseline network in, an estimator out: the settings and the explanations all of them share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from sasanet import inference
from sasanet.baselines.inputs import BaselineNetwork, prediction_step
from sasanet.contract import WHOLE
from sasanet.encoder import TableEncoder
from sasanet.errors import InvalidInputError
from sasanet.explanation import Explanation
from sasanet.fitting import Floats, Material, TabularModel, put_rows
from sasanet.recipe import (
    DECAY_TEXT,
    PATIENCE_TEXT,
    PEAK_TEXT,
    RUNNING_TEXT,
    Schedule,
    read_real,
    schedule,
)
from sasanet.training import Phase, Step, TrainingConfig

PARAMETERS = f"""learning_rate : float, default=2e-3
        {PEAK_TEXT}
    {DECAY_TEXT}
    batch_size, max_epochs : int or "auto", default="auto"
        Chosen by the number of rows; the rule is in :mod:`sasanet.recipe`.
    {PATIENCE_TEXT}
    validation_fraction : float or "auto", default="auto"
        Share of the rows that choose the best epoch; "auto" is 0.1 from 10,000 rows, else 0.2.
    {RUNNING_TEXT}

    Notes
    -----
    Cells may be missing: a number becomes the training mean, a category its reserved place (that
    of levels never seen). Categories are one-hot but for NAM and SSCN, so many thousands of levels
    cost memory. Attributions are on the scale of the raw output: log-odds, or the
    target's own units."""


# A dataclass writes the constructor scikit-learn wants: every setting in the signature, kept under
# its own name, and no logic.
@dataclass(eq=False, repr=False, kw_only=True)
class BaselineModel(TabularModel):
    """What all baselines share; one says which network it is and, if need be, its loss."""

    learning_rate: float = 2e-3
    weight_decay: float = 1e-2
    batch_size: int | str = "auto"
    max_epochs: int | str = "auto"
    patience: int | str = "auto"
    validation_fraction: float | str = "auto"
    time_limit: float = math.inf
    categorical: Sequence[str | int] = ()
    device: str = "auto"
    random_state: int | np.random.RandomState | None = None
    verbose: bool = False

    def _make_network(self) -> BaselineNetwork:
        raise NotImplementedError

    def _make_step(self) -> Step:
        """Return the loss of one batch."""
        return prediction_step

    def _resolve(self, n_rows: int) -> Schedule:
        return schedule(self.get_params(deep=False), n_rows)

    def _make_encoder(self) -> TableEncoder:
        return TableEncoder("standard", categorical=self.categorical)

    @property
    def _n_outputs(self) -> int:
        return len(self.target_.base)

    def _train(self, material: Material) -> None:
        plan, device = self._resolve(material.n_rows), material.device
        rows = put_rows(material.cells, material.labels, material.weights, device)
        steps = plan.steps(len(rows))
        config = TrainingConfig(
            task=self.target_.task,
            base=torch.tensor(self.target_.network_base, dtype=torch.float32, device=device),
            phases=(Phase("prediction", WHOLE, steps, plan.batch_size, plan.learning_rate),),
            full_share=1.0,  # rows are always complete
            weight_decay=plan.weight_decay,
            patience=plan.patience,
            time_limit=plan.time_limit,
            verbose=plan.verbose,
            steps={"prediction": self._make_step()},
        )
        self._keep(self._make_network, rows, config, material)
        with torch.no_grad():
            self.network_.settle(rows)

    @property
    def base_value_(self) -> Floats:
        """φ0 per output, raw scale: what is predicted beside the attributions."""
        return self.target_.to_raw(self.network_.bias.detach().cpu().double().numpy())

    def explain(self, X: Any) -> Explanation:
        """Return the network's own attribution of every prediction.

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
    """A baseline whose network is asked for by its hidden layers and their dropout."""

    kind: ClassVar[type[Any]]  # made with columns, outputs, layers and dropout

    layers: Sequence[int] = ()
    dropout: float = 0.1

    def _make_network(self) -> BaselineNetwork:
        dropout = read_real(self.get_params(deep=False), "dropout", below=1)
        layers = read_sizes("layers", self.layers, least=0)
        network: BaselineNetwork = self.kind(self._columns, self._n_outputs, layers, dropout)
        return network


def read_sizes(name: str, sizes: Any, least: int = 1) -> tuple[int, ...]:
    """Return sizes of layers: a tuple of so many whole numbers of at least 1, or more."""
    listed = isinstance(sizes, list | tuple)
    whole = listed and all(isinstance(n, int | np.integer) and n >= 1 for n in sizes)
    if not whole or len(sizes) < least:
        must = f"hold {least} or more whole numbers of at least 1"
        raise InvalidInputError(f"{name} must {must}, however: {sizes!r}")
    return tuple(map(int, sizes))


def read_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """Return a setting that must be one of some words."""
    if value not in choices:
        raise InvalidInputError(f"{name} must be one of {choices}, however: {value!r}")
    return str(value)
