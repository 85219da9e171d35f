"""``sasanet explain``: attributions for every row of a table, in bounded memory."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sasanet.cli import options
from sasanet.cli.files.writing import check_format, check_free, is_folder, open_writer
from sasanet.cli.terminal import Terminal, command

if TYPE_CHECKING:
    from sasanet.cli.files.model_rows import RowBatches
    from sasanet.explanation import Explanation


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
    of_class: options.OfClass = None,
    groups: options.GroupsFile = None,
    within: options.Within = False,
    units: options.UnitsOfPhi = options.Units.raw,
    method: options.MethodOfPhi = options.Method.auto,
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
    from sasanet.scale.output_columns import explanation_frame
    from sasanet.scale.work import Explaining

    fitted = load_model(model, terminal)
    grouped = read_object(groups, "--groups", '{"address": ["street", "zip"]}')
    work = Explaining(orders, max_error, top, of_class, grouped, units, method, within)
    if as_folder:
        write_folder(terminal, fitted, table, out, work, row_name, force)
        return
    batches = RowBatches(fitted, table, encoding, row_name, work.columns(fitted))
    start = time.perf_counter()
    with terminal.progress(f"explaining {table.name}") as tick, open_writer(out) as writer:
        for X, rows in batches:
            found = work.explain(fitted, X)
            writer.write(explanation_frame(found, top, rows))
            tick(batches.table.share_read())
    _summarise(terminal, batches, found, out, time.perf_counter() - start)


def _summarise(
    terminal: Terminal, batches: RowBatches, last: Explanation, out: Path, seconds: float
) -> None:
    terminal.say(
        f"Explained {batches.n_rows:,} rows in {seconds:.1f} s, in units of {last.units}; written "
        f"to {out}."
    )
    terminal.result(
        {
            "out": str(out),
            "rows": batches.n_rows,
            "seconds": round(seconds, 3),
            "units": last.units,
            "base_value": last.base_values[0].tolist(),
            "features": list(last.feature_names),
        }
    )
