"""Self-interpretation by prototypes of the classes (SITE; Wang & Wang, 2021)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sasanet.baselines.inputs import AdditiveNetwork, Units, prediction_loss
from sasanet.baselines.model import PARAMETERS, LayeredModel
from sasanet.contract import Columns
from sasanet.losses import weighted_mean
from sasanet.marginal import feed_forward
from sasanet.recipe import read_real
from sasanet.tasks import TabularClassifier
from sasanet.training import Rows, Step, TrainingConfig


class SITE(AdditiveNetwork):
    """f_c(x) = bias_c + ⟨G_c(x), x⟩: likeness to a prototype of class c, made for this row.

    Constraint, by a penalty: G_c(x) resembles real rows of class c. φ_i adds up G_c(x)_u · x_u over
    the units u of column i; with two classes the log-odds are the difference of both likenesses.

    NOTE[DIFF]: transformations of images (rotations, flips) have no counterpart in a table, so the
    equivariance of the prototypes is that of the identity.

    Shape: cells [B, N] → [B, K].
    """

    def __init__(
        self, columns: Columns, n_outputs: int, layers: Sequence[int], dropout: float
    ) -> None:
        super().__init__(columns, n_outputs)
        self.units = Units(columns)
        self.n_classes = max(2, n_outputs)
        sizes = [self.units.n_units, *layers, self.n_classes * self.units.n_units]
        self.layers = feed_forward(sizes, nn.ReLU(), dropout)

    def inputs(self, cells: Tensor) -> Tensor:
        """Return units between -1 and 1, like the prototypes: [B, N] → [B, U]."""
        return torch.tanh(self.units(cells))

    def generate(self, inputs: Tensor) -> Tensor:
        """Return the prototypes before their tanh: [B, U] → [B, C, U]."""
        return self.layers(inputs).unflatten(1, (self.n_classes, self.units.n_units))

    def likenesses(self, inputs: Tensor, drafts: Tensor) -> Tensor:
        """Return what every unit adds to every output: [B, U], [B, C, U] → [B, U, K]."""
        each = (torch.tanh(drafts) * inputs[:, None]).transpose(1, 2)
        return each if self.n_outputs > 1 else each[..., 1:] - each[..., :1]

    def attributions(self, cells: Tensor) -> Tensor:
        """Return φ_i = Σ_{u of column i} G(x)_u · x_u."""
        inputs = self.inputs(cells)
        return self.units.by_column(self.likenesses(inputs, self.generate(inputs)))


def prototype_losses(
    drafts: Tensor, inputs: Tensor, rows: Rows, generator: torch.Generator
) -> Tensor:
    """Return each prototype's cross-entropy to a random row of its class, both moved to [0, 1].

    NOTE[DIFF]: that row is drawn from the same batch, not from a pool of a thousand.

    Shape: drafts [B, C, U], inputs [B, U] → [B]; a class without rows adds nothing.
    """
    total = drafts.new_zeros(len(drafts))
    for number in range(drafts.shape[1]):
        chances = (rows.weights * (rows.targets == number)).cpu()
        if not chances.any():
            continue
        drawn = torch.multinomial(chances, len(drafts), replacement=True, generator=generator)
        real = (inputs[drawn.to(inputs.device)] + 1) / 2
        # (tanh(a) + 1) / 2 is σ(2a)
        losses = F.binary_cross_entropy_with_logits(2 * drafts[:, number], real, reduction="none")
        total = total + losses.mean(1)
    return total / drafts.shape[1]


def site_step(
    network: SITE,
    rows: Rows,
    config: TrainingConfig,
    generator: torch.Generator,
    prototype_penalty: float,
) -> Tensor:
    """Return the prediction loss and the distance of prototypes to rows of their classes."""
    inputs = network.inputs(rows.cells)
    drafts = network.generate(inputs)
    outputs = network.bias + network.likenesses(inputs, drafts).sum(1)
    likeness = prototype_losses(drafts, inputs, rows, generator)
    penalty = prototype_penalty * weighted_mean(likeness, rows.weights)
    return prediction_loss(outputs, rows, config) + penalty


@dataclass(eq=False, repr=False, kw_only=True)
class SITEModel(LayeredModel):
    """The settings of SITE."""

    kind = SITE

    layers: Sequence[int] = (128, 128)
    prototype_penalty: float = 5.0

    def _make_step(self) -> Step:
        penalty = read_real(self.get_params(deep=False), "prototype_penalty")
        return partial(site_step, prototype_penalty=penalty)


class SITEClassifier(TabularClassifier, SITEModel):  # noqa: D101 - __doc__ is built
    __doc__ = f"""Prototypes of the classes, compared with the row; for classification only.

    Parameters
    ----------
    layers : sequence of int, default=(128, 128)
        Hidden units of the generator.
    dropout : float, default=0.1
        Dropout behind every hidden layer.
    prototype_penalty : float, default=5.0
        Weight of the distance between prototypes and real rows of their classes.
    {PARAMETERS}

    Examples
    --------
    >>> from sasanet.datasets import load_penguins
    >>> X, y = load_penguins()
    >>> SITEClassifier(max_epochs=2, random_state=0).fit(X, y).explain(X).values.shape
    (344, 7, 3)
    """
