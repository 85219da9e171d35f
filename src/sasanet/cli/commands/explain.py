"""``sasanet explain``: attributions for every row of a table, in bounded memory."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sasanet.cli import options
from sasanet.cli.files.writing import check_format, check_free, is_folder, open_writer
from sasanet.cli.terminal import Terminal, command
from sasanet.errors import InvalidInputError

if TYPE_CHECKING:
    from sasanet.cli.files.model_rows import RowBatches
    from sasanet.estimator.sasanet import SASANetModel


@command
def explain(
    terminal: Terminal,
    model: options.ModelPath,
    table: options.TablePath,
    out: options.OutTable,
    top: Annotated[int, typer.Option(help="Also write the N strongest reasons.", min=0)] = 0,
    orders: Annotated[
        int, typer.Option(help="Refine by sampling N orders of the features.", min=0)
    ] = 0,
    max_error: Annotated[
        float | None,
        typer.Option(help="Refine until every standard error is below this.", show_default=False),
    ] = None,
    of_class: Annotated[
        str | None,
        typer.Option("--class", help="Of several classes, explain this one.", show_default=False),
    ] = None,
    groups: options.GroupsFile = None,
    units: options.UnitsOfPhi = options.Units.raw,
    row_name: options.RowName = None,
    encoding: options.Encoding = "utf-8",
    force: options.Force = False,
) -> None:
    """Explain every prediction: base value plus one number per feature.

    The columns are row (1 is the first), prediction, base_value, reason_1 … (with --top), phi_… for
    every feature or group of features, and error_… (if refined). Base value and all phi add up to
    the prediction. A Parquet table may go into a folder: its files are written by all cores, and
    the same command goes on where an interrupted one stopped. In CSV files, text that a spreadsheet
    would take for a formula begins with an apostrophe.
    """
    as_folder = is_folder(out, table)
    if not as_folder:
        check_format(out)
        check_free(out, force, table)
    from sasanet.cli.files.json_objects import read_object
    from sasanet.cli.files.model_rows import RowBatches, load_model
    from sasanet.cli.files.part_files import write_folder
    from sasanet.scale.work import Explaining

    fitted = load_model(model, terminal)
    _check_class(fitted, of_class)
    grouped = read_object(groups, "--groups", '{"address": ["street", "zip"]}')
    work = Explaining(orders, max_error, top, of_class, grouped, units)
    if as_folder:
        write_folder(terminal, fitted, table, out, work, row_name, force)
        return
    batches = RowBatches(fitted, table, encoding, row_name, work.columns(fitted))
    start = time.perf_counter()
    with terminal.progress(f"explaining {table.name}") as tick, open_writer(out) as writer:
        for X, rows in batches:
            writer.write(work.frame(fitted, X, rows))
            tick(batches.table.share_read())
    _summarise(terminal, batches, of_class, out, time.perf_counter() - start)


def _check_class(fitted: SASANetModel, of_class: str | None) -> None:
    """Refuse a class that the model does not have, or has no output of its own."""
    classes = [str(label) for label in fitted.target_.labels]
    if of_class is None:
        return
    if len(classes) < 3:
        raise InvalidInputError(
            f"--class must be left out where a model has one output, got {of_class!r}."
        )
    if of_class not in classes:
        raise InvalidInputError(f"--class must be one of {classes}, got {of_class!r}.")


def _summarise(
    terminal: Terminal, batches: RowBatches, of_class: str | None, out: Path, seconds: float
) -> None:
    model = batches.model
    units, base = model.target_.units, model.base_value_.tolist()
    if of_class is not None:
        base = [base[[str(label) for label in model.target_.labels].index(of_class)]]
    terminal.say(
        f"Explained {batches.n_rows:,} rows in {seconds:.1f} s, in units of {units}; written to "
        f"{out}."
    )
    terminal.result(
        {
            "out": str(out),
            "rows": batches.n_rows,
            "seconds": round(seconds, 3),
            "units": units,
            "base_value": base[0] if len(base) == 1 else base,
            "features": list(model.encoder_.names),
        }
    )
