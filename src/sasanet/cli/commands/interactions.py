"""``sasanet interactions``: which pairs of features add something together, in every row."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from sasanet.cli import options
from sasanet.cli.files.writing import check_format, check_free, open_writer
from sasanet.cli.terminal import Terminal, command
from sasanet.errors import InvalidInputError


@command
def interactions(
    terminal: Terminal,
    model: options.ModelPath,
    table: options.TablePath,
    out: options.OutTable,
    top: Annotated[int, typer.Option(help="Strongest pairs of every row to write.", min=1)] = 10,
    of_class: options.OfClass = None,
    groups: options.GroupsFile = None,
    orders: Annotated[
        int, typer.Option(help="Refine by sampling N coalitions per pair.", min=0)
    ] = 0,
    row_name: options.RowName = None,
    encoding: options.Encoding = "utf-8",
    force: options.Force = False,
) -> None:
    """Write the pairs of features that add most together, one line per row and pair.

    The columns are row (1 is the first), feature, other and interaction: what the two add together
    beyond what each adds on its own, the Shapley interaction index.
    """
    check_format(out)
    check_free(out, force, table)
    from sasanet.cli.files.json_objects import read_object
    from sasanet.cli.files.model_rows import RowBatches, load_model
    from sasanet.explanation.players import read_players
    from sasanet.scale.output_columns import (
        explained_outputs,
        interaction_columns,
        interaction_frame,
    )

    fitted = load_model(model, terminal)
    if classes := explained_outputs(fitted, of_class):
        raise InvalidInputError(f"--class must choose one of {classes}, got none of them.")
    grouped = read_object(groups, "--groups", '{"address": ["street", "zip"]}')
    names = read_players(grouped, fitted.encoder_.names).names
    outputs = fitted.target_.output_names
    batches = RowBatches(fitted, table, encoding, row_name, interaction_columns())
    start = time.perf_counter()
    with terminal.progress(f"explaining {table.name}") as tick, open_writer(out) as writer:
        for X, rows in batches:
            found = fitted.interactions(X, groups=grouped, n_orders=orders)
            found = found if of_class is None else found[..., outputs.index(of_class)]
            writer.write(interaction_frame(found, names, top, rows))
            tick(batches.table.share_read())
    seconds = time.perf_counter() - start
    terminal.say(f"Explained {batches.n_rows:,} rows in {seconds:.1f} s; written to {out}.")
    terminal.result({"out": str(out), "rows": batches.n_rows, "seconds": round(seconds, 3)})
