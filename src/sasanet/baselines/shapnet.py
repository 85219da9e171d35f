"""Shapley explanation networks: Shapley values as representations (Wang et al., 2021)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sasanet.baselines.estimator import BaselineModel
from sasanet.baselines.network import AdditiveNetwork, InputUnits
from sasanet.errors import InvalidInputError
from sasanet.estimator.classifier_regressor import TabularClassifier, TabularRegressor
from sasanet.table.columns import Columns
from sasanet.validation import read_choice, read_count

_MOST_COLUMNS = 64  # of the shallow structure: 2,016 pairs, two gigabytes per 512 rows
_START = 0.1  # scale of the initial outputs: larger noise would have to be unlearned


class ShapleyModules(nn.Module):
    """Shapley modules: exact Shapley values of one small function per pair of columns.

    With g(a, b) = ReLU(a·A + b·B + c)·O and reference 0, the first column of a pair gets
    ½[g(a, 0) − g(0, 0)] + ½[g(a, b) − g(0, b)], the second likewise (Eq. 2 for two players).

    Shape: inputs [B, N, D] → [B, N, out], summed over the pairs of each column.
    """

    pairs: Tensor

    def __init__(self, pairs: Tensor, n_in: int, hidden: int, n_out: int) -> None:
        super().__init__()
        self.register_buffer("pairs", pairs, persistent=False)  # [2, P]
        shape = (len(pairs[0]), n_in, hidden)
        self.first = nn.Parameter(torch.randn(shape) / math.sqrt(n_in))
        self.second = nn.Parameter(torch.randn(shape) / math.sqrt(n_in))
        self.shift = nn.Parameter(torch.randn(shape[0], 1, hidden))
        meetings = 2 * shape[0] / (int(pairs.max()) + 1)  # modules per column: their sum is φ
        out = torch.randn(shape[0], hidden, n_out) / math.sqrt(hidden * meetings)
        self.out = nn.Parameter(_START * out)

    def forward(self, inputs: Tensor) -> Tensor:
        """Return each column's Shapley values, over all its pairs."""
        by_pair = inputs.transpose(0, 1)  # [N, B, D]
        one = torch.bmm(by_pair[self.pairs[0]], self.first)  # [P, B, hidden]
        two = torch.bmm(by_pair[self.pairs[1]], self.second)
        none, both = F.relu(self.shift), F.relu(one + two + self.shift)
        one, two = F.relu(one + self.shift), F.relu(two + self.shift)
        firsts = torch.bmm((one - none + both - two) / 2, self.out)
        seconds = torch.bmm((two - none + both - one) / 2, self.out)
        totals = firsts.new_zeros(*by_pair.shape[:2], firsts.shape[2])
        totals = totals.index_add(0, self.pairs[0], firsts).index_add(0, self.pairs[1], seconds)
        return totals.transpose(0, 1)


class SHAPNet(AdditiveNetwork):
    """f(x) = bias + Σ_i φ_i(x), where φ is the output of the last layer of Shapley modules.

    Constraint, by construction: the outputs of every layer are the exact Shapley values of its
    modules against the reference. With one layer (shallow), φ is therefore the exact Shapley value
    of v(S) = f(x_S), absent cells at their reference; with several (deep), it is exact only layer
    by layer. In both, a column at its reference gets exactly 0.

    Shape: cells [B, N] → [B, K].
    """

    def __init__(
        self, columns: Columns, n_outputs: int, structure: str, width: int, hidden: int
    ) -> None:
        super().__init__(columns, n_outputs)
        self.units = InputUnits(columns)
        self.vectors = nn.Parameter(torch.randn(self.units.n_units, width))
        stages = all_pairs(len(columns)) if structure == "shallow" else butterfly(len(columns))
        self.padding = int(stages[0].max()) + 1 - len(columns)
        sizes = [width] * (len(stages) - 1) + [n_outputs]
        self.stages = nn.ModuleList(
            ShapleyModules(pairs, width, hidden, size)
            for pairs, size in zip(stages, sizes, strict=True)
        )

    def matrices(self) -> list[Tensor]:
        """Return the parameters that weight decay applies to."""
        modules = [stage for stage in self.stages if isinstance(stage, ShapleyModules)]
        return [matrix for m in modules for matrix in (m.first, m.second, m.out)]

    def attributions(self, cells: Tensor) -> Tensor:
        """Return the last layer's Shapley values."""
        units = self.units(cells)
        found = self.units.by_column(units[..., None] * self.vectors)
        found = F.pad(found, (0, 0, 0, self.padding))  # added columns are always at their reference
        for stage in self.stages[:-1]:
            found = found + stage(found)
        return self.stages[-1](found)[:, : len(self.columns)]


def all_pairs(n_columns: int) -> list[Tensor]:
    """Return one layer of all pairs of columns: [2, P]."""
    return [torch.combinations(torch.arange(max(2, n_columns))).T]


def butterfly(n_columns: int) -> list[Tensor]:
    """Return log2 N layers of disjoint pairs: i meets i ± 1, then ± 2 and so on."""
    n_stages = max(1, math.ceil(math.log2(n_columns)))
    index = torch.arange(2**n_stages)
    firsts = [index[(index >> stage) % 2 == 0] for stage in range(n_stages)]
    return [torch.stack([first, first + 2**stage]) for stage, first in enumerate(firsts)]


@dataclass(eq=False, repr=False, kw_only=True)
class SHAPNetModel(BaselineModel):
    """Settings of the SHAPNet estimators."""

    structure: str = "shallow"
    width: int = 8
    hidden: int = 16

    def _make_baseline(self, columns: Columns, n_outputs: int) -> SHAPNet:
        settings = self.get_params(deep=False)
        structure = read_choice("structure", self.structure, ("shallow", "deep"))
        if structure == "shallow" and len(columns) > _MOST_COLUMNS:
            raise InvalidInputError(
                f"structure must be 'deep' for more than {_MOST_COLUMNS} columns (shallow has one "
                f"module per pair), got {structure!r} with {len(columns)} columns"
            )
        width, hidden = read_count(settings, "width"), read_count(settings, "hidden")
        return SHAPNet(columns, n_outputs, structure, width, hidden)


class SHAPNetClassifier(TabularClassifier, SHAPNetModel):
    """A Shapley explanation network for classes.

    Parameters
    ----------
    structure : {"shallow", "deep"}, default="shallow"
        ``"shallow"``: one layer with all pairs of columns (at most 64 columns). ``"deep"``: layers
        of disjoint pairs, after which every column has interacted with every other.
    width : int, default=8
        Length of the vector of a column.
    hidden : int, default=16
        Hidden units of each module.
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
    >>> SHAPNetClassifier(max_epochs=2, random_state=0).fit(X, y).explain(X).values.shape
    (344, 7, 3)
    """


class SHAPNetRegressor(TabularRegressor, SHAPNetModel):
    """A Shapley explanation network for quantities; see :class:`SHAPNetClassifier`.

    Parameters
    ----------
    structure : {"shallow", "deep"}, default="shallow"
        ``"shallow"``: one layer with all pairs of columns (at most 64 columns). ``"deep"``: layers
        of disjoint pairs, after which every column has interacted with every other.
    width : int, default=8
        Length of the vector of a column.
    hidden : int, default=16
        Hidden units of each module.
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
    >>> SHAPNetRegressor(max_epochs=2, random_state=0).fit(X, X[:, 0]).explain(X).values.shape
    (10, 2)
    """
