"""Value composition: dominance × single-feature value (Sun et al., 2021)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from sasanet.baselines.estimator import BaselineModel
from sasanet.baselines.network import AdditiveNetwork
from sasanet.errors import InvalidInputError
from sasanet.estimator.classifier_regressor import TabularClassifier, TabularRegressor
from sasanet.network.embedding.cells import MLPEmbedding
from sasanet.network.layers import GeneratorAttention, feed_forward
from sasanet.table.columns import Columns
from sasanet.validation import read_count, read_real


class SSCN(AdditiveNetwork):
    """f(x) = bias + Σ_i d_i(x) · v(x_i).

    Constraints: φ_i = d_i(x) · v_i(x_i); the value v_i depends on x_i only; the dominances d_i are
    positive and Σ_i d_i = 1.

    The original also has a graph of skills and predicts lower and upper salaries, which tables do
    not have.

    Shape: cells [B, N] → [B, K].
    """

    def __init__(
        self, columns: Columns, n_outputs: int, width: int, heads: int, dropout: float
    ) -> None:
        super().__init__(columns, n_outputs)
        # Each column has its own vectors, which tell the shared value network the column.
        self.embedding = MLPEmbedding(columns.places, columns.is_number, width, (width,), nn.ReLU())
        self.value = feed_forward([width, width, n_outputs], nn.ReLU(), dropout)
        self.attention = GeneratorAttention(width, heads, dropout, batch_first=True)
        self.dominance = nn.Linear(width, 1, bias=False)

    def dominances(self, vectors: Tensor) -> Tensor:
        """Return the weight of each feature in this row: [B, N, D] → [B, N]."""
        context, _ = self.attention(vectors, vectors, vectors)
        return torch.softmax(self.dominance(torch.tanh(context))[..., 0], 1)

    def single_values(self, vectors: Tensor) -> Tensor:
        """Return the value of each cell by itself: [B, N, D] → [B, N, K]."""
        # Dominances start near 1/N: the factor N makes log-odds of any size reachable.
        return len(self.columns) * self.value(vectors)

    def attributions(self, cells: Tensor) -> Tensor:
        """Return φ_i = d_i(x) · v_i(x_i)."""
        vectors = self.embedding(cells)
        return self.dominances(vectors)[..., None] * self.single_values(vectors)


@dataclass(eq=False, repr=False, kw_only=True)
class SSCNModel(BaselineModel):
    """Settings of the SSCN estimators."""

    width: int = 64
    heads: int = 4
    dropout: float = 0.1

    def _make_baseline(self, columns: Columns, n_outputs: int) -> SSCN:
        settings = self.get_params(deep=False)
        width, heads = read_count(settings, "width"), read_count(settings, "heads")
        if width % heads:
            raise InvalidInputError(f"heads must divide width={width}, got {heads}")
        dropout = read_real(settings, "dropout", below=1)
        return SSCN(columns, n_outputs, width, heads, dropout)


class SSCNClassifier(TabularClassifier, SSCNModel):
    """Value composition for classes: a weighted mean of the values of single cells.

    Parameters
    ----------
    width : int, default=64
        Width of the cell vectors and of the value network.
    heads : int, default=4
        Attention heads of the dominance network; must divide the width.
    dropout : float, default=0.1
        Dropout of attention weights and inside the value network.
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
    Each level of a category has a vector of its own. A missing number becomes the training mean;
    missing and unseen levels share a reserved vector. Attributions are in log-odds.

    Examples
    --------
    >>> from sasanet.datasets import load_penguins
    >>> X, y = load_penguins()
    >>> SSCNClassifier(max_epochs=2, random_state=0).fit(X, y).explain(X).values.shape
    (344, 7, 3)
    """


class SSCNRegressor(TabularRegressor, SSCNModel):
    """Value composition for quantities; see :class:`SSCNClassifier`.

    Parameters
    ----------
    width : int, default=64
        Width of the cell vectors and of the value network.
    heads : int, default=4
        Attention heads of the dominance network; must divide the width.
    dropout : float, default=0.1
        Dropout of attention weights and inside the value network.
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
    Each level of a category has a vector of its own. A missing number becomes the training mean;
    missing and unseen levels share a reserved vector. Attributions are in the units of the target.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(20.0).reshape(10, 2)
    >>> SSCNRegressor(max_epochs=2, random_state=0).fit(X, X[:, 0]).explain(X).values.shape
    (10, 2)
    """
