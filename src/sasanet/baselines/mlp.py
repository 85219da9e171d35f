"""A multi-layer perceptron: the black box of the comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from sasanet.baselines.estimator import LayeredModel
from sasanet.baselines.network import BaselineNetwork, InputUnits
from sasanet.errors import InvalidInputError
from sasanet.estimator.classifier_regressor import TabularClassifier, TabularRegressor
from sasanet.explanation.explanation import Explanation
from sasanet.network.layers import feed_forward
from sasanet.table.columns import Columns


class MLP(BaselineNetwork):
    """f(x) = bias + MLP(input units of x); it has no attributions of its own.

    Shape: cells [B, N] → [B, K].
    """

    def __init__(
        self, columns: Columns, n_outputs: int, layers: Sequence[int], dropout: float
    ) -> None:
        super().__init__(columns, n_outputs)
        self.units = InputUnits(columns)
        sizes = [self.units.n_units, *layers, n_outputs]
        self.layers = feed_forward(sizes, nn.ReLU(), dropout)

    def forward(self, cells: Tensor) -> Tensor:
        """Return the output of every row."""
        return self.bias + self.layers(self.units(cells))


@dataclass(eq=False, repr=False, kw_only=True)
class MLPModel(LayeredModel):
    """Settings of the MLP estimators."""

    kind = MLP

    layers: Sequence[int] = (256, 128)

    def explain(self, X: Any) -> Explanation:
        """Raise an error: a multi-layer perceptron has no attributions of its own."""
        del X
        raise InvalidInputError(
            f"explain needs a self-explaining network, got {type(self).__name__}, a black box; "
            "explain its predictions with sasanet.posthoc"
        )


class MLPClassifier(TabularClassifier, MLPModel):
    """A multi-layer perceptron for classes; explain it with :mod:`sasanet.posthoc`.

    Parameters
    ----------
    layers : sequence of int, default=(256, 128)
        Sizes of the hidden layers.
    dropout : float, default=0.1
        Dropout after every hidden layer.
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
    missing number becomes the training mean; a missing or unseen level is all zeros.

    Examples
    --------
    >>> from sasanet.datasets import load_penguins
    >>> X, y = load_penguins()
    >>> MLPClassifier(max_epochs=2, random_state=0).fit(X, y).predict_proba(X).shape
    (344, 3)
    """


class MLPRegressor(TabularRegressor, MLPModel):
    """A multi-layer perceptron for quantities; see :class:`MLPClassifier`.

    Parameters
    ----------
    layers : sequence of int, default=(256, 128)
        Sizes of the hidden layers.
    dropout : float, default=0.1
        Dropout after every hidden layer.
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
    missing number becomes the training mean; a missing or unseen level is all zeros.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(20.0).reshape(10, 2)
    >>> MLPRegressor(max_epochs=2, random_state=0).fit(X, X[:, 0]).predict(X).shape
    (10,)
    """
