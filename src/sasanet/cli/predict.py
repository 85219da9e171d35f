"""``sasanet predict``: a model and a table in, predictions out, in bounded memory."""

from __future__ import annotations

import time

import pandas as pd

from sasanet.cli import options
from sasanet.cli.streaming import Stream, load_model
from sasanet.cli.terminal import Terminal, command
from sasanet.cli.writing import check_format, check_free, open_sink
from sasanet.estimator import SelfExplainingModel


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
    fitted = load_model(model, terminal)
    stream, start = Stream(fitted, table, encoding, row_name), time.perf_counter()
    with terminal.progress(f"predicting {table.name}") as tick, open_sink(out) as sink:
        for X, rows in stream:
            sink.write(pd.concat([rows, _predictions(fitted, X)], axis=1))
            tick(stream.table.share_read())
    seconds = time.perf_counter() - start
    terminal.say(f"Predicted {stream.rows:,} rows in {seconds:.1f} s; written to {out}.")
    terminal.result({"out": str(out), "rows": stream.rows, "seconds": round(seconds, 3)})


def _predictions(model: SelfExplainingModel, X: pd.DataFrame) -> pd.DataFrame:
    """Return the answer of every row and, for classes, the probability of each."""
    answers: dict[str, object] = {"prediction": model.predict(X)}
    if hasattr(model, "predict_proba"):
        names = [f"probability_{label}" for label in model.target_.labels]
        answers |= dict(zip(names, model.predict_proba(X).T, strict=True))
    return pd.DataFrame(answers)
