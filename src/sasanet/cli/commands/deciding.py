"""``sasanet reasons`` and ``recourse``: why rows were refused, and what would change that."""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sasanet.cli import options
from sasanet.cli.files.writing import check_format, check_free, open_writer
from sasanet.cli.terminal import Terminal, command
from sasanet.errors import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd

    from sasanet.cli.files.model_rows import RowBatches
    from sasanet.estimator.sasanet import SASANetModel


class Side(StrEnum):
    """Which scores are refused."""

    above = "above"
    below = "below"


Threshold = Annotated[float, typer.Option(help="Score to decide by.", show_default=False)]
Refuse = Annotated[Side, typer.Option(help="Which scores are refused.")]


@command
def reasons(
    terminal: Terminal,
    model: options.ModelPath,
    table: options.TablePath,
    threshold: Threshold,
    out: options.OutTable,
    refuse: Refuse = Side.above,
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
    units: options.UnitsOfPhi = options.Units.raw,
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
    _check_class(fitted, of_class)
    coded = read_object(codes, "--codes", '{"months": "R01"}')
    grouped = read_object(groups, "--groups", '{"address": ["street", "zip"]}')

    def decide(X: pd.DataFrame) -> pd.DataFrame:
        return fitted.reasons(
            X,
            threshold,
            refuse=refuse,
            k=top,
            codes=coded,
            exclude=exclude or [],
            output=of_class,
            groups=grouped,
            units=units,
        )

    batches = RowBatches(fitted, table, encoding, row_name, COLUMNS)
    _write_lines(terminal, batches, out, decide, "reasons")


@command
def recourse(
    terminal: Terminal,
    model: options.ModelPath,
    table: options.TablePath,
    threshold: Threshold,
    change: Annotated[
        Path,
        typer.Option(
            help='JSON file with what may change: {"months": {"from": 6, "to": 36}, "savings": '
            'null, "housing": ["own", "rent"]}.',
            show_default=False,
        ),
    ],
    out: options.OutTable,
    refuse: Refuse = Side.above,
    max_changes: Annotated[int, typer.Option(help="Features at most to change.", min=1)] = 3,
    of_class: options.OfClass = None,
    row_name: options.RowName = None,
    encoding: options.Encoding = "utf-8",
    force: options.Force = False,
) -> None:
    """Write small changes that carry refused rows across the threshold, one line per change.

    What may change has a range (from, to), a list of values, or null for all known values. The
    columns are row (1 is the first), score, new_score (as the model predicts the changed row),
    feature, from and to; a row for which nothing was found has one line without a feature.
    """
    check_format(out)
    check_free(out, force, table)
    from sasanet.cli.files.json_objects import read_object
    from sasanet.cli.files.model_rows import RowBatches, load_model
    from sasanet.estimator.deciding import RECOURSE_COLUMNS
    from sasanet.explanation.wording import cell_text

    fitted = load_model(model, terminal)
    _check_class(fitted, of_class)
    allowed = _ranges(read_object(change, "--change", '{"months": {"from": 6, "to": 36}}'))

    def decide(X: pd.DataFrame) -> pd.DataFrame:
        found = fitted.recourse(
            X, threshold, allowed, refuse=refuse, max_changes=max_changes, output=of_class
        )
        for end in ("from", "to"):  # numbers and levels in one column
            found[end] = found[end].map(cell_text, na_action="ignore").astype("string")
        return found

    batches = RowBatches(fitted, table, encoding, row_name, RECOURSE_COLUMNS)
    _write_lines(terminal, batches, out, decide, "changes")


def _check_class(model: SASANetModel, of_class: str | None) -> None:
    """Refuse to decide by several classes at once, in words of the command line."""
    from sasanet.scale.output_columns import explained_outputs

    # Of several quantiles none can be decided by, as the model itself says.
    if not model.target_.quantiles and (classes := explained_outputs(model, of_class)):
        raise InvalidInputError(f"--class must choose one of {classes}, got none of them.")


def _ranges(change: dict[str, Any] | None) -> dict[str, Any]:
    """Return what may change as ``model.recourse`` reads it: ranges are pairs."""
    ends = {"from", "to"}
    return {
        name: (given["from"], given["to"])
        if isinstance(given, dict) and given.keys() == ends
        else given
        for name, given in (change or {}).items()
    }


def _write_lines(
    terminal: Terminal,
    batches: RowBatches,
    out: Path,
    decide: Callable[[pd.DataFrame], pd.DataFrame],
    what: str,
) -> None:
    """Write what is found for every refused row, and say how many there were."""
    start, refused = time.perf_counter(), 0
    path = batches.table.path
    with terminal.progress(f"explaining {path.name}") as tick, open_writer(out) as writer:
        for X, rows in batches:
            found = decide(X.set_axis(rows.index))
            named = rows.loc[found["row"]].reset_index(drop=True)
            writer.write(named.join(found.drop(columns="row")))
            refused += found["row"].nunique()
            tick(batches.table.share_read())
    seconds = time.perf_counter() - start
    terminal.say(
        f"{refused:,} of {batches.n_rows:,} rows are refused, in {seconds:.1f} s; {what} "
        f"written to {out}."
    )
    terminal.result({"out": str(out), "rows": batches.n_rows, "refused": refused})
