"""``sasanet explain``: a model and a table in, attributions out, in bounded memory."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from sasanet.cli import options
from sasanet.cli.files.writing import check_format, check_free, open_sink
from sasanet.cli.terminal import Terminal, command
from sasanet.errors import InvalidInputError


@command
def explain(
    terminal: Terminal,
    model: options.ModelPath,
    table: options.TablePath,
    out: options.OutTable,
    top: Annotated[int, typer.Option(help="Also write the N strongest reasons.", min=0)] = 0,
    orders: Annotated[
        int, typer.Option(help="Refine by sampling so many orders of the features.", min=0)
    ] = 0,
    max_error: Annotated[
        float | None,
        typer.Option(help="Refine until every standard error is below this.", show_default=False),
    ] = None,
    of_class: Annotated[
        str | None,
        typer.Option("--class", help="Of several classes, explain this one.", show_default=False),
    ] = None,
    row_name: options.RowName = None,
    encoding: options.Encoding = "utf-8",
    force: options.Force = False,
) -> None:
    """Explain every prediction: base value plus one number per feature.

    The columns are row (1 is the first), prediction, base_value, reason_1 … (with --top), phi_… for
    every feature and error_… (if refined). Base value and all phi add up to the prediction.
    """
    check_format(out)
    check_free(out, force, table)
    from sasanet.cli.files.answers import explanations
    from sasanet.cli.files.chunks import Stream, load_model

    fitted = load_model(model, terminal)
    if of_class is not None:
        _check_class(of_class, fitted.target_.labels)
    stream, start = Stream(fitted, table, encoding, row_name), time.perf_counter()
    with terminal.progress(f"explaining {table.name}") as tick, open_sink(out) as sink:
        for X, rows in stream:
            found = fitted.explain(X, n_orders=orders, max_error=max_error)
            found = found if of_class is None else found.output(of_class)
            sink.write(explanations(found, top, rows))
            tick(stream.table.share_read())
    seconds = time.perf_counter() - start
    terminal.say(
        f"Explained {stream.rows:,} rows in {seconds:.1f} s, in units of {found.units}; written to "
        f"{out}."
    )
    terminal.result(
        {
            "out": str(out),
            "rows": stream.rows,
            "seconds": round(seconds, 3),
            "units": found.units,
            "base_value": found.base_values[0].tolist(),
            "features": list(found.feature_names),
        }
    )


def _check_class(wanted: str, labels: tuple[object, ...]) -> None:
    if len(labels) < 3 or wanted not in map(str, labels):
        known = f"{list(map(str, labels))}" if len(labels) > 2 else "this model has one output"
        raise InvalidInputError(f"--class must be one of several classes, got {known}.")
