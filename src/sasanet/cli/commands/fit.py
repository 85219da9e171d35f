"""``sasanet fit``: a table in, a model directory out."""

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
from sasanet.cli.options import Preset, Task
from sasanet.cli.terminal import INTERRUPTED, Terminal, command
from sasanet.errors import InterruptedFitWarning, InvalidInputError

if TYPE_CHECKING:
    from sasanet.cli.files.labels import Question


@command
def fit(
    terminal: Terminal,
    table: options.TablePath,
    target: options.Target,
    out: Annotated[Path, typer.Option(help="The model's directory.", show_default=False)],
    task: Annotated[Task, typer.Option(help="What the target asks; guessed if not given.")] = (
        Task.auto
    ),
    exclude: options.Exclude = None,
    categorical: options.Categorical = None,
    validation: Annotated[
        str | None,
        typer.Option(
            help="Rows that choose the best epoch: a share such as 0.2, or another table.",
            show_default=False,
        ),
    ] = None,
    time_limit: options.TimeLimit = None,
    preset: Annotated[
        Preset, typer.Option(help="'best' is more accurate and several times slower.")
    ] = Preset.default,
    seed: options.Seed = 0,
    encoding: options.Encoding = "utf-8",
    force: options.Force = False,
) -> None:
    """Learn to predict a column of a table, and keep the model."""
    check_free_for_model(out, force)
    from sasanet.cli.files.labels import read_question
    from sasanet.cli.files.reading import open_table

    source = open_table(table, encoding)
    question = read_question(terminal, source, target, task, exclude, categorical)
    hint = "; --task sets it otherwise" if task is Task.auto else ""
    terminal.say(f"Target {target!r}: {question.task.value} ({question.why}){hint}.")
    for note in question.notes:
        terminal.note(f"Note: {note}")
    model = make_model(question, terminal, time_limit, preset, seed)
    extra = _read_validation(terminal, model, question, validation, encoding)
    start = time.perf_counter()
    interrupted = _train(model, question, extra, terminal)
    seconds = time.perf_counter() - start
    model.save(out)
    _tell(terminal, model, question, out, seconds, interrupted)
    if interrupted:
        raise typer.Exit(INTERRUPTED)


def _tell(
    terminal: Terminal, model: Any, question: Question, out: Path, seconds: float, interrupted: bool
) -> None:
    kinds = model.encoder_.is_number
    terminal.say(
        f"Fitted on {len(question.X):,} rows and {len(kinds)} columns ({sum(kinds)} numbers, "
        f"{len(kinds) - sum(kinds)} categories) in {seconds:.1f} s; saved to {out}."
    )
    terminal.result(
        {
            "model": str(out),
            "task": question.task.value,
            "why": question.why,
            "rows": len(question.X),
            "columns": len(kinds),
            "seconds": round(seconds, 3),
            "interrupted": interrupted,
        }
    )


def make_model(
    question: Question, terminal: Terminal, time_limit: float | None, preset: str, seed: int
) -> Any:
    """Return the estimator for a question."""
    kind = sasanet.SASANetRegressor if question.is_regression else sasanet.SASANetClassifier
    return kind(
        preset=str(preset),
        time_limit=math.inf if time_limit is None else time_limit,
        categorical_features=question.codes,
        random_state=seed,
        verbose=terminal.is_watched,
    )


def _train(model: Any, question: Question, extra: Any, terminal: Terminal) -> bool:
    """Fit, and tell whether Ctrl-C ended it early."""
    if terminal.is_watched:
        terminal.note("Learning: boosted trees read the table first, then the network trains …")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", InterruptedFitWarning)
        model.fit(question.X, question.y, validation=extra)
    interrupted = any(note.category is InterruptedFitWarning for note in caught)
    for note in caught:
        if note.category is not InterruptedFitWarning:
            warnings.warn(note.message, note.category, stacklevel=2)
    if interrupted:
        terminal.note("Training was interrupted: the best state so far is kept and saved.")
    return interrupted


def _read_validation(
    terminal: Terminal, model: Any, question: Question, validation: str | None, encoding: str
) -> Any:
    """Tell the model which share of the rows to stop by, or return the rows of another table."""
    if validation is None:
        return None
    if (share := _share(validation)) is not None:
        model.set_params(validation_fraction=share)
        return None
    from sasanet.cli.files.column_types import as_trained, check_columns, labels_as_trained
    from sasanet.cli.files.reading import open_table, read_whole
    from sasanet.table.encoder import TableEncoder

    table, target = open_table(Path(validation), encoding), str(question.y.name)
    columns = TableEncoder(categorical_features=question.codes).fit(question.X).columns
    check_columns(table, [*question.X.columns, target])
    with terminal.progress(f"reading {table.path.name}") as tick:
        chunk = read_whole(table, [*question.X.columns, target], tick)
    classes = () if question.is_regression else tuple(question.y.unique().tolist())
    return as_trained(chunk, columns), labels_as_trained(chunk, target, classes)


def _share(validation: str) -> float | None:
    """Return the option as a share of the rows, if it is one."""
    try:
        share = float(validation)
    except ValueError:
        return None
    if not 0 <= share < 1:
        raise InvalidInputError(
            f"--validation must be a share from 0 to below 1 or a table, got {validation}."
        )
    return share
