"""Neural additive models: one network per column, their outputs added (Agarwal et al., 2021)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sasanet.baselines.estimator import BaselineModel
from sasanet.baselines.network import AdditiveNetwork, GroupedLinear, prediction_loss
from sasanet.estimator.classifier_regressor import TabularClassifier, TabularRegressor
from sasanet.network.layers import GeneratorDropout
from sasanet.table.columns import Columns
from sasanet.training.loop import Rows
from sasanet.training.losses import Objective, weighted_mean
from sasanet.validation import read_choice, read_real, read_sizes


class FirstUnits(nn.Module):
    """The first layer of the networks of all number columns.

    ``"exu"``: min(1, ReLU(exp(w) · (x − c))); ``"relu"``: ReLU(w · (x − c)).

    Shape: [G, B, 1] → [G, B, units].
    """

    def __init__(self, groups: int, units: int, activation: str) -> None:
        super().__init__()
        self.exponential = activation == "exu"
        weight, centre = torch.empty(groups, 1, units), torch.empty(groups, 1, units)
        if self.exponential:
            nn.init.trunc_normal_(weight, 4.0, 0.5, 3.0, 5.0)
        else:
            nn.init.normal_(weight)
        # NOTE[DIFF]: centres are spread like our standard scores; the original scales numbers to
        # [-1, 1] and draws centres with a standard deviation of 0.5.
        self.weight = nn.Parameter(weight)
        self.centre = nn.Parameter(nn.init.trunc_normal_(centre, 0.0, 1.0, -2.0, 2.0))

    def forward(self, numbers: Tensor) -> Tensor:
        """Return the units of every number."""
        if self.exponential:
            return (self.weight.exp() * (numbers - self.centre)).clamp(0, 1)
        return F.relu(self.weight * (numbers - self.centre))


class NAM(AdditiveNetwork):
    """f(x) = bias + Σ_i h_i(x_i).

    Constraint: φ_i depends on x_i only (x_i = x'_i ⇒ φ_i(x) = φ_i(x')). After training every h_i is
    centred to mean zero over the training rows, which makes φ the Shapley values of the game that
    replaces absent cells by those of other rows, each column on its own.

    Shape: cells [B, N] → [B, K].
    """

    numbers: Tensor
    categories: Tensor
    firsts: Tensor
    centres: Tensor

    def __init__(
        self,
        columns: Columns,
        n_outputs: int,
        layers: Sequence[int],
        activation: str,
        dropout: float,
        feature_dropout: float,
    ) -> None:
        super().__init__(columns, n_outputs)
        flags = torch.tensor(columns.is_number)
        groups, counts = int(flags.sum()), torch.tensor(columns.places)[~flags].tolist()
        self.register_buffer("numbers", flags.nonzero()[:, 0], persistent=False)
        self.register_buffer("categories", (~flags).nonzero()[:, 0], persistent=False)
        firsts = torch.tensor([0, *accumulate(counts)][:-1], dtype=torch.long)
        self.register_buffer("firsts", firsts, persistent=False)
        self.register_buffer("centres", torch.zeros(len(columns), n_outputs))
        self.first = FirstUnits(groups, layers[0], activation)
        self.hidden = nn.ModuleList(GroupedLinear(groups, a, b) for a, b in pairwise(layers))
        # NOTE[DIFF]: a vector per level instead of a network, whose inputs would be only 0 and 1.
        self.levels = nn.Parameter(torch.randn(sum(counts), layers[-1]))
        with torch.no_grad():
            self.levels[firsts] = 0.0  # an unseen level carries no information
        heads = torch.randn(len(columns), layers[-1], n_outputs)
        self.heads = nn.Parameter(heads / math.sqrt(layers[-1]))
        self.dropout = GeneratorDropout(dropout)
        self.feature_dropout = GeneratorDropout(feature_dropout)

    def functions(self, cells: Tensor) -> Tensor:
        """Return h_i(x_i) before centring: [B, N] → [B, N, K]."""
        known = cells.nan_to_num()
        hidden = self.dropout(self.first(known[:, self.numbers].T[..., None]))
        for layer in self.hidden:
            hidden = self.dropout(F.relu(layer(hidden)))
        last = known.new_empty(known.shape[1], known.shape[0], hidden.shape[2])
        last[self.numbers] = hidden
        places = known[:, self.categories].long() + self.firsts
        last[self.categories] = self.dropout(F.embedding(places.T, self.levels))
        return torch.bmm(last, self.heads).transpose(0, 1)

    def drop_features(self, functions: Tensor) -> Tensor:
        """Drop whole columns in training: [B, N, K] → [B, N, K]."""
        return functions * self.feature_dropout(torch.ones_like(functions[..., :1]))

    def attributions(self, cells: Tensor) -> Tensor:
        """Return φ_i = h_i(x_i) minus its mean over the training rows."""
        return self.functions(cells) - self.centres

    def after_training(self, rows: Rows) -> None:
        """Centre every column's function over these rows; the output does not change."""
        parts = [self.functions(cells) for cells in rows.cells.split(4096)]
        means = torch.einsum("bnk,b->nk", torch.cat(parts), rows.weights / rows.weights.sum())
        self.bias.add_((means - self.centres).sum(0))
        self.centres.copy_(means)


def nam_loss(
    network: NAM,
    rows: Rows,
    generator: torch.Generator,
    objective: Objective,
    output_penalty: float,
) -> Tensor:
    """Return the prediction loss with feature dropout, and the penalty on mean_i h_i²."""
    del generator
    functions = network.functions(rows.cells)
    outputs = network.bias + network.drop_features(functions).sum(1)
    size = weighted_mean(functions.square(), rows.weights)
    return prediction_loss(outputs, rows, objective) + output_penalty * size


@dataclass(eq=False, repr=False, kw_only=True)
class NAMModel(BaselineModel):
    """Settings of the NAM estimators."""

    layers: Sequence[int] = (64, 64, 32)
    activation: str = "relu"
    dropout: float = 0.1
    feature_dropout: float = 0.05
    output_penalty: float = 0.01
    learning_rate: float = 1e-2  # as in the original; with less, units hardly move from their start

    def _make_baseline(self, columns: Columns, n_outputs: int) -> NAM:
        settings = self.get_params(deep=False)
        return NAM(
            columns,
            n_outputs,
            read_sizes("layers", self.layers),
            read_choice("activation", self.activation, ("relu", "exu")),
            read_real(settings, "dropout", below=1),
            read_real(settings, "feature_dropout", below=1),
        )

    def _make_loss(self) -> Callable[..., Tensor]:
        penalty = read_real(self.get_params(deep=False), "output_penalty")
        return partial(nam_loss, output_penalty=penalty)


class NAMClassifier(TabularClassifier, NAMModel):
    """A neural additive model for classes: each attribution depends on its own column only.

    Parameters
    ----------
    layers : sequence of int, default=(64, 64, 32)
        Sizes of the hidden layers of every column's network.
    activation : {"relu", "exu"}, default="relu"
        Units of the first layer: ReLU, or exp-centred for functions that jump; these need many
        rows and are less accurate on small tables.
    dropout : float, default=0.1
        Dropout inside the networks.
    feature_dropout : float, default=0.05
        Share of whole columns dropped in training.
    output_penalty : float, default=0.01
        Weight of the penalty on the mean square of the columns' contributions.
    learning_rate : float, default=1e-2
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
    >>> NAMClassifier(max_epochs=2, random_state=0).fit(X, y).explain(X).values.shape
    (344, 7, 3)
    """


class NAMRegressor(TabularRegressor, NAMModel):
    """A neural additive model for quantities; see :class:`NAMClassifier`.

    Parameters
    ----------
    layers : sequence of int, default=(64, 64, 32)
        Sizes of the hidden layers of every column's network.
    activation : {"relu", "exu"}, default="relu"
        Units of the first layer: ReLU, or exp-centred for functions that jump; these need many
        rows and are less accurate on small tables.
    dropout : float, default=0.1
        Dropout inside the networks.
    feature_dropout : float, default=0.05
        Share of whole columns dropped in training.
    output_penalty : float, default=0.01
        Weight of the penalty on the mean square of the columns' contributions.
    learning_rate : float, default=1e-2
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
    >>> NAMRegressor(max_epochs=2, random_state=0).fit(X, X[:, 0]).explain(X).values.shape
    (10, 2)
    """
