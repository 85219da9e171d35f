"""The two networks of FastSHAP, their losses, and how they are trained.

Sizes: B rows, N features, K outputs, M coalitions. The *surrogate* v(x_S) ≈ E[f(x) | x_S] learns
the predictions of the model from rows with hidden cells. The *explainer* φ(x) is the best additive
fit of v (Jethani, Sudarshan, Covert, Lee and Ranganath, 2021),

    min_φ E_x E_{S ~ Shapley kernel} [v(x_S) − v(x_∅) − Σ_{i∈S} φ_i(x)]²,

shifted so that Σ_i φ_i = v(x) − v(x_∅) (additive normalisation).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sasanet.network.coalitions import add_up, kernel_coalitions, random_coalitions
from sasanet.network.embedding.cells import make_embedding
from sasanet.network.interface import TabularNetwork
from sasanet.posthoc.fastshap.games import BatchGame, PositionedRows
from sasanet.table.encoder import TableEncoder
from sasanet.training.loop import Batchable, BatchLoss, Phase, Rows, train
from sasanet.training.losses import prediction_losses, weighted_mean


class CoalitionNetwork(TabularNetwork):
    """An MLP on the known cells: the sum of their vectors, a hidden layer, the outputs.

    The sum of vectors is a linear layer on one-hot levels and knots, zero where hidden. So a hidden
    cell differs from the value 0, as in the input [x ⊙ S, S] of the paper.

    Shape: cells [B, N], coalitions [B, M, N] → [B, M, outputs].
    """

    def __init__(self, encoder: TableEncoder, width: int, n_outputs: int) -> None:
        super().__init__()
        self.embedding = make_embedding(encoder.places, encoder.is_number, width, None, nn.ELU())
        self.bias = nn.Parameter(torch.zeros(width))
        self.body = nn.Sequential(
            nn.ELU(), nn.Linear(width, width), nn.ELU(), nn.Linear(width, n_outputs)
        )

    def values(self, cells: Tensor, coalitions: Tensor) -> Tensor:
        """Return the outputs for every coalition; missing cells must be absent from all."""
        found: Tensor = self.body(self.embedding.coalition_sums(cells, coalitions) + self.bias)
        return found


def attributions(network: CoalitionNetwork, cells: Tensor) -> Tensor:
    """Return the output of the explainer, before normalisation: [B, N] → [B, N, K]."""
    flat: Tensor = network.values(cells, ~cells.isnan()[:, None])[:, 0]
    return flat.unflatten(1, (cells.shape[1], -1))


def ends_of(rows: PositionedRows) -> Tensor:
    """Return the empty coalition and that of all present features: [B, 2, N] bool."""
    return torch.stack([torch.zeros_like(rows.present), rows.present], 1)


# --- the losses of one batch -----------------------------------------------------------------


def surrogate_loss(task: str) -> BatchLoss:
    """Return the loss of the surrogate: predicting the model's output from a part of the row.

    Cross-entropy with the predicted probabilities, which is their KL divergence up to a constant,
    or squared error for regression.
    """

    # NOTE[DIFF]: the paper draws one coalition per row; its complement and the complete row cost
    # little more, and the complete row is what every explanation adds up to.
    def loss(network: CoalitionNetwork, rows: Rows, generator: torch.Generator) -> Tensor:
        present = rows.present
        kept = random_coalitions(present, generator)
        outputs = network.values(rows.cells, torch.stack([present, kept, present & ~kept], 1))
        return weighted_mean(prediction_losses(outputs, rows.targets, task), rows.weights)

    return loss


def explainer_loss(game: BatchGame, scale: float, pairs: int) -> BatchLoss:
    """Return the loss of the explainer: the mean square above, over pairs of coalitions.

    The game is divided by ``scale``, so that one learning rate suits all units.
    """

    def loss(network: CoalitionNetwork, rows: PositionedRows, generator: torch.Generator) -> Tensor:
        kept = kernel_coalitions(rows.present, pairs, generator)
        with torch.no_grad():
            values = (game(rows, torch.cat([ends_of(rows), kept], 1)) / scale).float()
        base, total, values = values[:, :1], values[:, 1], values[:, 2:]
        phi = add_up(attributions(network, rows.cells), total - base[:, 0], rows.present)
        fit = base + kept.to(phi.dtype) @ phi
        return (fit - values).square().mean((1, 2)).mean()

    return loss


# --- training --------------------------------------------------------------------------------


def learn(
    network: CoalitionNetwork,
    rows: Batchable,
    phase: Phase,
    generator: torch.Generator,
    verbose: bool,
) -> list[float]:
    """Train a network and return the mean loss of each epoch."""
    # NOTE[DIFF]: the paper halves the learning rate when the validation loss stalls. A cosine to
    # zero ends as low, needs no validation rows and has nothing to tune.
    history = train(network, rows, [phase], generator, verbose=verbose)
    if history.interrupted:
        raise KeyboardInterrupt  # a half-trained explainer is of no use
    network.requires_grad_(False)
    return [record["train_loss"] for record in history.epochs]
