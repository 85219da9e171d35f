"""``sasanet report``: a model and a table in, one page to read and pass on out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sasanet.cli import options
from sasanet.cli.terminal import Terminal, command
from sasanet.cli.writing import check_free, replacing


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
    from sasanet.cli import columns
    from sasanet.cli.reading import open_table, read_whole
    from sasanet.cli.streaming import load_model
    from sasanet.report import write_report

    fitted = load_model(model, terminal)
    source, names = open_table(table, encoding), list(fitted.encoder_.names)
    columns.check_columns(source, names)
    labelled = columns.pick(source, [target] if target else [], "--target")
    grouped = columns.pick(source, [group] if group else [], "--group")
    wanted = list(dict.fromkeys([*names, *labelled, *grouped]))
    with terminal.progress(f"reading {table.name}") as tick:
        chunk = read_whole(source, wanted, tick)
    frame = columns.as_trained(chunk, fitted.encoder_.columns)
    if target:
        frame[target] = columns.labels_as_trained(chunk, target, fitted.target_.labels)
    if group and group not in frame:
        frame[group] = columns.learn_column(chunk, group)[0]
    with terminal.progress(f"writing {out.name}"), replacing(out) as draft:
        write_report(fitted, frame, draft, target=target, group=group)
    terminal.say(f"Report on {len(frame):,} rows written to {out}.")
    terminal.result({"out": str(out), "rows": len(frame)})
