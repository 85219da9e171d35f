"""Self-interpretation by prototypes of the classes (SITE; Wang & Wang, 2021)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sasanet.baselines.estimator import LayeredModel
from sasanet.baselines.network import AdditiveNetwork, InputUnits, prediction_loss
from sasanet.estimator.classifier_regressor import TabularClassifier
from sasanet.network.layers import feed_forward
from sasanet.table.columns import Columns
from sasanet.training.loop import Rows
from sasanet.training.losses import Objective, weighted_mean
from sasanet.validation import read_real


class SITE(AdditiveNetwork):
    """f_c(x) = bias_c + ⟨G_c(x), x⟩: similarity to a prototype of class c, made for this row.

    Constraint, by a penalty: G_c(x) resembles real rows of class c. φ_i sums G_c(x)_u · x_u over
    the units u of column i; with two classes the log-odds are the difference of both similarities.

    NOTE[DIFF]: transformations of images (rotations, flips) have no counterpart in a table, so the
    equivariance of the prototypes is that of the identity.

    Shape: cells [B, N] → [B, K].
    """

    def __init__(
        self, columns: Columns, n_outputs: int, layers: Sequence[int], dropout: float
    ) -> None:
        super().__init__(columns, n_outputs)
        self.units = InputUnits(columns)
        self.n_classes = max(2, n_outputs)
        sizes = [self.units.n_units, *layers, self.n_classes * self.units.n_units]
        self.layers = feed_forward(sizes, nn.ReLU(), dropout)

    def inputs(self, cells: Tensor) -> Tensor:
        """Return units between -1 and 1, like the prototypes: [B, N] → [B, U]."""
        return torch.tanh(self.units(cells))

    def generate(self, inputs: Tensor) -> Tensor:
        """Return the prototypes before their tanh: [B, U] → [B, C, U]."""
        return self.layers(inputs).unflatten(1, (self.n_classes, self.units.n_units))

    def similarities(self, inputs: Tensor, drafts: Tensor) -> Tensor:
        """Return what every unit adds to every output: [B, U], [B, C, U] → [B, U, K]."""
        each = (torch.tanh(drafts) * inputs[:, None]).transpose(1, 2)
        return each if self.n_outputs > 1 else each[..., 1:] - each[..., :1]

    def attributions(self, cells: Tensor) -> Tensor:
        """Return φ_i = Σ_{u of column i} G(x)_u · x_u."""
        inputs = self.inputs(cells)
        return self.units.by_column(self.similarities(inputs, self.generate(inputs)))


def prototype_losses(
    drafts: Tensor, inputs: Tensor, rows: Rows, generator: torch.Generator
) -> Tensor:
    """Return the cross-entropy of each prototype to a random row of its class, rescaled to [0, 1].

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


def site_loss(
    network: SITE,
    rows: Rows,
    generator: torch.Generator,
    objective: Objective,
    prototype_penalty: float,
) -> Tensor:
    """Return the prediction loss plus the distance of prototypes to rows of their classes."""
    inputs = network.inputs(rows.cells)
    drafts = network.generate(inputs)
    outputs = network.bias + network.similarities(inputs, drafts).sum(1)
    distances = prototype_losses(drafts, inputs, rows, generator)
    penalty = prototype_penalty * weighted_mean(distances, rows.weights)
    return prediction_loss(outputs, rows, objective) + penalty


@dataclass(eq=False, repr=False, kw_only=True)
class SITEModel(LayeredModel):
    """Settings of SITE."""

    kind = SITE

    layers: Sequence[int] = (128, 128)
    prototype_penalty: float = 5.0

    def _make_loss(self) -> Callable[..., Tensor]:
        penalty = read_real(self.get_params(deep=False), "prototype_penalty")
        return partial(site_loss, prototype_penalty=penalty)


class SITEClassifier(TabularClassifier, SITEModel):
    """SITE: rows are compared with prototypes of the classes; for classification only.

    Parameters
    ----------
    layers : sequence of int, default=(128, 128)
        Sizes of the hidden layers of the generator.
    dropout : float, default=0.1
        Dropout after every hidden layer.
    prototype_penalty : float, default=5.0
        Weight of the distance between prototypes and real rows of their classes.
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
    >>> SITEClassifier(max_epochs=2, random_state=0).fit(X, y).explain(X).values.shape
    (344, 7, 3)
    """
