"""``sasanet fit``: learn to predict a column of a table, and save the model to a directory."""

from __future__ import annotations

import math
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import sasanet
from sasanet.cli import options
from sasanet.cli.files.writing import check_free_for_model
from sasanet.cli.options import Objective, Preset, Task
from sasanet.cli.terminal import INTERRUPTED, Terminal, command
from sasanet.errors import InterruptedFitWarning, InvalidInputError, warn_user

if TYPE_CHECKING:
    from sasanet.cli.files.labels import TrainingTable


@command
def fit(
    terminal: Terminal,
    table: options.TablePath,
    target: options.Target,
    out: Annotated[Path, typer.Option(help="Directory for the model.", show_default=False)],
    task: options.TaskType = Task.auto,
    exclude: options.Exclude = None,
    categorical: options.Categorical = None,
    monotone: options.Monotone = None,
    validation: Annotated[
        str | None,
        typer.Option(
            help="Rows that choose the best epoch: a share such as 0.2, or another table.",
            show_default=False,
        ),
    ] = None,
    time_limit: options.TimeLimit = None,
    scratch: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the encoded rows of a table too large for memory.",
            show_default="the system's",
        ),
    ] = None,
    kept: Annotated[
        Path | None,
        typer.Option(
            "--checkpoint",
            help="Folder for the state of the fit: repeated after a kill, the command goes on.",
            show_default=False,
        ),
    ] = None,
    preset: Annotated[
        Preset, typer.Option(help="'best' is more accurate and several times slower.")
    ] = Preset.default,
    objective: Annotated[
        Objective, typer.Option(help="Of a regression: what is predicted, by its loss.")
    ] = Objective.squared,
    quantile: Annotated[
        list[float] | None,
        typer.Option(help="With --objective quantile: which one; repeatable.", show_default="0.5"),
    ] = None,
    exposure: options.Exposure = None,
    balanced: Annotated[
        bool, typer.Option("--balanced", help="Weigh classes inversely to their frequencies.")
    ] = False,
    learn_attributions: Annotated[
        bool,
        typer.Option(
            "--learn-attributions",
            help="Also teach a module that explains many times faster than the formula.",
        ),
    ] = False,
    seed: options.Seed = 0,
    encoding: options.Encoding = "utf-8",
    force: options.Force = False,
) -> None:
    """Learn to predict a column of a table, and save the model."""
    check_free_for_model(out, force)
    from sasanet.cli.files.labels import read_training_table
    from sasanet.cli.files.reading import open_table

    source = open_table(table, encoding)
    if objective is not Objective.squared and task is Task.auto:
        task = Task.regression
    data = read_training_table(
        terminal, source, target, task, exclude, categorical, exposure, in_parts=True
    )
    _announce(terminal, target, data, inferred=task is Task.auto)
    model = _make_model(data, terminal, time_limit, preset, seed)
    model.set_params(monotonic_cst=_read_directions(monotone))
    if balanced:
        _balance(model, data)
    _set_objective(model, data, objective, quantile)
    held_out = _read_validation(terminal, model, data, validation, encoding)
    start = time.perf_counter()
    interrupted = _train(model, data, held_out, terminal, {"scratch": scratch, "checkpoint": kept})
    seconds = time.perf_counter() - start
    if learn_attributions and not interrupted:
        _learn_attributions(terminal, model, data)
    model.save(out)
    _summarise(terminal, model, data, out, seconds, interrupted)
    if interrupted:
        raise typer.Exit(INTERRUPTED)


def _announce(terminal: Terminal, target: str, data: TrainingTable, inferred: bool) -> None:
    hint = "; --task sets it otherwise" if inferred else ""
    terminal.say(f"Target {target!r}: {data.task.value} ({data.why}){hint}.")
    for note in data.notes:
        terminal.note(f"Note: {note}")


def _make_model(
    data: TrainingTable, terminal: Terminal, time_limit: float | None, preset: str, seed: int
) -> Any:
    """Return the estimator for a task."""
    kind = sasanet.SASANetRegressor if data.is_regression else sasanet.SASANetClassifier
    return kind(
        preset=str(preset),
        time_limit=math.inf if time_limit is None else time_limit,
        categorical_features=data.codes,
        random_state=seed,
        verbose=terminal.is_watched,
    )


def _read_directions(given: list[str] | None) -> dict[str, int] | None:
    """Return the direction of each column that ``--monotone`` names."""
    directions = {}
    for pair in given or ():
        name, _, direction = pair.rpartition("=")
        if not name or direction not in ("-1", "0", "1", "+1"):
            raise InvalidInputError(
                f"--monotone must be a column with 1 or -1, such as age=1, got {pair!r}."
            )
        directions[name] = int(direction)
    return directions or None


def _balance(model: Any, data: TrainingTable) -> None:
    """Let rare classes count as much as frequent ones."""
    if data.is_regression:
        raise InvalidInputError("--balanced weighs classes, got a target of numbers; leave it out.")
    model.set_params(class_weight="balanced")


def _set_objective(
    model: Any, data: TrainingTable, objective: Objective, quantile: list[float] | None
) -> None:
    """Say what a regressor predicts."""
    plain = objective is Objective.squared and quantile is None and data.exposure is None
    if not data.is_regression and not plain:
        raise InvalidInputError(
            "--objective, --quantile and --exposure are for targets of numbers, got a target of "
            "classes; leave them out, or add --task regression"
        )
    if data.is_regression:
        levels = [0.5] if quantile is None else quantile
        model.set_params(objective=str(objective))
        model.set_params(quantile=levels if len(levels) > 1 else levels[0])


def _read_validation(
    terminal: Terminal, model: Any, data: TrainingTable, validation: str | None, encoding: str
) -> Any:
    """Give the model its validation share, or return the rows of another table."""
    if validation is None:
        return None
    if (share := _share(validation)) is not None:
        model.set_params(validation_fraction=share)
        return None
    from sasanet.cli.files.column_types import as_trained, check_columns, labels_as_trained
    from sasanet.cli.files.reading import open_table, read_whole
    from sasanet.table.encoder import TableEncoder

    table = open_table(Path(validation), encoding)
    target = str(data.y.name)
    amount = [] if data.exposure is None else [str(data.exposure.name)]
    wanted = [*data.X.columns, target, *amount]
    check_columns(table, wanted)
    with terminal.progress(f"reading {table.path.name}") as tick:
        chunk = read_whole(table, wanted, tick)
    columns = TableEncoder(categorical_features=data.codes).fit(data.X).columns
    classes = () if data.is_regression else tuple(data.y.unique().tolist())
    labelled = as_trained(chunk, columns), labels_as_trained(chunk, target, classes)
    return (*labelled, *(labels_as_trained(chunk, name, ()) for name in amount))


def _share(validation: str) -> float | None:
    """Return the option as a share of the rows, if it is one."""
    try:
        share = float(validation)
    except ValueError:
        return None
    if not 0 <= share < 1:
        raise InvalidInputError(
            f"--validation must be a table, or a share of at least 0 and below 1, got {validation}."
        )
    return share


def _train(
    model: Any, data: TrainingTable, held_out: Any, terminal: Terminal, folders: dict[str, Any]
) -> bool:
    """Fit, and return whether Ctrl-C ended it early."""
    if terminal.is_watched:
        terminal.note("Fitting: first trees and splines that soften the labels, then the network …")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", InterruptedFitWarning)
        options = {"validation": held_out} | folders
        if data.exposure is not None:
            options["exposure"] = data.exposure if data.source is None else data.exposure.name
        if data.source is None:
            model.fit(data.X, data.y, **options)
        else:
            model.fit(data.source, target=data.y.name, **options)
    interrupted = False
    for note in caught:
        if note.category is InterruptedFitWarning:
            interrupted = True
        else:
            warn_user(str(note.message), note.category)
    if interrupted:
        terminal.note("Training was interrupted: the best state so far is kept and saved.")
    return interrupted


def _learn_attributions(terminal: Terminal, model: Any, data: TrainingTable) -> None:
    """Teach the fast Shapley module, and say how close it came."""
    with terminal.progress("learning attributions"):
        model.learn_attributions(data.X)
    record = model.learned_attributions_
    terminal.say(
        f"Learned attributions from {record['rows']:,} rows in {record['seconds']:.1f} s: R² "
        f"{record['r2']['as given']:.4f} against the formula on held-out rows."
    )


def _summarise(
    terminal: Terminal,
    model: Any,
    data: TrainingTable,
    out: Path,
    seconds: float,
    interrupted: bool,
) -> None:
    from sasanet.table.columns import count_kinds

    columns = model.encoder_.columns
    terminal.say(
        f"Fitted on {len(data.y):,} rows and {len(columns)} columns ({count_kinds(columns)}) in "
        f"{seconds:.1f} s; saved to {out}."
    )
    terminal.result(
        {
            "model": str(out),
            "task": data.task.value,
            "why": data.why,
            "rows": len(data.y),
            "columns": len(columns),
            "seconds": round(seconds, 3),
            "interrupted": interrupted,
        }
    )
