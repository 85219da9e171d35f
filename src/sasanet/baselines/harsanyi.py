"""HarsanyiNet: units that are AND gates, hence exact Shapley values (Chen et al., 2023)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sasanet.baselines.estimator import BaselineModel
from sasanet.baselines.network import AdditiveNetwork, InputUnits
from sasanet.estimator.classifier_regressor import TabularClassifier, TabularRegressor
from sasanet.table.columns import Columns
from sasanet.validation import read_count

_GAMMA = 100.0  # steepness of a child's activity in its value
_BETA = 10.0  # steepness of the sigmoid that gives the choice of children a gradient
_TINY = 1e-20  # keeps the logarithm of an activity finite
_START = 0.1  # initial distance of every choice from being changed
_MOST_CHILDREN = 3  # of one unit, initially; training changes them


class HarsanyiLayer(nn.Module):
    """Units z_u = ReLU((W_u · inputs of its children) · Π_{children j} tanh(γ|j|)).

    A unit is 0 if any of its children is.

    Shape: inputs [B, U], active [B, C] (of each child, from 0 to 1) → [B, width].
    """

    owners: Tensor

    def __init__(self, owners: Tensor, n_children: int, width: int) -> None:
        super().__init__()
        self.register_buffer("owners", owners, persistent=False)  # the child of each input
        self.weight = nn.Parameter(torch.randn(width, len(owners)))
        ranks = torch.rand(width, n_children).argsort(1).argsort(1)
        wanted = torch.randint(1, _MOST_CHILDREN + 1, (width, 1))
        self.choice = nn.Parameter(torch.where(ranks < wanted, _START, -_START))

    def chosen(self) -> Tensor:
        """Return the children of each unit: [width, C] bool."""
        return self.choice > 0

    def forward(self, inputs: Tensor, active: Tensor) -> Tensor:
        """Return the units of every row."""
        hard, soft = self.chosen().to(inputs.dtype), torch.sigmoid(_BETA * self.choice)
        slope = soft - soft.detach()  # zero, with the gradient of the soft choice
        linear = inputs @ (self.weight * (hard + slope)[:, self.owners]).T
        gates = torch.exp(active.clamp_min(_TINY).log() @ hard.T)
        gates = gates.masked_fill((active == 0).to(hard.dtype) @ hard.T > 0, 0.0)
        return F.relu(linear * gates * (1 - (1 - active) @ slope.T))


class HarsanyiNet(AdditiveNetwork):
    """f(x) = bias + Σ_u w_u · z_u(x) over the units u of all layers.

    Constraint, by construction: a unit is 0 unless all columns of its receptive field R(u) differ
    from their reference, so w_u · z_u is a Harsanyi dividend of R(u), and
    φ_i = Σ_{u: i ∈ R(u)} w_u · z_u / |R(u)| is the exact Shapley value of v(S) = f(x_S), absent
    cells at their reference.

    Shape: cells [B, N] → [B, K].
    """

    def __init__(self, columns: Columns, n_outputs: int, width: int, depth: int) -> None:
        super().__init__(columns, n_outputs)
        self.units = InputUnits(columns)
        first = HarsanyiLayer(self.units.owners, len(columns), width)
        others = (HarsanyiLayer(torch.arange(width), width, width) for _ in range(depth - 1))
        self.layers = nn.ModuleList([first, *others])
        self.heads = nn.Parameter(torch.randn(depth, width, n_outputs) / math.sqrt(depth * width))

    def hidden(self, cells: Tensor) -> Tensor:
        """Return the units of all layers: [B, N] → [B, depth, width]."""
        inputs = self.units(cells)
        # NOTE[DIFF]: the children of the first layer are columns, not their one-hot units, two of
        # which can never be active at once.
        active = torch.tanh(_GAMMA * self.units.by_column(inputs.abs()[..., None])[..., 0])
        found = []
        for layer in self.layers:
            inputs = layer(inputs, active)
            active = torch.tanh(_GAMMA * inputs)
            found.append(inputs)
        return torch.stack(found, 1)

    def receptive_fields(self) -> Tensor:
        """Return R(u) of the units of all layers: [depth, width, N] of 0 and 1."""
        fields, found = torch.eye(len(self.columns)).to(self.bias), []
        for layer in self.layers:
            assert isinstance(layer, HarsanyiLayer)
            fields = ((layer.chosen().to(fields.dtype) @ fields) > 0).to(fields.dtype)
            found.append(fields)
        return torch.stack(found)

    def matrices(self) -> list[Tensor]:
        """Return the parameters that weight decay applies to."""
        return [layer.weight for layer in self.layers if isinstance(layer, HarsanyiLayer)]

    def forward(self, cells: Tensor) -> Tensor:
        """Return bias + Σ_u w_u · z_u."""
        return self.bias + torch.einsum("blw,lwk->bk", self.hidden(cells), self.heads)

    def attributions(self, cells: Tensor) -> Tensor:
        """Return φ: each unit is split equally among the columns of its receptive field."""
        fields = self.receptive_fields()
        shares = fields / fields.sum(2, keepdim=True).clamp_min(1)
        return torch.einsum("blw,lwk,lwn->bnk", self.hidden(cells), self.heads, shares)


@dataclass(eq=False, repr=False, kw_only=True)
class HarsanyiNetModel(BaselineModel):
    """Settings of the HarsanyiNet estimators."""

    width: int = 100
    depth: int = 3

    def _make_baseline(self, columns: Columns, n_outputs: int) -> HarsanyiNet:
        settings = self.get_params(deep=False)
        width, depth = read_count(settings, "width"), read_count(settings, "depth")
        return HarsanyiNet(columns, n_outputs, width, depth)


class HarsanyiNetClassifier(TabularClassifier, HarsanyiNetModel):
    """A HarsanyiNet for classes: exact Shapley values against the reference row.

    Parameters
    ----------
    width : int, default=100
        Units per layer.
    depth : int, default=3
        Layers.
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
    >>> HarsanyiNetClassifier(max_epochs=2, random_state=0).fit(X, y).explain(X).values.shape
    (344, 7, 3)
    """


class HarsanyiNetRegressor(TabularRegressor, HarsanyiNetModel):
    """A HarsanyiNet for quantities; see :class:`HarsanyiNetClassifier`.

    Parameters
    ----------
    width : int, default=100
        Units per layer.
    depth : int, default=3
        Layers.
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
    >>> HarsanyiNetRegressor(max_epochs=2, random_state=0).fit(X, X[:, 0]).explain(X).values.shape
    (10, 2)
    """
