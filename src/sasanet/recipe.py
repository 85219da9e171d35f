"""Constructor parameters, the number of rows and how clear the labels are in, a recipe out.

Everything "auto" becomes a number here, so that 300 rows do not overfit and 300,000 do not
underfit. The *clarity* c of the labels, between 0 (noise) and 1, is what the teacher foresees of
them (:mod:`sasanet.teacher`; 0 without one): clean labels allow more steps and less holding back.

========================  ===================  ===================================================
                          below 10,000 rows    from 10,000 rows
========================  ===================  ===================================================
learning_rate             4e-3                 4e-3 below 20,000 rows, else 2e-3
batch_size                rows / 25 (from 20,000 rows on rows / 40) rounded down to a power of two,
                          between 128 and 512; 128 at most for the paper's sequence modules
max_epochs                s / (1 − c) steps    600,000 · (1 + c) / rows, from 40,000 rows on at
                          (4 to 100 epochs)    most 800,000 / rows (8 to 100 epochs, "best": 12 to
                                               100 and no such limit); with a teacher at most
                                               90 · c, or 4 if that is less
validation_fraction       0                    0
patience                  all epochs: the learning rate must reach zero
dropout                   0.3 · (1 − c)        0.1 · (1 − c)
teacher                   half of every label; 0 for the paper's sequence modules
members                   1; for "best" 2, from 100,000 rows 4, of two layers of 256 units
attribution_steps         batches of 128 (rate 2e-3); 20 per row in total, 60,000 to 250,000 rows
                          (only for Shapley modules that learn: the default has nothing to learn)
========================  ===================  ===================================================

with s = rows / 20, between 75 and 150. "best" takes more and smaller steps: rate 2e-3, batches of
rows / 40 and at least 64, below 10,000 rows 300 / (1 − c) steps (8 to 100 epochs). So does whoever
learns without a teacher, there for 40 epochs at most. Without one, or with a ``patience`` of the
user's own, some rows choose the best epoch: a tenth of them, below 10,000 rows a fifth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

from sasanet.architecture import Architecture, named
from sasanet.errors import InvalidInputError
from sasanet.training import Phase

PRESETS = ("default", "best")
_MEMBERS, _MANY_MEMBERS = 2, 4  # of the "best" preset; more of them overfit tables of fewer rows
_MANY = 100_000  # rows
_BEST_LAYERS = (256, 256)
_THOROUGH_EPOCHS = 12  # at least, for "best" and large tables
_TEACHER = 0.5
_SMALL = 10_000  # rows below which a network of this size needs more holding back
_PLENTY = 40_000  # rows from which clear labels need to be seen no more often than others
_FEW = 20_000  # rows below which large steps are as good as twice as many small ones
_RATE, _LARGE_RATE = 2e-3, 4e-3
# A step of the sequence module costs many times one of the set module: with 512 rows it would take
# few of them. After a minute on census income the AUC of held-out rows is 0.929 with 512 rows a
# step and 0.946 with 128.
_BATCH, _SEQUENCE_BATCH = 512, 128
_ATTRIBUTION_BATCH = 128  # many small steps: what limits distillation is the noise of its targets

# What the docstrings of all estimators say of the parameters read here, indented as they stand.
PEAK_TEXT = "Peak learning rate: a short warm-up, then half a cosine down to zero."
DECAY_TEXT = """weight_decay : float, default=1e-2
        Decay of the feed-forward matrices."""
PATIENCE_TEXT = """patience : int or "auto", default="auto"
        Epochs without a better validation loss before training stops; "auto" never stops early, so
        that the learning rate reaches zero. The best weights are kept."""
RUNNING_TEXT = """time_limit : float, default=inf
        Seconds; the learning rate reaches zero in time.
    categorical : sequence of str or int, default=()
        Number columns that are codes, to be read as categories.
    device : str, default="auto"
        ``"cpu"``, ``"cuda"``, ``"mps"``, or the fastest one present.
    random_state : int, RandomState or None, default=None
        One seed gives equal weights on CPU.
    verbose : bool, default=False
        Show a progress bar."""


@dataclass(frozen=True, kw_only=True)
class Schedule:
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
class Recipe(Schedule):
    """Every number of one fit of SASANet."""

    n_rows: int  # with those held out
    architecture: Architecture
    dropout: float
    attribution_steps: int
    attribution_rate: float  # a learning rate too: distillation has no use for large steps
    teacher: float


def resolve(parameters: dict[str, Any], n_rows: int, clarity: float = 0.0) -> Recipe:
    """Check an estimator's parameters and replace every "auto"."""
    architecture = _architecture(parameters["network"], parameters["preset"], n_rows)
    teacher = _TEACHER if architecture.marginal == "set" else 0.0
    teacher = read_real(parameters, "teacher", below=1, auto=teacher)
    taught, thorough = teacher > 0, parameters["preset"] == "best"
    batch = _BATCH if architecture.marginal == "set" else _SEQUENCE_BATCH
    dropout = (0.3 if n_rows < _SMALL else 0.1) * (1 - clarity)
    draws = min(max(20 * n_rows, 60_000), 250_000)
    return Recipe(
        **vars(schedule(parameters, n_rows, clarity, taught, thorough, batch)),
        n_rows=n_rows,
        architecture=architecture,
        dropout=read_real(parameters, "dropout", below=1, auto=dropout),
        attribution_steps=read_count(
            parameters, "attribution_steps", math.ceil(draws / _ATTRIBUTION_BATCH), least=0
        ),
        attribution_rate=read_real(parameters, "learning_rate", above=0, auto=_RATE),
        teacher=teacher,
    )


def schedule(
    parameters: dict[str, Any],
    n_rows: int,
    clarity: float = 0.0,
    taught: bool = False,
    thorough: bool = False,
    most_rows: int = _BATCH,
) -> Schedule:
    """Check what every estimator has of parameters and replace every "auto".

    ``taught``: the teacher's clarity says how long to train, so all rows are learned from and the
    last epoch is kept. ``thorough``: more and smaller steps; the rows of a large table are seen at
    least 12 times. ``most_rows``: of a batch.
    """
    small, brisk = n_rows < _SMALL, n_rows < _FEW and taught and not thorough
    fitting = 2 ** math.floor(math.log2(max(1.0, n_rows / (25 if brisk else 40))))
    least = 128 if brisk else 64
    batch = read_count(parameters, "batch_size", min(max(least, fitting), most_rows))
    if small and taught:
        steps = min(max(75, n_rows / 20), 150) if brisk else 300
        wanted = steps / (1 - clarity) / math.ceil(n_rows / batch)
    else:
        seen = min(600_000 * (1 + clarity), math.inf if thorough or n_rows < _PLENTY else 800_000)
        wanted = 40 if small else seen / n_rows
    fewest = _THOROUGH_EPOCHS if thorough and not small else 4 if brisk and small else 8
    rate = _LARGE_RATE if brisk else _RATE
    most = 100 if small or not taught else min(max(4, round(90 * clarity)), 100)
    epochs = read_count(parameters, "max_epochs", min(max(fewest, round(wanted)), most))
    unjudged = taught and parameters["patience"] == "auto"
    held_out = 0.0 if unjudged else 0.2 if small else 0.1
    return Schedule(
        learning_rate=read_real(parameters, "learning_rate", above=0, auto=rate),
        weight_decay=read_real(parameters, "weight_decay"),
        batch_size=batch,
        epochs=epochs,
        patience=read_count(parameters, "patience", epochs),
        validation_fraction=read_real(parameters, "validation_fraction", below=1, auto=held_out),
        time_limit=read_real(parameters, "time_limit", above=0),
        verbose=bool(parameters["verbose"]),
    )


def _architecture(network: str | Architecture, preset: str, n_rows: int) -> Architecture:
    """Return the network's shape; a shape given in full is taken as it is."""
    if preset not in PRESETS:
        raise InvalidInputError(f"preset must be one of {PRESETS}, however: {preset!r}")
    architecture = named(network)
    if network != "set" or preset == "default":
        return architecture
    members = _MEMBERS if n_rows < _MANY else _MANY_MEMBERS
    return replace(architecture, members=members, marginal_layers=_BEST_LAYERS)


def make_phases(recipe: Recipe, n_rows: int) -> tuple[Phase, ...]:
    """Return what is trained, in turn: prediction first, then its attributions."""
    arch = recipe.architecture
    steps = recipe.steps(n_rows)
    explains = arch.attribution != "none"
    distils = explains and arch.attribution != "closed_form"  # a formula has nothing to learn
    if arch.marginal == "set":
        phases = [Phase("value", ("marginal",), steps, recipe.batch_size, recipe.learning_rate)]
    else:
        parts = ("marginal", "attribution") if explains else ("marginal",)
        phases = [Phase("joint", parts, steps, recipe.batch_size, recipe.learning_rate)]
    if distils and recipe.attribution_steps:
        parts = ("attribution",)
        phases.append(
            Phase(
                "attribution",
                parts,
                recipe.attribution_steps,
                _ATTRIBUTION_BATCH,
                recipe.attribution_rate,
            )
        )
    return tuple(phases)


def read_real(
    parameters: dict[str, Any],
    name: str,
    above: float | None = None,
    below: float = math.inf,
    auto: float | None = None,
) -> float:
    """Return a parameter that must be a number of at least 0 (or above a bound), or "auto"."""
    value = parameters[name]
    if auto is not None and isinstance(value, str) and value == "auto":
        return auto
    real = isinstance(value, Real) and not isinstance(value, bool)
    number = float(value) if real else math.nan
    fits = number > above if above is not None else number >= 0
    if not (fits and (number < below or name == "time_limit")):
        floor = f"above {above}" if above is not None else "at least 0"
        ceiling = f" and below {below}" if below < math.inf else ""
        choice = "'auto' or " if auto is not None else ""
        must = f"{choice}a number {floor}{ceiling}"
        raise InvalidInputError(f"{name} must be {must}, however: {value!r}")
    return number


def read_count(
    parameters: dict[str, Any], name: str, auto: int | None = None, least: int = 1
) -> int:
    """Return a parameter that must be a whole number, or "auto"."""
    value = parameters[name]
    if auto is not None and isinstance(value, str) and value == "auto":
        return auto
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        choice = "'auto' or " if auto is not None else ""
        raise InvalidInputError(
            f"{name} must be {choice}a whole number of at least {least}, however: {value!r}"
        )
    return int(value)
