"""``sasanet audit``: a model and rows it has not seen in, a certificate out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sasanet.cli import options
from sasanet.cli.files.writing import check_free, replacing
from sasanet.cli.terminal import Terminal, command
from sasanet.errors import InvalidInputError


@command
def audit(
    terminal: Terminal,
    model: options.ModelPath,
    table: options.TablePath,
    target: options.MaybeTarget = None,
    rows: Annotated[int, typer.Option(help="Rows to judge, drawn at random.", min=2)] = 256,
    orders: Annotated[int, typer.Option(help="Random orders per row.", min=4)] = 400,
    out: Annotated[
        Path | None, typer.Option(help="A JSON file to write as well.", show_default=False)
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Save the certificate with the model.")
    ] = False,
    encoding: options.Encoding = "utf-8",
    force: options.Force = False,
) -> None:
    """Measure how true the explanations are, on rows best not seen in training."""
    if out is not None:
        check_free(out, force, table)
    from sasanet.cli.files.chunks import load_model
    from sasanet.cli.files.column_types import as_trained, check_columns, labels_as_trained, pick
    from sasanet.cli.files.reading import open_table, read_whole

    fitted = load_model(model, terminal)
    if keep and hasattr(fitted, "audit_") and not force:
        raise InvalidInputError(
            f"{model} has a certificate already; leave out --keep, or add --force to replace it."
        )
    source, names = open_table(table, encoding), list(fitted.encoder_.names)
    check_columns(source, names)
    labelled = pick(source, [target] if target else [], "--target")
    with terminal.progress(f"reading {table.name}") as tick:
        chunk = read_whole(source, [*names, *labelled], tick)
    X, y = as_trained(chunk, fitted.encoder_.columns), None
    if target:
        y = labels_as_trained(chunk, target, fitted.target_.labels)
    with terminal.progress(f"auditing {min(rows, len(X))} rows"):
        found = fitted.audit(X, y, n_rows=rows, n_orders=orders)
    if out is not None:
        with replacing(out) as draft:
            found.save(draft)
    if keep:
        fitted.save(model)
    terminal.say(str(found))
    terminal.result(found.to_dict())
