"""``sasanet predict``: predictions for every row of a table, in bounded memory."""

from __future__ import annotations

import time

from sasanet.cli import options
from sasanet.cli.files.writing import check_format, check_free, open_writer
from sasanet.cli.terminal import Terminal, command


@command
def predict(
    terminal: Terminal,
    model: options.ModelPath,
    table: options.TablePath,
    out: options.OutTable,
    row_name: options.RowName = None,
    encoding: options.Encoding = "utf-8",
    force: options.Force = False,
) -> None:
    """Predict every row of a table.

    In CSV files, text that a spreadsheet would take for a formula begins with an apostrophe.
    """
    check_format(out)
    check_free(out, force, table)
    from sasanet.cli.files.model_rows import RowBatches, load_model
    from sasanet.cli.files.output_columns import prediction_columns, prediction_frame

    fitted = load_model(model, terminal)
    batches = RowBatches(fitted, table, encoding, row_name, prediction_columns(fitted))
    start = time.perf_counter()
    with terminal.progress(f"predicting {table.name}") as tick, open_writer(out) as writer:
        for X, rows in batches:
            writer.write(prediction_frame(fitted, X, rows))
            tick(batches.table.share_read())
    seconds = time.perf_counter() - start
    terminal.say(f"Predicted {batches.n_rows:,} rows in {seconds:.1f} s; written to {out}.")
    terminal.result({"out": str(out), "rows": batches.n_rows, "seconds": round(seconds, 3)})
