"""Self-explaining networks: coefficients that are the gradient (Alvarez-Melis & Jaakkola, 2018)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from sasanet.baselines.estimator import LayeredModel
from sasanet.baselines.network import AdditiveNetwork, InputUnits, prediction_loss
from sasanet.estimator.classifier_regressor import TabularClassifier, TabularRegressor
from sasanet.network.layers import feed_forward
from sasanet.table.columns import Columns
from sasanet.training.loop import Rows
from sasanet.training.losses import Objective, weighted_mean
from sasanet.validation import read_real


class SENN(AdditiveNetwork):
    """f(x) = bias + Σ_u θ_u(x) · x_u over the input units; φ_i sums over the units of column i.

    Constraint, by a penalty: θ_u(x) ≈ ∂f/∂x_u, so φ_i / x_i ≈ ∂f/∂x_i for numbers.

    Shape: cells [B, N] → [B, K].
    """

    def __init__(
        self, columns: Columns, n_outputs: int, layers: Sequence[int], dropout: float
    ) -> None:
        super().__init__(columns, n_outputs)
        self.units = InputUnits(columns)
        sizes = [self.units.n_units, *layers, self.units.n_units * n_outputs]
        self.layers = feed_forward(sizes, nn.Tanh(), dropout)

    def coefficients(self, units: Tensor) -> Tensor:
        """Return θ: [B, U] → [B, U, K]."""
        return self.layers(units).unflatten(1, (self.units.n_units, self.n_outputs))

    def attributions(self, cells: Tensor) -> Tensor:
        """Return φ_i = Σ_{u of column i} θ_u(x) · x_u."""
        units = self.units(cells)
        return self.units.by_column(self.coefficients(units) * units[..., None])


def with_gradients(network: SENN, units: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return outputs, coefficients and ∂f/∂x, each as a function of the weights.

    Shape: units [B, U] → [B, K], [B, U, K], [B, U, K].
    """
    units = units.detach().requires_grad_()
    theta = network.coefficients(units)
    outputs = network.bias + (theta * units[..., None]).sum(1)
    slopes = [
        torch.autograd.grad(output.sum(), units, create_graph=True)[0]
        for output in outputs.unbind(1)
    ]
    return outputs, theta, torch.stack(slopes, 2)


def senn_loss(
    network: SENN,
    rows: Rows,
    generator: torch.Generator,
    objective: Objective,
    gradient_penalty: float,
) -> Tensor:
    """Return the prediction loss and the penalty ‖∇_x f − θ‖.

    NOTE[DIFF]: the gradient is that of the raw output, not of the probability, and the norm is
    taken row by row, so that it does not grow with the batch.
    """
    del generator
    outputs, theta, slopes = with_gradients(network, network.units(rows.cells))
    # The norm has no gradient at zero; a tiny constant gives it one.
    gaps = ((slopes - theta).square().sum((1, 2)) + 1e-12).sqrt()
    return prediction_loss(outputs, rows, objective) + gradient_penalty * weighted_mean(
        gaps, rows.weights
    )


@dataclass(eq=False, repr=False, kw_only=True)
class SENNModel(LayeredModel):
    """Settings of the SENN estimators."""

    kind = SENN

    layers: Sequence[int] = (64, 64)
    gradient_penalty: float = 0.01

    def _make_loss(self) -> Callable[..., Tensor]:
        penalty = read_real(self.get_params(deep=False), "gradient_penalty")
        return partial(senn_loss, gradient_penalty=penalty)


class SENNClassifier(TabularClassifier, SENNModel):
    """A self-explaining network for classes: attribution ≈ gradient × standard score.

    Parameters
    ----------
    layers : sequence of int, default=(64, 64)
        Sizes of the hidden tanh layers of the coefficient network.
    dropout : float, default=0.1
        Dropout after every hidden layer.
    gradient_penalty : float, default=0.01
        Weight of the distance between coefficients and gradient.
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
    >>> SENNClassifier(max_epochs=2, random_state=0).fit(X, y).explain(X).values.shape
    (344, 7, 3)
    """


class SENNRegressor(TabularRegressor, SENNModel):
    """A self-explaining network for quantities; see :class:`SENNClassifier`.

    Parameters
    ----------
    layers : sequence of int, default=(64, 64)
        Sizes of the hidden tanh layers of the coefficient network.
    dropout : float, default=0.1
        Dropout after every hidden layer.
    gradient_penalty : float, default=0.01
        Weight of the distance between coefficients and gradient.
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
    >>> SENNRegressor(max_epochs=2, random_state=0).fit(X, X[:, 0]).explain(X).values.shape
    (10, 2)
    """
