"""Between encoding and training: labels softened by teachers, and as many knots as they bear."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import torch

from sasanet.errors import ShortFitWarning, warn_user
from sasanet.estimator.fitting.data import FitData
from sasanet.table.thinning import recode, thin_knots
from sasanet.teachers import (
    SoftLabels,
    TeacherSettings,
    make_teachers,
    read_teachers,
    soften_labels,
)
from sasanet.teachers.augmentation import mixed_share
from sasanet.teachers.clarity import clarity_of_quantiles
from sasanet.teachers.data import TeacherData
from sasanet.teachers.stacking import losses
from sasanet.training.hyperparameters import SASANetHyperparameters
from sasanet.training.rows import Augmented
from sasanet.training.yardstick import TEACHERS_SHARE, Yardstick


def soften(
    data: FitData,
    settings: SASANetHyperparameters,
    teachers: Any,
    given: tuple[pd.DataFrame, Any],
    clarity_alone: bool = False,
) -> SoftLabels:
    """Mix the labels with predictions of the panel and of the user's own teachers.

    ``teachers`` is the constructor's parameter, ``given`` the user's table and labels. With
    ``clarity_alone`` the labels stay as they are, and only how clear they are is measured.
    """
    with_panel, estimators = read_teachers(teachers)
    teaching = TeacherSettings(
        task=data.target.loss,
        weight=settings.teacher_weight,
        time_limit=data.teacher_time(settings.time_limit),
        n_threads=data.fellows.threads(),
        seed=data.seed,
        own=make_teachers(estimators, given, data.kept, data.target, data.weights),
        with_panel=with_panel,
        directions=data.directions,
        owners=data.encoder.layout.owners,
        verbose=settings.verbose,
    )
    encoder = data.encoder
    knots = [c.knots for c in encoder.rulers] if encoder.numbers == "knots" else ()

    def soften_now() -> SoftLabels:
        if clarity_alone:
            return SoftLabels(data.labels, _clarity(data, teaching, knots))
        return soften_labels(
            data.cells, data.labels, data.weights, encoder.n_levels, teaching, knots
        )

    def soften_once() -> SoftLabels:
        return soften_now() if data.survival is None else data.survival.soft_labels(soften_now)

    soft = data.fellows.once(soften_once)
    if estimators and soft.n_rows == 0:
        warn_user(
            "The teachers given have taught nothing: the table has too few rows, or time_limit is "
            "too short for them.",
            ShortFitWarning,
        )
    return soft


def _clarity(data: FitData, teaching: TeacherSettings, knots: Sequence[Sequence[float]]) -> float:
    """Return how clear the labels of quantiles are."""
    rows = TeacherData(data.cells, data.labels, data.weights, data.encoder.n_levels, 0, knots)
    return clarity_of_quantiles(rows, data.target.quantiles, data.seed, teaching.time_limit)


def make_yardstick(data: FitData, soft: SoftLabels) -> Yardstick | None:
    """Return what the network is to reach; ``None`` where no rows judge it.

    ``data`` holds the labels as they were.
    """
    judges, foreseen = soft.judges, soft.foreseen
    if judges is None or foreseen is None:
        return None
    classes = None if foreseen.ndim == 1 else np.eye(foreseen.shape[1])[data.labels.astype(int)]
    plain = data.labels if classes is None else classes
    known = ~np.isnan(foreseen)
    further = np.where(known, plain + TEACHERS_SHARE * (foreseen - plain), plain)
    further[judges] = foreseen[judges]
    lost = losses(plain[judges], foreseen[judges], data.target.loss)
    return Yardstick(judges, data.labels[judges], lost, data.weights[judges], further)


def augment(data: FitData, soft: SoftLabels) -> FitData:
    """Return data with the rows that the teachers have labelled beside those of the table."""
    cells, labels = soft.mixed_cells, soft.mixed_labels
    if cells is None or labels is None:
        return data
    mixed, wanted = torch.from_numpy(cells), torch.from_numpy(labels.astype(np.float32))
    return replace(data, augmented=Augmented(mixed, wanted, mixed_share(len(cells))))


def with_knots(data: FitData, n_knots: int) -> FitData:
    """Return the same rows read with at most so many knots of each number."""
    if data.encoder.numbers != "knots" or n_knots >= data.encoder.n_knots:
        return data
    encoder = thin_knots(data.encoder, data.cells, n_knots)
    stop = data.validation
    if stop is not None:
        moved = torch.from_numpy(recode(stop.cells.cpu().numpy(), data.encoder, encoder))
        stop = replace(stop, cells=moved.to(stop.device))
    more = data.augmented
    if more is not None:
        flat = recode(more.cells.flatten(0, 1).numpy(), data.encoder, encoder)
        more = replace(more, cells=torch.from_numpy(flat).view_as(more.cells))
    cells = recode(data.cells, data.encoder, encoder)
    return replace(data, encoder=encoder, cells=cells, validation=stop, augmented=more)
