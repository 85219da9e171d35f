"""Every "auto" becomes a number: the settings of one fit, from parameters, rows and labels.

Everything "auto" is chosen here, so that 300 rows do not overfit and 300,000 do not underfit. The
*clarity* c of the labels, between 0 (noise) and 1, is the share of their spread that out-of-fold
predictions of the teachers explain (``teachers/panel.py``; 0 without any), and the *roughness* the
share of trees among them: clear labels allow more steps and less regularisation, smooth tables need
fewer knots.

========================  ===================  ===================================================
parameter                 below 10,000 rows    from 10,000 rows
========================  ===================  ===================================================
learning_rate             4e-3                 4e-3 below 20,000 rows, else 2e-3
batch_size                rows / 25 (from 20,000 rows on rows / 40) rounded down to a power of two,
                          between 128 and 512; from 2 million rows on 1,024, from 4 million 2,048;
                          128 at most for the paper's sequence modules
------------------------  ------------------------------------------------------------------------
max_epochs                s / (1 − c) steps,   600,000 · (1 + c) / rows, from 40,000 rows on at
                          at most 2,400        most 800,000 / rows (8 to 100 epochs, "best": 12 to
                          (4 to 100 epochs)    100 and no such limit); from a million rows on
                                               16,000 steps are enough (2 to 8 epochs)
patience                  all epochs: the learning rate must reach zero
------------------------  ------------------------------------------------------------------------
teacher_weight            0.4 to 0.9 of every label, by how much the teachers lose when they learn
                          from half of the rows (``teachers/panel.py``); 0 for the paper's sequence
                          modules, unless teachers of your own are given
------------------------  ------------------------------------------------------------------------
knots of a number         32, on rough tables more: 32 · (rows · c / (1 − c) / 5,000)^0.8, at most
                          128; an Architecture of your own says how many
------------------------  ------------------------------------------------------------------------
members                   1; for "best" 2, from 100,000 rows 4, of two layers of 256 units
------------------------  ------------------------------------------------------------------------
attribution_steps         batches of 128 (rate 2e-3); 20 per row in total, 60,000 to 250,000 rows
                          (only for Shapley modules that learn: the default has nothing to learn)
------------------------  ------------------------------------------------------------------------
dropout                   0.3 · (1 − c)        0.1 · (1 − c)
augmented rows            8 for each           none (``teachers/augmentation.py``)
validation_fraction       0                    0
========================  ===================  ===================================================

Labels of quantiles are not softened, but trees tell how clear they are (``teachers/clarity.py``),
which decides about dropout alone.

Where the rules fall short, the table itself says so: from 1,000 rows on a tenth of them (at most
2,000) judge whether the network foresees as much as its teachers. One that is behind by more than
two standard errors goes on, from labels that are the teachers' for nine tenths, for as many steps
again and then for twice as many, as long as it gains (``training/yardstick.py``); a ``max_epochs``
or ``teacher_weight`` of your own is taken as it is.

In the table, s = 0.15 rows, between 225 and 450. "best" takes more and smaller steps: rate 2e-3,
batches of rows / 40 and at least 64, s = 450. Labels that no teacher foresees at all are seen 4
times. Without teachers there are at most 40 epochs below 10,000 rows, and some rows choose the best
one, as with a ``patience`` of the user's own: a tenth of them, below 10,000 rows a fifth.
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
_SMALL = 10_000  # rows below which a network of this size needs more regularisation
_FEWEST_KNOTS = 32
_SIGNAL = 5_000  # rows whose labels are as clear as noisy, which need no more than these
_PLENTY = 40_000  # rows from which clear labels need to be seen no more often than others
_MOST_EPOCHS = 100
_NOISE_EPOCHS = 4  # of labels that no teacher foresees, and that are left as they are
_MOST_STEPS = 2_400  # on a small table: no table gained from more
_FEW = 20_000  # rows below which large steps are as good as twice as many small ones
_RATE, _LARGE_RATE = 2e-3, 4e-3
# The table of vectors is made anew in every step: of 512 rows it is half of the work. And very many
# rows need not be seen eight times: they get as many steps as a million of them, of larger batches.
_VERY_MANY, _LARGEST_BATCH = 1_000_000, 2_048
_ENOUGH_STEPS, _FEWEST_EPOCHS = 16_000, 2
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
    teacher_weight: float | None  # None: the teachers' learning curve decides


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
    parameters: dict[str, Any],
    n_rows: int,
    clarity: float = 0.0,
    roughness: float = 1.0,
    own_teachers: bool = False,
) -> SASANetHyperparameters:
    """Check the parameters of SASANet and replace every "auto"."""
    architecture = _architecture(parameters["network"], parameters["preset"], n_rows)
    is_set = architecture.marginal == "set"
    teacher = _teacher_weight(parameters, is_set, own_teachers)
    if parameters["network"] == "set" and clarity > 0 and teacher != 0:
        n_knots = _knots(n_rows, clarity, roughness, architecture.n_knots)
        architecture = replace(architecture, n_knots=n_knots)
    situation = _Situation(n_rows, clarity, teacher != 0, parameters["preset"] == "best")
    dropout = (0.3 if situation.is_small else 0.1) * (1 - clarity)
    parameters = parameters | {"weight_decay": architecture.weight_decay}
    draws = min(max(20 * n_rows, 60_000), 250_000)
    steps = architecture.attribution_steps
    return SASANetHyperparameters(
        **vars(_training(parameters, situation, _BATCH if is_set else _SEQUENCE_BATCH)),
        architecture=architecture,
        dropout=dropout if architecture.dropout == "auto" else float(architecture.dropout),
        attribution_steps=math.ceil(draws / ATTRIBUTION_BATCH) if steps is None else steps,
        attribution_rate=read_real(parameters, "learning_rate", above=0, auto=_RATE),
        teacher_weight=teacher,
    )


def _teacher_weight(parameters: dict[str, Any], is_set: bool, own: bool) -> float | None:
    """Return the weight of the teachers; ``None``: their learning curve decides."""
    weight = read_real(parameters, "teacher_weight", below=1, auto=0.0)
    if isinstance(parameters["teacher_weight"], str):  # "auto"
        return None if is_set or own else 0.0
    if own and weight == 0:
        raise InvalidInputError(
            "teachers must be 'auto' where teacher_weight=0 leaves them out, got estimators; raise "
            "teacher_weight, or give no teachers"
        )
    return weight


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
    batch = min(max(128 if situation.is_brisk else 64, power), most)
    if most < _BATCH or situation.thorough or situation.n_rows < _VERY_MANY:
        return batch
    larger = batch * 2 ** math.floor(math.log2(situation.n_rows / _VERY_MANY))
    return min(larger, _LARGEST_BATCH)


def _epochs(situation: _Situation, batch: int) -> int:
    """Return how often the rows are seen."""
    n_rows, clarity, small = situation.n_rows, situation.clarity, situation.is_small
    if situation.has_teacher and clarity == 0:
        return _NOISE_EPOCHS
    if small and situation.has_teacher:
        steps = min(max(450 if situation.thorough else 225, 0.15 * n_rows), 450) / (1 - clarity)
        wanted = min(steps, _MOST_STEPS) / math.ceil(n_rows / batch)
    elif small:
        wanted = 40
    else:
        unlimited = situation.thorough or n_rows < _PLENTY
        clear = clarity if situation.has_teacher else 0.0  # of labels that nobody softens
        wanted = min(600_000 * (1 + clear), math.inf if unlimited else 800_000) / n_rows
    least = 4 if situation.is_brisk and small else 8
    if situation.thorough and not small:
        least = _BEST_EPOCHS
    elif n_rows >= _VERY_MANY:
        enough = math.ceil(_ENOUGH_STEPS * batch / n_rows)
        least = max(_FEWEST_EPOCHS, min(least, enough))
    return min(max(least, round(wanted)), _MOST_EPOCHS)


def _knots(n_rows: int, clarity: float, roughness: float, most: int) -> int:
    """Return how many knots of a number the labels can tell apart: signal over noise, by rows.

    A table that smooth teachers foresee as well as rough ones needs few, however many rows it has.
    """
    signal = n_rows * clarity / (1 - clarity)
    rough = min(max(_FEWEST_KNOTS, _FEWEST_KNOTS * (signal / _SIGNAL) ** 0.8), most)
    return round(_FEWEST_KNOTS + roughness * (rough - _FEWEST_KNOTS))


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
