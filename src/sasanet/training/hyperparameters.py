"""Every "auto" becomes a number: the settings of one fit, from parameters, rows and labels.

Everything "auto" is chosen here, so that 300 rows do not overfit and 300,000 do not underfit. The
*clarity* c of the labels, between 0 (noise) and 1, is the share of their spread that out-of-fold
predictions of the teacher explain (``estimator/soft_labels.py``; 0 without one): clean labels allow
more steps and less regularisation.

========================  ===================  ===================================================
parameter                 below 10,000 rows    from 10,000 rows
========================  ===================  ===================================================
learning_rate             4e-3                 4e-3 below 20,000 rows, else 2e-3
batch_size                rows / 25 (from 20,000 rows on rows / 40) rounded down to a power of two,
                          between 128 and 512; 128 at most for the paper's sequence modules
------------------------  ------------------------------------------------------------------------
max_epochs                s / (1 − c) steps    600,000 · (1 + c) / rows, from 40,000 rows on at
                          (4 to 100 epochs)    most 800,000 / rows (8 to 100 epochs, "best": 12 to
                                               100 and no such limit); with a teacher at most
                                               90 · c, or 4 if that is less
patience                  all epochs: the learning rate must reach zero
------------------------  ------------------------------------------------------------------------
teacher_weight            half of every label; 0 for the paper's sequence modules
------------------------  ------------------------------------------------------------------------
members                   1; for "best" 2, from 100,000 rows 4, of two layers of 256 units
------------------------  ------------------------------------------------------------------------
attribution_steps         batches of 128 (rate 2e-3); 20 per row in total, 60,000 to 250,000 rows
                          (only for Shapley modules that learn: the default has nothing to learn)
------------------------  ------------------------------------------------------------------------
dropout                   0.3 · (1 − c)        0.1 · (1 − c)
validation_fraction       0                    0
========================  ===================  ===================================================

with s = rows / 20, between 75 and 150. "best" takes more and smaller steps: rate 2e-3, batches of
rows / 40 and at least 64, below 10,000 rows 300 / (1 − c) steps (8 to 100 epochs). Fits without a
teacher do the same, there for 40 epochs at most. Without one, or with a ``patience`` of the user's
own, some rows choose the best epoch: a tenth of them, below 10,000 rows a fifth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from sasanet.errors import InvalidInputError
from sasanet.network.architecture import Architecture, find_architecture
from sasanet.validation import read_choice, read_count, read_real

PRESETS = ("default", "best")
ATTRIBUTION_BATCH = 128  # many small steps: what limits distillation is the noise of its targets
_MEMBERS, _MANY_MEMBERS = 2, 4  # of the "best" preset; more of them overfit tables of fewer rows
_MANY = 100_000  # rows
_BEST_LAYERS = (256, 256)
_BEST_EPOCHS = 12  # at least, for "best" and large tables
_TEACHER_WEIGHT = 0.5
_SMALL = 10_000  # rows below which a network of this size needs more regularisation
_PLENTY = 40_000  # rows from which clear labels need to be seen no more often than others
_FEW = 20_000  # rows below which large steps are as good as twice as many small ones
_RATE, _LARGE_RATE = 2e-3, 4e-3
# A step of the sequence module costs many times one of the set module: with 512 rows it would take
# few of them. After a minute on census income the AUC of held-out rows is 0.929 with 512 rows a
# step and 0.946 with 128.
_BATCH, _SEQUENCE_BATCH = 512, 128


@dataclass(frozen=True, kw_only=True)
class Hyperparameters:
    """How any network is trained: every number of one fit that is not about its shape."""

    learning_rate: float
    weight_decay: float
    batch_size: int
    epochs: int
    patience: int
    validation_fraction: float
    time_limit: float
    verbose: bool

    def steps(self, n_rows: int) -> int:
        """Return how many batches that is."""
        return self.epochs * math.ceil(n_rows / self.batch_size)


@dataclass(frozen=True, kw_only=True)
class SASANetHyperparameters(Hyperparameters):
    """Every number of one fit of SASANet."""

    architecture: Architecture
    dropout: float
    attribution_steps: int
    attribution_rate: float  # a learning rate too: distillation has no use for large steps
    teacher_weight: float


@dataclass(frozen=True)
class _Situation:
    """What the rules go by."""

    n_rows: int
    clarity: float  # of the labels
    has_teacher: bool  # its clarity then says how long to train
    thorough: bool  # more and smaller steps; the rows of a large table are seen at least 12 times

    @property
    def is_small(self) -> bool:
        return self.n_rows < _SMALL

    @property
    def is_brisk(self) -> bool:
        """Whether half as many steps of twice the rate are as good."""
        return self.n_rows < _FEW and self.has_teacher and not self.thorough


def resolve(
    parameters: dict[str, Any], n_rows: int, clarity: float = 0.0
) -> SASANetHyperparameters:
    """Check the parameters of SASANet and replace every "auto"."""
    architecture = _architecture(parameters["network"], parameters["preset"], n_rows)
    is_set = architecture.marginal == "set"
    teacher = read_real(
        parameters, "teacher_weight", below=1, auto=_TEACHER_WEIGHT if is_set else 0.0
    )
    situation = _Situation(n_rows, clarity, teacher > 0, parameters["preset"] == "best")
    dropout = (0.3 if situation.is_small else 0.1) * (1 - clarity)
    draws = min(max(20 * n_rows, 60_000), 250_000)
    steps = architecture.attribution_steps
    return SASANetHyperparameters(
        **vars(_training(parameters, situation, _BATCH if is_set else _SEQUENCE_BATCH)),
        architecture=architecture,
        dropout=read_real(parameters, "dropout", below=1, auto=dropout),
        attribution_steps=math.ceil(draws / ATTRIBUTION_BATCH) if steps is None else steps,
        attribution_rate=read_real(parameters, "learning_rate", above=0, auto=_RATE),
        teacher_weight=teacher,
    )


def resolve_training(parameters: dict[str, Any], n_rows: int) -> Hyperparameters:
    """Check the parameters that every estimator has and replace every "auto"."""
    return _training(parameters, _Situation(n_rows, 0.0, False, False), _BATCH)


def _training(parameters: dict[str, Any], situation: _Situation, most: int) -> Hyperparameters:
    """Return how to train; ``most``: rows of a batch."""
    batch = read_count(parameters, "batch_size", _batch_size(situation, most))
    epochs = read_count(parameters, "max_epochs", _epochs(situation, batch))
    rate = _LARGE_RATE if situation.is_brisk else _RATE
    # The teacher knows how long to train: all rows are learned from and the last epoch is kept.
    to_the_end = situation.has_teacher and parameters["patience"] == "auto"
    held_out = 0.0 if to_the_end else 0.2 if situation.is_small else 0.1
    return Hyperparameters(
        learning_rate=read_real(parameters, "learning_rate", above=0, auto=rate),
        weight_decay=read_real(parameters, "weight_decay"),
        batch_size=batch,
        epochs=epochs,
        patience=read_count(parameters, "patience", epochs),
        validation_fraction=read_real(parameters, "validation_fraction", below=1, auto=held_out),
        time_limit=read_real(parameters, "time_limit", above=0),
        verbose=bool(parameters["verbose"]),
    )


def _batch_size(situation: _Situation, most: int) -> int:
    """Return a power of two that follows the rows."""
    share = situation.n_rows / (25 if situation.is_brisk else 40)
    power = 2 ** math.floor(math.log2(max(1.0, share)))
    return min(max(128 if situation.is_brisk else 64, power), most)


def _epochs(situation: _Situation, batch: int) -> int:
    """Return how often the rows are seen."""
    n_rows, clarity, small = situation.n_rows, situation.clarity, situation.is_small
    if small and situation.has_teacher:
        steps = min(max(75, n_rows / 20), 150) if situation.is_brisk else 300
        wanted = steps / (1 - clarity) / math.ceil(n_rows / batch)
    elif small:
        wanted = 40
    else:
        unlimited = situation.thorough or n_rows < _PLENTY
        wanted = min(600_000 * (1 + clarity), math.inf if unlimited else 800_000) / n_rows
    least = 4 if situation.is_brisk and small else 8
    if situation.thorough and not small:
        least = _BEST_EPOCHS
    most = 100
    if situation.has_teacher and not small:
        most = min(max(4, round(90 * clarity)), 100)
    return min(max(least, round(wanted)), most)


def _architecture(network: str | Architecture, preset: str, n_rows: int) -> Architecture:
    """Return the network's shape; a shape given in full is taken as it is."""
    read_choice("preset", preset, PRESETS)
    architecture = find_architecture(network)
    if preset == "default" or isinstance(network, Architecture):
        return architecture
    if network != "set":
        raise InvalidInputError(
            f"preset='best' must go with network='set', whose members it trains, got {network!r}; "
            "leave preset out, or give an Architecture of your own"
        )
    members = _MEMBERS if n_rows < _MANY else _MANY_MEMBERS
    return replace(architecture, members=members, marginal_layers=_BEST_LAYERS)
