"""``sasanet predict``: predictions for every row of a table, in bounded memory."""

from __future__ import annotations

import time

from sasanet.cli import options
from sasanet.cli.files.writing import check_format, check_free, is_folder, open_writer
from sasanet.cli.terminal import Terminal, command
from sasanet.errors import InvalidInputError


@command
def predict(
    terminal: Terminal,
    model: options.ModelPath,
    table: options.TablePath,
    out: options.OutTable,
    row_name: options.RowName = None,
    exposure: options.Exposure = None,
    encoding: options.Encoding = "utf-8",
    force: options.Force = False,
) -> None:
    """Predict every row of a table.

    A Parquet table may go into a folder: its files are written by all cores, and the same command
    goes on where an interrupted one stopped. Rates are for one unit of exposure, or with --exposure
    for that of each row. In CSV files, text that a spreadsheet would take for a
    formula begins with an apostrophe.
    """
    as_folder = is_folder(out, table)
    if as_folder and exposure:
        raise InvalidInputError(
            "--exposure goes with one file to write, got a folder; write a file, or multiply the "
            "predicted rates"
        )
    if not as_folder:
        check_format(out)
        check_free(out, force, table)
    from sasanet.cli.files.model_rows import RowBatches, load_model
    from sasanet.cli.files.part_files import write_folder
    from sasanet.scale.work import Predicting

    fitted, work = load_model(model, terminal), Predicting()
    if as_folder:
        write_folder(terminal, fitted, table, out, work, row_name, force)
        return
    batches = RowBatches(fitted, table, encoding, row_name, work.columns(fitted), exposure)
    start = time.perf_counter()
    with terminal.progress(f"predicting {table.name}") as tick, open_writer(out) as writer:
        for X, rows in batches:
            writer.write(work.frame(fitted, X, rows))
            tick(batches.table.share_read())
    seconds = time.perf_counter() - start
    terminal.say(f"Predicted {batches.n_rows:,} rows in {seconds:.1f} s; written to {out}.")
    terminal.result({"out": str(out), "rows": batches.n_rows, "seconds": round(seconds, 3)})
