"""``sasanet reasons``: why rows were refused, in codes and words."""

from __future__ import annotations

import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from sasanet.cli import options
from sasanet.cli.files.writing import check_format, check_free, open_writer
from sasanet.cli.terminal import Terminal, command


class Side(StrEnum):
    """Which scores are refused."""

    above = "above"
    below = "below"


@command
def reasons(
    terminal: Terminal,
    model: options.ModelPath,
    table: options.TablePath,
    threshold: Annotated[float, typer.Option(help="Score to decide by.", show_default=False)],
    out: options.OutTable,
    refuse: Annotated[Side, typer.Option(help="Which scores are refused.")] = Side.above,
    top: Annotated[int, typer.Option(help="Reasons at most.", min=1)] = 4,
    codes: Annotated[
        Path | None,
        typer.Option(help='JSON file with codes: {"months": "R01"}.', show_default=False),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(help="Protected column that must not be told; repeatable."),
    ] = None,
    of_class: options.OfClass = None,
    groups: options.GroupsFile = None,
    row_name: options.RowName = None,
    encoding: options.Encoding = "utf-8",
    force: options.Force = False,
) -> None:
    """Write the reasons why rows are refused, one line per row and reason.

    Refused is a score (the probability of the second class, or the prediction of a number) of at
    least the threshold; with --refuse below, one below it. The columns are row (1 is the first),
    score, rank, feature, code, reason, attribution and excluded.
    """
    check_format(out)
    check_free(out, force, table)
    from sasanet.cli.files.json_objects import read_object
    from sasanet.cli.files.model_rows import RowBatches, load_model
    from sasanet.explanation.decision import COLUMNS

    fitted = load_model(model, terminal)
    coded = read_object(codes, "--codes", '{"months": "R01"}')
    grouped = read_object(groups, "--groups", '{"address": ["street", "zip"]}')
    batches = RowBatches(fitted, table, encoding, row_name, COLUMNS)
    start, refused = time.perf_counter(), 0
    with terminal.progress(f"explaining {table.name}") as tick, open_writer(out) as writer:
        for X, rows in batches:
            found = fitted.reasons(
                X.set_axis(rows.index),
                threshold,
                refuse=refuse,
                k=top,
                codes=coded,
                exclude=exclude or [],
                output=of_class,
                groups=grouped,
            )
            named = rows.loc[found["row"]].reset_index(drop=True)
            writer.write(named.join(found.drop(columns="row")))
            refused += int((found["rank"] <= 1).sum())
            tick(batches.table.share_read())
    seconds = time.perf_counter() - start
    terminal.say(
        f"{refused:,} of {batches.n_rows:,} rows are refused, in {seconds:.1f} s; reasons "
        f"written to {out}."
    )
    terminal.result({"out": str(out), "rows": batches.n_rows, "refused": refused})
