"""Value composition: dominance × single-feature value (Sun et al., 2021)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from sasanet.baselines.inputs import AdditiveNetwork
from sasanet.baselines.model import PARAMETERS, BaselineModel
from sasanet.contract import Columns
from sasanet.errors import InvalidInputError
from sasanet.marginal import feed_forward
from sasanet.recipe import read_count, read_real
from sasanet.tasks import TabularClassifier, TabularRegressor
from sasanet.tokens import MLPTokens

_PARAMETERS = f"""
    Parameters
    ----------
    width : int, default=64
        Width of the cell vectors and of the value network.
    heads : int, default=4
        Attention heads of the dominance network; they divide the width.
    dropout : float, default=0.1
        Dropout of attention weights and inside the value network.
    {PARAMETERS}
"""


class SSCN(AdditiveNetwork):
    """f(x) = bias + Σ_i d_i(x) · v(x_i).

    Constraints: φ_i = d_i(x) · v_i(x_i); the value v_i depends on x_i only; the dominances d_i are
    positive and Σ_i d_i = 1.

    The original also has a graph of skills and predicts lower and upper salaries: neither exists
    for a table.

    Shape: cells [B, N] → [B, K].
    """

    def __init__(
        self, columns: Columns, n_outputs: int, width: int, heads: int, dropout: float
    ) -> None:
        super().__init__(columns, n_outputs)
        # Each column has vectors of its own, so the shared value network knows which one it values.
        self.tokens = MLPTokens(columns.places, columns.is_number, width, (width,), nn.ReLU())
        self.value = feed_forward([width, width, n_outputs], nn.ReLU(), dropout)
        self.attention = nn.MultiheadAttention(width, heads, dropout, batch_first=True)
        self.dominance = nn.Linear(width, 1, bias=False)

    def dominances(self, tokens: Tensor) -> Tensor:
        """Return how much each feature counts in this row: [B, N, D] → [B, N]."""
        context, _ = self.attention(tokens, tokens, tokens, need_weights=False)
        return torch.softmax(self.dominance(torch.tanh(context))[..., 0], 1)

    def single_values(self, tokens: Tensor) -> Tensor:
        """Return what each cell says by itself: [B, N, D] → [B, N, K]."""
        # Dominances are about 1/N at first: times N, log-odds of any size are within reach.
        return len(self.columns) * self.value(tokens)

    def attributions(self, cells: Tensor) -> Tensor:
        """Return φ_i = d_i(x) · v_i(x_i)."""
        tokens = self.tokens(cells)
        return self.dominances(tokens)[..., None] * self.single_values(tokens)


@dataclass(eq=False, repr=False, kw_only=True)
class SSCNModel(BaselineModel):
    """What both value composition networks share."""

    width: int = 64
    heads: int = 4
    dropout: float = 0.1

    def _make_network(self) -> SSCN:
        settings = self.get_params(deep=False)
        width, heads = read_count(settings, "width"), read_count(settings, "heads")
        if width % heads:
            raise InvalidInputError(f"heads must divide width={width}, however: {heads}")
        dropout = read_real(settings, "dropout", below=1)
        return SSCN(self._columns, self._n_outputs, width, heads, dropout)


class SSCNClassifier(TabularClassifier, SSCNModel):  # noqa: D101 - __doc__ is built
    __doc__ = f"""Value composition for classes: a weighted mean of what each cell says alone.
{_PARAMETERS}
    Examples
    --------
    >>> from sasanet.datasets import load_penguins
    >>> X, y = load_penguins()
    >>> SSCNClassifier(max_epochs=2, random_state=0).fit(X, y).explain(X).values.shape
    (344, 7, 3)
    """


class SSCNRegressor(TabularRegressor, SSCNModel):  # noqa: D101 - __doc__ is built
    __doc__ = f"""Value composition for quantities; see :class:`SSCNClassifier`.
{_PARAMETERS}
    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(20.0).reshape(10, 2)
    >>> SSCNRegressor(max_epochs=2, random_state=0).fit(X, X[:, 0]).explain(X).values.shape
    (10, 2)
    """
