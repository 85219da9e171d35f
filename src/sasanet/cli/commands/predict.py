"""``sasanet predict``: a model and a table in, predictions out, in bounded memory."""

from __future__ import annotations

import time

from sasanet.cli import options
from sasanet.cli.files.writing import check_format, check_free, open_sink
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
    """Predict every row of a table."""
    check_format(out)
    check_free(out, force, table)
    from sasanet.cli.files.answers import predictions
    from sasanet.cli.files.chunks import Stream, load_model

    fitted = load_model(model, terminal)
    stream, start = Stream(fitted, table, encoding, row_name), time.perf_counter()
    with terminal.progress(f"predicting {table.name}") as tick, open_sink(out) as sink:
        for X, rows in stream:
            sink.write(predictions(fitted, X, rows))
            tick(stream.table.share_read())
    seconds = time.perf_counter() - start
    terminal.say(f"Predicted {stream.rows:,} rows in {seconds:.1f} s; written to {out}.")
    terminal.result({"out": str(out), "rows": stream.rows, "seconds": round(seconds, 3)})
