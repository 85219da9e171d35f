"""``sasanet report``: a model and a table in, one page to read and pass on out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sasanet.cli import options
from sasanet.cli.files.writing import check_free, replacing
from sasanet.cli.terminal import Terminal, command


@command
def report(
    terminal: Terminal,
    model: options.ModelPath,
    table: options.TablePath,
    out: Annotated[Path, typer.Option(help="The page to write.", show_default=False)],
    target: options.MaybeTarget = None,
    group: Annotated[
        str | None,
        typer.Option(help="A column to compare groups of rows by.", show_default=False),
    ] = None,
    encoding: options.Encoding = "utf-8",
    force: options.Force = False,
) -> None:
    """Write a page about the model: how good, how faithful, what matters."""
    check_free(out, force, table)
    from sasanet.cli.files import column_types
    from sasanet.cli.files.chunks import load_model
    from sasanet.cli.files.reading import open_table, read_whole
    from sasanet.report import write_report

    fitted = load_model(model, terminal)
    source, names = open_table(table, encoding), list(fitted.encoder_.names)
    column_types.check_columns(source, names)
    labelled = column_types.pick(source, [target] if target else [], "--target")
    grouped = column_types.pick(source, [group] if group else [], "--group")
    wanted = list(dict.fromkeys([*names, *labelled, *grouped]))
    with terminal.progress(f"reading {table.name}") as tick:
        chunk = read_whole(source, wanted, tick)
    frame = column_types.as_trained(chunk, fitted.encoder_.columns)
    if target:
        frame[target] = column_types.labels_as_trained(chunk, target, fitted.target_.labels)
    if group and group not in frame:
        frame[group] = column_types.learn_column(chunk, group)[0]
    with terminal.progress(f"writing {out.name}"), replacing(out) as draft:
        write_report(fitted, frame, draft, target=target, group=group)
    terminal.say(f"Report on {len(frame):,} rows written to {out}.")
    terminal.result({"out": str(out), "rows": len(frame)})
