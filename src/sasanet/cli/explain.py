"""``sasanet explain``: a model and a table in, attributions out, in bounded memory."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from sasanet.cli import options
from sasanet.cli.terminal import Terminal, command
from sasanet.cli.writing import check_format, check_free, open_sink
from sasanet.errors import InvalidInputError


@command
def explain(
    terminal: Terminal,
    model: options.ModelPath,
    table: options.TablePath,
    out: options.OutTable,
    top: Annotated[
        int, typer.Option(help="Also say the so many strongest reasons in words.", min=0)
    ] = 0,
    refine: Annotated[
        str,
        typer.Option(help="Correct by sampling: orders such as 32, or an error such as 0.01."),
    ] = "0",
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
    every feature and error_… (with --refine). Base value and all phi add up to the prediction.
    """
    check_format(out)
    check_free(out, force, table)
    effort = _effort(refine)
    from sasanet.cli.answers import explanations
    from sasanet.cli.streaming import Stream, load_model

    fitted = load_model(model, terminal)
    if of_class is not None:
        _check_class(of_class, fitted.target_.labels)
    stream, start = Stream(fitted, table, encoding, row_name), time.perf_counter()
    with terminal.progress(f"explaining {table.name}") as tick, open_sink(out) as sink:
        for X, rows in stream:
            found = fitted.explain(X, refine=effort)
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
        raise InvalidInputError(f"--class must be one of several classes, however: {known}.")


def _effort(text: str) -> int | float:
    """Read the option: whole numbers are orders, others a standard error."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise InvalidInputError(
            "--refine must be a number of orders such as 32, or a standard error such as 0.01, "
            f"however: {text!r}."
        ) from None
