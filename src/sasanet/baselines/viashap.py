"""ViaSHAP: a network that emits Shapley values and predicts their sum (Alkhatib et al., 2025)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from sasanet.baselines.estimator import BaselineModel
from sasanet.baselines.network import AdditiveNetwork, InputUnits, prediction_loss
from sasanet.estimator.classifier_regressor import TabularClassifier, TabularRegressor
from sasanet.network.coalitions import kernel_coalitions
from sasanet.network.layers import feed_forward
from sasanet.table.columns import Columns
from sasanet.training.loop import Rows
from sasanet.training.losses import Objective, weighted_mean
from sasanet.validation import read_count, read_real, read_sizes


class ViaSHAP(AdditiveNetwork):
    """f(x) = bias + Σ_i φ_i(x), with all φ from one multi-layer perceptron.

    Constraint, by a loss: φ is the Shapley value of the network's own game v(S) = f(x_S), absent
    cells at their reference. Efficiency holds exactly: v(∅) = bias.

    Shape: cells [B, N] → [B, K].
    """

    def __init__(self, columns: Columns, n_outputs: int, layers: Sequence[int]) -> None:
        super().__init__(columns, n_outputs)
        self.units = InputUnits(columns)
        sizes = [self.units.n_units, *layers, len(columns) * n_outputs]
        # NOTE[DIFF]: no batch normalisation: the masked rows of the Shapley loss would shift the
        # statistics of the complete ones.
        self.layers = feed_forward(sizes, nn.ReLU(), 0.0)

    def attributions(self, cells: Tensor) -> Tensor:
        """Return φ: the outputs for the row minus those for the reference row."""
        # NOTE[DIFF]: the original only learns that the reference row's attributions sum to 0.
        reference = torch.full_like(cells[:1], math.nan)
        found = self.layers(self.units(torch.cat([cells, reference])))
        return (found[:-1] - found[-1:]).unflatten(1, (len(self.columns), self.n_outputs))


def viashap_loss(
    network: ViaSHAP,
    rows: Rows,
    generator: torch.Generator,
    objective: Objective,
    n_pairs: int,
    shapley_weight: float,
) -> Tensor:
    """Return the prediction loss and the Shapley loss (v(S) − v(∅) − Σ_{i∈S} φ_i(x))²."""
    found = network.attributions(rows.cells)
    loss = prediction_loss(network.bias + found.sum(1), rows, objective)
    if len(network.columns) == 1:  # a single player gets everything
        return loss
    players = torch.ones_like(rows.present)  # missing cells too, at their reference
    kept = kernel_coalitions(players, n_pairs, generator)
    values = network.values(rows.cells, kept) - network.bias
    gaps = values - torch.einsum("bmn,bnk->bmk", kept.to(found.dtype), found)
    return loss + shapley_weight * weighted_mean(gaps.square(), rows.weights)


@dataclass(eq=False, repr=False, kw_only=True)
class ViaSHAPModel(BaselineModel):
    """Settings of the ViaSHAP estimators."""

    layers: Sequence[int] = (64, 128, 64)
    coalitions: int = 16
    shapley_weight: float = 1.0

    def _make_baseline(self, columns: Columns, n_outputs: int) -> ViaSHAP:
        return ViaSHAP(columns, n_outputs, read_sizes("layers", self.layers, least=0))

    def _make_loss(self) -> Callable[..., Tensor]:
        settings = self.get_params(deep=False)
        n_pairs = math.ceil(read_count(settings, "coalitions") / 2)
        weight = read_real(settings, "shapley_weight")
        return partial(viashap_loss, n_pairs=n_pairs, shapley_weight=weight)


class ViaSHAPClassifier(TabularClassifier, ViaSHAPModel):
    """ViaSHAP for classes: learned Shapley values whose sum is the prediction.

    Parameters
    ----------
    layers : sequence of int, default=(64, 128, 64)
        Sizes of the hidden layers.
    coalitions : int, default=16
        Coalitions per row and step, half of them the complements of the others.
    shapley_weight : float, default=1.0
        Weight of the Shapley loss beside the prediction loss.
    learning_rate : float, default=2e-3
        Peak learning rate: a short warm-up, then half a cosine down to zero.
    weight_decay : float, default=1e-2
        Weight decay of the weight matrices.
    batch_size, max_epochs : int or "auto", default="auto"
        Rows per step and passes over the rows; "auto" follows the number of rows, by the rule in
        :mod:`sasanet.training.hyperparameters`.
    patience : int or "auto", default="auto"
        Epochs without a better validation loss before training stops; "auto" never stops early, so
        that the learning rate reaches zero. The best weights are kept.
    validation_fraction : float or "auto", default="auto"
        Share of the rows that are held out to choose the best epoch; "auto" is 0.1 from 10,000
        rows on, else 0.2.
    time_limit : float, default=inf
        Seconds that training may take; the learning rate reaches zero in that time.
    categorical_features : sequence of str or int, default=()
        Number columns to treat as categories, such as codes.
    device : str, default="auto"
        ``"cpu"``, ``"cuda"``, ``"mps"``, or ``"auto"`` for the fastest one available.
    random_state : int, RandomState or None, default=None
        Seed; the same one gives the same weights on CPU.
    verbose : bool, default=False
        Whether to show a progress bar.

    Notes
    -----
    Categories are one-hot encoded, so columns with many thousands of levels take much memory. A
    missing number becomes the training mean; a missing or unseen level is all zeros. Attributions
    are in log-odds.

    Examples
    --------
    >>> from sasanet.datasets import load_penguins
    >>> X, y = load_penguins()
    >>> ViaSHAPClassifier(max_epochs=2, random_state=0).fit(X, y).explain(X).values.shape
    (344, 7, 3)
    """


class ViaSHAPRegressor(TabularRegressor, ViaSHAPModel):
    """ViaSHAP for quantities; see :class:`ViaSHAPClassifier`.

    Parameters
    ----------
    layers : sequence of int, default=(64, 128, 64)
        Sizes of the hidden layers.
    coalitions : int, default=16
        Coalitions per row and step, half of them the complements of the others.
    shapley_weight : float, default=1.0
        Weight of the Shapley loss beside the prediction loss.
    learning_rate : float, default=2e-3
        Peak learning rate: a short warm-up, then half a cosine down to zero.
    weight_decay : float, default=1e-2
        Weight decay of the weight matrices.
    batch_size, max_epochs : int or "auto", default="auto"
        Rows per step and passes over the rows; "auto" follows the number of rows, by the rule in
        :mod:`sasanet.training.hyperparameters`.
    patience : int or "auto", default="auto"
        Epochs without a better validation loss before training stops; "auto" never stops early, so
        that the learning rate reaches zero. The best weights are kept.
    validation_fraction : float or "auto", default="auto"
        Share of the rows that are held out to choose the best epoch; "auto" is 0.1 from 10,000
        rows on, else 0.2.
    time_limit : float, default=inf
        Seconds that training may take; the learning rate reaches zero in that time.
    categorical_features : sequence of str or int, default=()
        Number columns to treat as categories, such as codes.
    device : str, default="auto"
        ``"cpu"``, ``"cuda"``, ``"mps"``, or ``"auto"`` for the fastest one available.
    random_state : int, RandomState or None, default=None
        Seed; the same one gives the same weights on CPU.
    verbose : bool, default=False
        Whether to show a progress bar.

    Notes
    -----
    Categories are one-hot encoded, so columns with many thousands of levels take much memory. A
    missing number becomes the training mean; a missing or unseen level is all zeros. Attributions
    are in the units of the target.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(20.0).reshape(10, 2)
    >>> ViaSHAPRegressor(max_epochs=2, random_state=0).fit(X, X[:, 0]).explain(X).values.shape
    (10, 2)
    """
