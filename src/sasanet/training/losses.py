"""The terms that losses are made of, one pure function each.

Sizes: B rows, M coalitions or prefixes, N features, K outputs, R profile points.
Weights w [B] are sample weights; every loss is a weighted mean over rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from sasanet.objectives import HUBER


@dataclass(frozen=True)
class Objective:
    """What predictions are judged by.

    Attributes
    ----------
    task : str
        A task, or an objective that is not "squared": :attr:`sasanet.table.target.Target.loss`.
    base : Tensor [K]
        φ0: what the outputs are relative to.
    full_share : float
        The complete row's share of the prediction loss; the rest is for its coalitions.
    quantiles : tuple of float
        Those that the outputs are, if they are any.
    """

    task: str
    base: Tensor
    full_share: float = 1.0
    quantiles: tuple[float, ...] = ()

    def losses(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return :func:`prediction_losses` of outputs with their base value: → [B, M]."""
        return prediction_losses(outputs, targets, self.task, self.quantiles)


def prediction_losses(
    outputs: Tensor, targets: Tensor, task: str, quantiles: Sequence[float] = ()
) -> Tensor:
    """Return the loss of each output: Eq. (3), L_m.

    ``"binary"`` and ``"multiclass"``: cross-entropy on logits; ``"regression"``: squared error;
    ``"poisson"``, ``"gamma"`` and ``"tweedie"``: the unit deviance under the mean exp(output);
    ``"quantile"``: the mean over outputs of the pinball loss; ``"huber"``.

    Shape: outputs [B, M, K], targets [B] (class index or number; for two classes also the second's
    probability) or, for more, [B, K] (each one's probability) → [B, M].
    """
    # NOTE[DIFF]: the paper prints L_m without its minus sign, and squared error in the combined
    # loss; Proposition 3.6 (σ(f) = E[y|x_S]) needs cross-entropy for classification.
    many = targets[:, None].expand(*outputs.shape[:2], *targets.shape[1:])
    if task == "binary":
        return F.binary_cross_entropy_with_logits(outputs[..., 0], many, reduction="none")
    if task == "multiclass":
        flat = many.flatten(0, 1) if targets.dim() > 1 else many.flatten().long()
        losses = F.cross_entropy(outputs.flatten(0, 1), flat, reduction="none")
        return losses.view(outputs.shape[:2])
    if task == "quantile":
        missed, levels = many[..., None] - outputs, outputs.new_tensor(quantiles)
        return torch.maximum(levels * missed, (levels - 1) * missed).mean(-1)
    if task in _OF_NUMBERS:
        return _OF_NUMBERS[task](outputs[..., 0], many)
    return (outputs[..., 0] - many) ** 2


# The deviances are those of `sasanet.objectives.deviance`, of the logarithm of the mean.


def _poisson(log_mean: Tensor, targets: Tensor) -> Tensor:
    return 2 * (torch.special.xlogy(targets, targets) - targets * (log_mean + 1) + log_mean.exp())


def _gamma(log_mean: Tensor, targets: Tensor) -> Tensor:
    return 2 * (log_mean - targets.log() + targets * (-log_mean).exp() - 1)


def _tweedie(log_mean: Tensor, targets: Tensor) -> Tensor:
    """Return the deviance of power 1.5."""
    root = (log_mean / 2).exp()
    return 4 * (root - targets.sqrt()) ** 2 / root


def _huber(outputs: Tensor, targets: Tensor) -> Tensor:
    """Return squared errors up to :data:`HUBER`, and the tangent beyond."""
    return 2 * F.huber_loss(outputs, targets, reduction="none", delta=HUBER)


_OF_NUMBERS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "poisson": _poisson,
    "gamma": _gamma,
    "tweedie": _tweedie,
    "huber": _huber,
}


def weighted_mean(losses: Tensor, weights: Tensor) -> Tensor:
    """Return the mean over rows by sample weight: losses [B, ...], weights [B] → scalar."""
    per_row = losses.flatten(1).mean(1) if losses.dim() > 1 else losses
    return per_row @ (weights / weights.sum().clamp_min(1e-12))


def value_loss(losses: Tensor, weights: Tensor, full_share: float) -> Tensor:
    """Return L_v (Eq. 5) from the losses of one row's coalitions, the complete row first.

    The paper averages over the N prefixes, where the complete row is one of N and prediction is
    starved; here it gets the fixed share ``full_share``.

    Shape: losses [B, M], weights [B] → scalar.
    """
    # NOTE[DIFF]: the complete row has its own weight (a measured knob), see above.
    shares = losses.new_full((losses.shape[1],), (1 - full_share) / (losses.shape[1] - 1))
    shares[0] = full_share
    return weighted_mean(losses @ shares, weights)


def distillation_loss(
    predicted: Tensor, contributions: Tensor, present: Tensor, weights: Tensor
) -> Tensor:
    """Return L_s (Eq. 6): squared distance of φ_{i,pos(i)} to the detached Δ of feature i.

    With one profile point this is Eq. (4), the ablation SASANet-p.

    Shape: predicted (the profile at the feature's position) and contributions [B, N, K] by
    feature, present [B, N], weights [B] → scalar.
    """
    error = (predicted - contributions.detach()) ** 2 * present[..., None]
    per_row = error.sum((1, 2)) / (present.sum(1).clamp_min(1) * error.shape[2])
    return weighted_mean(per_row, weights)
