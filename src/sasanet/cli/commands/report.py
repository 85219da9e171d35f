"""``sasanet report``: one HTML page about a model and a table, to read and pass on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sasanet.cli import options
from sasanet.cli.files.writing import check_free
from sasanet.cli.terminal import Terminal, command


@command
def report(
    terminal: Terminal,
    model: options.ModelPath,
    table: options.TablePath,
    out: Annotated[Path, typer.Option(help="HTML file to write.", show_default=False)],
    target: options.LabelColumn = None,
    group: Annotated[
        str | None, typer.Option(help="Column to group rows by.", show_default=False)
    ] = None,
    groups: options.GroupsFile = None,
    exposure: options.Exposure = None,
    encoding: options.Encoding = "utf-8",
    force: options.Force = False,
) -> None:
    """Write a page about the model: how good, how faithful, which features matter."""
    check_free(out, force, table)
    from sasanet.cli.files.json_objects import read_object
    from sasanet.cli.files.model_rows import load_model, read_rows
    from sasanet.report import write_report

    grouped = read_object(groups, "--groups", '{"address": ["street", "zip"]}')
    fitted = load_model(model, terminal)
    read = read_rows(terminal, fitted, table, encoding, target, group, exposure)
    frame = read.X
    if group:
        frame[group] = read.group
    if target:
        frame[target] = read.y
    with terminal.progress(f"writing {out.name}"):
        write_report(
            fitted,
            frame,
            out,
            target=target,
            group=group,
            groups=grouped,
            exposure=read.exposure,
        )
    terminal.say(f"Report on {len(frame):,} rows written to {out}.")
    terminal.result({"out": str(out), "rows": len(frame)})
