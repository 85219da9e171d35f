"""``sasanet drift`` and ``cohorts``: how attributions of two tables, or parts of one, differ."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Column

from sasanet.cli import options
from sasanet.cli.files.writing import check_format, check_free, open_writer
from sasanet.cli.terminal import Terminal, command
from sasanet.errors import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd

_MOST_LINES = 12
_MOST_OF_COHORT, _MOST_COHORT_LINES = 3, 36


@command
def drift(
    terminal: Terminal,
    model: options.ModelPath,
    table: options.TablePath,
    other: Annotated[
        Path, typer.Argument(metavar="OTHER", help="Table to compare with.", show_default=False)
    ],
    rows: Annotated[
        int, typer.Option(help="Rows of each table at most, drawn at random.", min=2)
    ] = 5_000,
    level: Annotated[
        float, typer.Option(help="Of the test, for all features together.", min=1e-9, max=0.5)
    ] = 0.05,
    out: Annotated[
        Path | None,
        typer.Option(help="File to write: .csv, .parquet or .jsonl.", show_default=False),
    ] = None,
    of_class: options.OfClass = None,
    groups: options.GroupsFile = None,
    units: options.UnitsOfPhi = options.Units.raw,
    seed: options.Seed = 0,
    encoding: options.Encoding = "utf-8",
    force: options.Force = False,
) -> None:
    """Test whether a model's attributions of two tables differ, feature by feature.

    The columns are feature, mean, other_mean, shift (how far attributions moved on average),
    statistic and p_value (Kolmogorov–Smirnov), adjusted (for the number of features) and drifted.
    """
    if out is not None:
        check_format(out)
        check_free(out, force, table, other)
    from sasanet.cli.files.json_objects import read_object
    from sasanet.cli.files.model_rows import load_model, read_rows
    from sasanet.scale.output_columns import explained_outputs

    fitted = load_model(model, terminal)
    if classes := explained_outputs(fitted, of_class):
        raise InvalidInputError(f"--class must choose one of {classes}, got none of them.")
    grouped = read_object(groups, "--groups", '{"address": ["street", "zip"]}')
    parts = []
    for path in (table, other):
        X = read_rows(terminal, fitted, path, encoding, None).X
        X = X.sample(min(rows, len(X)), random_state=seed)
        with terminal.progress(f"explaining {path.name}"):
            parts.append(fitted.explain(X, groups=grouped, units=units))
    if of_class is not None:
        parts = [part.output(of_class) for part in parts]
    found = parts[0].drift(parts[1], level).reset_index()
    if out is not None:
        with open_writer(out) as writer:
            writer.write(found.astype({"feature": "str"}))
    _summarise(terminal, found, len(parts[0]), len(parts[1]))


def _summarise(terminal: Terminal, found: pd.DataFrame, n_rows: int, n_others: int) -> None:
    heads = [Column("feature", overflow="fold")]
    heads += [Column(name) for name in ("mean", "other", "shift", "adjusted p", "drifted")]
    numbers = ["mean", "other_mean", "shift", "adjusted"]
    lines = [
        [
            str(line["feature"]),
            *(f"{line[name]:.3g}" for name in numbers),
            "yes" if line["drifted"] else "",
        ]
        for line in found.head(_MOST_LINES).to_dict("records")
    ]
    terminal.say_table(heads, lines, title="")
    n_drifted = int(found["drifted"].sum())
    terminal.say(
        f"{n_drifted} of {len(found)} features drifted, by {n_rows:,} and {n_others:,} rows."
    )
    terminal.result(
        {
            "rows": n_rows,
            "other_rows": n_others,
            "drifted": n_drifted,
            "features": found.to_dict("records"),
        }
    )


@command
def cohorts(
    terminal: Terminal,
    model: options.ModelPath,
    table: options.TablePath,
    by: Annotated[
        str, typer.Option(help="Column whose values make the cohorts.", show_default=False)
    ],
    rows: Annotated[int, typer.Option(help="Rows at most, drawn at random.", min=4)] = 10_000,
    out: Annotated[
        Path | None,
        typer.Option(help="File to write: .csv, .parquet or .jsonl.", show_default=False),
    ] = None,
    of_class: options.OfClass = None,
    groups: options.GroupsFile = None,
    units: options.UnitsOfPhi = options.Units.raw,
    seed: options.Seed = 0,
    encoding: options.Encoding = "utf-8",
    force: options.Force = False,
) -> None:
    """Say which features make the rows of each cohort score higher or lower than the others.

    The columns are cohort, rows, feature, mean, other_mean (of all other rows), difference with its
    95 % interval, low and high, importance and other_importance. The column need not be a feature;
    numbers are cut at their quartiles.
    """
    if out is not None:
        check_format(out)
        check_free(out, force, table)
    import numpy as np
    import pandas as pd

    from sasanet.cli.files.json_objects import read_object
    from sasanet.cli.files.model_rows import load_model, read_rows
    from sasanet.explanation.cohorts import against_others
    from sasanet.scale.output_columns import explained_outputs

    fitted = load_model(model, terminal)
    if classes := explained_outputs(fitted, of_class):
        raise InvalidInputError(f"--class must choose one of {classes}, got none of them.")
    grouped = read_object(groups, "--groups", '{"address": ["street", "zip"]}')
    read = read_rows(terminal, fitted, table, encoding, None, group=by)
    drawn = np.random.default_rng(seed).permutation(len(read.X))[:rows]
    with terminal.progress(f"explaining {table.name}"):
        found = fitted.explain(read.X.iloc[drawn], groups=grouped, units=units)
    found = found if of_class is None else found.output(of_class)
    lines = against_others(found, pd.Series(read.group).iloc[drawn])
    if out is not None:
        with open_writer(out) as writer:
            writer.write(lines.astype({"cohort": "str", "feature": "str"}))
    _show_cohorts(terminal, lines, found.units)


def _show_cohorts(terminal: Terminal, found: pd.DataFrame, units: str) -> None:
    heads = [Column("cohort", overflow="fold"), Column("rows"), Column("feature", overflow="fold")]
    heads += [Column("difference, 95 % interval")]
    lines = []
    for _, part in found.groupby("cohort", sort=False):
        for line in part.head(_MOST_OF_COHORT).to_dict("records"):
            gap = f"{line['difference']:+.3g}  ({line['low']:+.3g} to {line['high']:+.3g})"
            lines.append([str(line["cohort"]), f"{line['rows']:,}", str(line["feature"]), gap])
    terminal.say_table(heads, lines[:_MOST_COHORT_LINES], title="")
    terminal.say(f"Mean attributions less those of all other rows, in units of {units}.")
    terminal.result({"units": units, "cohorts": found.to_dict("records")})
