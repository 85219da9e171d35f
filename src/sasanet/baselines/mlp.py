"""A multi-layer perceptron: the black box of the comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from sasanet.baselines.inputs import BaselineNetwork, Units
from sasanet.baselines.model import PARAMETERS, LayeredModel
from sasanet.contract import Columns
from sasanet.errors import InvalidInputError
from sasanet.explanation import Explanation
from sasanet.marginal import feed_forward
from sasanet.tasks import TabularClassifier, TabularRegressor

_PARAMETERS = f"""
    Parameters
    ----------
    layers : sequence of int, default=(256, 128)
        Hidden units.
    dropout : float, default=0.1
        Dropout behind every hidden layer.
    {PARAMETERS}
"""


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
            f"explain needs a self-attributing network, however: {type(self).__name__} is a black "
            "box; explain its predictions with sasanet.posthoc"
        )


class MLPClassifier(TabularClassifier, MLPModel):  # noqa: D101 - __doc__ is built
    __doc__ = f"""A multi-layer perceptron for classes; explain it with :mod:`sasanet.posthoc`.
{_PARAMETERS}
    Examples
    --------
    >>> from sasanet.datasets import load_penguins
    >>> X, y = load_penguins()
    >>> MLPClassifier(max_epochs=2, random_state=0).fit(X, y).predict_proba(X).shape
    (344, 3)
    """


class MLPRegressor(TabularRegressor, MLPModel):  # noqa: D101 - __doc__ is built
    __doc__ = f"""A multi-layer perceptron for quantities; see :class:`MLPClassifier`.
{_PARAMETERS}
    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(20.0).reshape(10, 2)
    >>> MLPRegressor(max_epochs=2, random_state=0).fit(X, X[:, 0]).predict(X).shape
    (10,)
    """
