"""A multi-layer perceptron: the black box of the comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from sasanet.baselines.estimator import LayeredModel
from sasanet.baselines.network import BaselineNetwork, Units
from sasanet.errors import InvalidInputError
from sasanet.estimator.classifier_regressor import TabularClassifier, TabularRegressor
from sasanet.explanation.explanation import Explanation
from sasanet.network.layers import feed_forward
from sasanet.table.columns import Columns


class MLP(BaselineNetwork):
    """f(x) = bias + MLP(units of x); it has no attribution of its own.

    Shape: cells [B, N] → [B, K].
    """

    def __init__(
        self, columns: Columns, n_outputs: int, layers: Sequence[int], dropout: float
    ) -> None:
        super().__init__(columns, n_outputs)
        self.units = Units(columns)
        sizes = [self.units.n_units, *layers, n_outputs]
        self.layers = feed_forward(sizes, nn.ReLU(), dropout)

    def forward(self, cells: Tensor) -> Tensor:
        """Return the output of every row."""
        return self.bias + self.layers(self.units(cells))


@dataclass(eq=False, repr=False, kw_only=True)
class MLPModel(LayeredModel):
    """What both perceptrons share."""

    kind = MLP

    layers: Sequence[int] = (256, 128)

    def explain(self, X: Any) -> Explanation:
        """Refuse: a perceptron has no attribution of its own."""
        del X
        raise InvalidInputError(
            f"explain needs a self-attributing network, got {type(self).__name__} is a black "
            "box; explain its predictions with sasanet.posthoc"
        )


class MLPClassifier(TabularClassifier, MLPModel):
    """A multi-layer perceptron for classes; explain it with :mod:`sasanet.posthoc`.

    Parameters
    ----------
    layers : sequence of int, default=(256, 128)
        Hidden units.
    dropout : float, default=0.1
        Dropout behind every hidden layer.
    learning_rate : float, default=2e-3
        Peak learning rate: a short warm-up, then half a cosine down to zero.
    weight_decay : float, default=1e-2
        Decay of the feed-forward matrices.
    batch_size, max_epochs : int or "auto", default="auto"
        Chosen by the number of rows; the rule is in :mod:`sasanet.training.hyperparameters`.
    patience : int or "auto", default="auto"
        Epochs without a better validation loss before training stops; "auto" never stops early, so
        that the learning rate reaches zero. The best weights are kept.
    validation_fraction : float or "auto", default="auto"
        Share of the rows that choose the best epoch; "auto" is 0.1 from 10,000 rows, else 0.2.
    time_limit : float, default=inf
        Seconds; the learning rate reaches zero in time.
    categorical_features : sequence of str or int, default=()
        Number columns that are codes, to be read as categories.
    device : str, default="auto"
        ``"cpu"``, ``"cuda"``, ``"mps"``, or the fastest one present.
    random_state : int, RandomState or None, default=None
        One seed gives equal weights on CPU.
    verbose : bool, default=False
        Show a progress bar.

    Notes
    -----
    Cells may be missing: a number becomes the training mean, a category its reserved place (that
    of levels never seen). Categories are one-hot but for NAM and SSCN, so many thousands of levels
    cost memory. Attributions are on the scale of the raw output: log-odds, or the
    target's own units.

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
        Hidden units.
    dropout : float, default=0.1
        Dropout behind every hidden layer.
    learning_rate : float, default=2e-3
        Peak learning rate: a short warm-up, then half a cosine down to zero.
    weight_decay : float, default=1e-2
        Decay of the feed-forward matrices.
    batch_size, max_epochs : int or "auto", default="auto"
        Chosen by the number of rows; the rule is in :mod:`sasanet.training.hyperparameters`.
    patience : int or "auto", default="auto"
        Epochs without a better validation loss before training stops; "auto" never stops early, so
        that the learning rate reaches zero. The best weights are kept.
    validation_fraction : float or "auto", default="auto"
        Share of the rows that choose the best epoch; "auto" is 0.1 from 10,000 rows, else 0.2.
    time_limit : float, default=inf
        Seconds; the learning rate reaches zero in time.
    categorical_features : sequence of str or int, default=()
        Number columns that are codes, to be read as categories.
    device : str, default="auto"
        ``"cpu"``, ``"cuda"``, ``"mps"``, or the fastest one present.
    random_state : int, RandomState or None, default=None
        One seed gives equal weights on CPU.
    verbose : bool, default=False
        Show a progress bar.

    Notes
    -----
    Cells may be missing: a number becomes the training mean, a category its reserved place (that
    of levels never seen). Categories are one-hot but for NAM and SSCN, so many thousands of levels
    cost memory. Attributions are on the scale of the raw output: log-odds, or the
    target's own units.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(20.0).reshape(10, 2)
    >>> MLPRegressor(max_epochs=2, random_state=0).fit(X, X[:, 0]).predict(X).shape
    (10,)
    """
