"""ViaSHAP: a network that emits Shapley values and predicts their sum (Alkhatib et al., 2025)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from sasanet.baselines.inputs import AdditiveNetwork, Units, prediction_loss
from sasanet.baselines.model import PARAMETERS, BaselineModel, read_sizes
from sasanet.coalitions import kernel_coalitions
from sasanet.contract import Columns
from sasanet.losses import weighted_mean
from sasanet.marginal import feed_forward
from sasanet.recipe import read_count, read_real
from sasanet.tasks import TabularClassifier, TabularRegressor
from sasanet.training import Rows, Step, TrainingConfig

_PARAMETERS = f"""
    Parameters
    ----------
    layers : sequence of int, default=(64, 128, 64)
        Hidden units.
    coalitions : int, default=16
        Coalitions of every row per step, half of them the complements of the others.
    shapley_weight : float, default=1.0
        Weight of the Shapley loss beside the prediction loss.
    {PARAMETERS}
"""


class ViaSHAP(AdditiveNetwork):
    """f(x) = bias + Σ_i φ_i(x), all φ from one perceptron.

    Constraint, by a loss: φ is the Shapley value of the network's own game v(S) = f(x_S), absent
    cells at their reference. Efficiency holds exactly: v(∅) = bias.

    Shape: cells [B, N] → [B, K].
    """

    def __init__(self, columns: Columns, n_outputs: int, layers: Sequence[int]) -> None:
        super().__init__(columns, n_outputs)
        self.units = Units(columns)
        sizes = [self.units.n_units, *layers, len(columns) * n_outputs]
        # NOTE[DIFF]: no batch normalisation: the masked rows of the Shapley loss would shift the
        # statistics of the complete ones.
        self.layers = feed_forward(sizes, nn.ReLU(), 0.0)

    def attributions(self, cells: Tensor) -> Tensor:
        """Return φ, as the network's outputs for the row minus those for the reference row."""
        # NOTE[DIFF]: the original only learns that the reference row's attributions sum to 0.
        reference = torch.full_like(cells[:1], math.nan)
        found = self.layers(self.units(torch.cat([cells, reference])))
        return (found[:-1] - found[-1:]).unflatten(1, (len(self.columns), self.n_outputs))


def viashap_step(
    network: ViaSHAP,
    rows: Rows,
    config: TrainingConfig,
    generator: torch.Generator,
    n_pairs: int,
    shapley_weight: float,
) -> Tensor:
    """Return the prediction loss and the Shapley loss (v(S) − v(∅) − Σ_{i∈S} φ_i(x))²."""
    found = network.attributions(rows.cells)
    loss = prediction_loss(network.bias + found.sum(1), rows, config)
    if len(network.columns) == 1:  # one player takes everything
        return loss
    players = torch.ones_like(rows.present)  # a missing cell is a player too, at its reference
    kept = kernel_coalitions(players, n_pairs, generator)
    values = network.values(rows.cells, kept) - network.bias
    gaps = values - torch.einsum("bmn,bnk->bmk", kept.to(found.dtype), found)
    return loss + shapley_weight * weighted_mean(gaps.square(), rows.weights)


@dataclass(eq=False, repr=False, kw_only=True)
class ViaSHAPModel(BaselineModel):
    """What both ViaSHAP estimators share."""

    layers: Sequence[int] = (64, 128, 64)
    coalitions: int = 16
    shapley_weight: float = 1.0

    def _make_network(self) -> ViaSHAP:
        return ViaSHAP(self._columns, self._n_outputs, read_sizes("layers", self.layers, least=0))

    def _make_step(self) -> Step:
        settings = self.get_params(deep=False)
        n_pairs = math.ceil(read_count(settings, "coalitions") / 2)
        weight = read_real(settings, "shapley_weight")
        return partial(viashap_step, n_pairs=n_pairs, shapley_weight=weight)


class ViaSHAPClassifier(TabularClassifier, ViaSHAPModel):  # noqa: D101 - __doc__ is built
    __doc__ = f"""ViaSHAP for classes: learned Shapley values whose sum is the prediction.
{_PARAMETERS}
    Examples
    --------
    >>> from sasanet.datasets import load_penguins
    >>> X, y = load_penguins()
    >>> ViaSHAPClassifier(max_epochs=2, random_state=0).fit(X, y).explain(X).values.shape
    (344, 7, 3)
    """


class ViaSHAPRegressor(TabularRegressor, ViaSHAPModel):  # noqa: D101 - __doc__ is built
    __doc__ = f"""ViaSHAP for quantities; see :class:`ViaSHAPClassifier`.
{_PARAMETERS}
    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(20.0).reshape(10, 2)
    >>> ViaSHAPRegressor(max_epochs=2, random_state=0).fit(X, X[:, 0]).explain(X).values.shape
    (10, 2)
    """
