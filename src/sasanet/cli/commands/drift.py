"""``sasanet drift``: test whether the attributions of two tables have one distribution."""

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
