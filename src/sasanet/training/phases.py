"""What is trained, in turn: prediction first, then its attributions where these are learned."""

from __future__ import annotations

from functools import partial

from sasanet.network.interface import TabularNetwork
from sasanet.training.hyperparameters import (
    ATTRIBUTION_BATCH,
    Hyperparameters,
    SASANetHyperparameters,
)
from sasanet.training.loop import BatchLoss, EarlyStopping, Phase, Rows
from sasanet.training.losses import Objective
from sasanet.training.sasanet_losses import (
    attribution_batch_loss,
    joint_batch_loss,
    validation_loss,
    value_batch_loss,
)

_ATTRIBUTION_TIME = 1 / 3  # of a time limit, where attributions are learned


def early_stopping(
    validation: Rows | None, objective: Objective, settings: Hyperparameters
) -> EarlyStopping | None:
    """Return how held-out rows choose the best epoch; without any, nothing does."""
    if validation is None:
        return None

    def loss(network: TabularNetwork) -> float:
        return validation_loss(network, validation, objective)

    return EarlyStopping(loss, settings.patience)


def sasanet_phases(
    settings: SASANetHyperparameters, n_rows: int, validation: Rows | None, objective: Objective
) -> tuple[Phase, ...]:
    """Return the phases of one fit of SASANet."""
    arch = settings.architecture
    explains = arch.attribution != "none"
    distils = explains and arch.attribution != "closed_form"  # a formula has nothing to learn
    polished = distils and settings.attribution_steps > 0
    is_set = arch.marginal == "set"
    loss: BatchLoss = partial(value_batch_loss if is_set else joint_batch_loss, objective=objective)
    prediction = Phase(
        name="value" if is_set else "joint",
        loss=loss,
        parts=("marginal", "attribution") if explains and not is_set else ("marginal",),
        steps=settings.steps(n_rows),
        batch_size=settings.batch_size,
        learning_rate=settings.learning_rate,
        weight_decay=settings.weight_decay,
        time_share=1 - _ATTRIBUTION_TIME if polished else 1.0,
        early_stopping=early_stopping(validation, objective, settings),
    )
    if not polished:
        return (prediction,)
    # No early stopping here: the targets are noisy, and the rate anneals to zero.
    attribution = Phase(
        name="attribution",
        loss=attribution_batch_loss,
        parts=("attribution",),
        steps=settings.attribution_steps,
        batch_size=ATTRIBUTION_BATCH,
        learning_rate=settings.attribution_rate,
        time_share=_ATTRIBUTION_TIME,
    )
    return prediction, attribution
