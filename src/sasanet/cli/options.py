"""The options that several commands share: written once, so that they mean the same everywhere."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Task(StrEnum):
    """What is asked."""

    auto = "auto"
    classification = "classification"
    regression = "regression"


class Preset(StrEnum):
    """Operating points of the model."""

    default = "default"
    best = "best"


ModelPath = Annotated[Path, typer.Argument(metavar="MODEL", help="A directory `fit` wrote.")]
TablePath = Annotated[
    Path, typer.Argument(metavar="TABLE", help="CSV (also gzipped) or Parquet.", show_default=False)
]
Target = Annotated[str, typer.Option(help="The column to predict.", show_default=False)]
MaybeTarget = Annotated[
    str | None, typer.Option(help="The column with the true answers.", show_default=False)
]
Encoding = Annotated[str, typer.Option(help="How a CSV file writes its letters.")]
Force = Annotated[bool, typer.Option("--force", help="Replace what --out names if it exists.")]
OutTable = Annotated[
    Path,
    typer.Option(
        help="The file to write: .csv, .parquet or .jsonl; .csv.gz and .jsonl.gz are compressed.",
        show_default=False,
    ),
]
RowName = Annotated[
    str | None,
    typer.Option("--id", help="A column that names the rows, to copy.", show_default=False),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(help="A column to leave out; repeat it, or separate names by commas."),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(help="A column of codes, to read as categories; repeatable likewise."),
]
TimeLimit = Annotated[
    float | None, typer.Option(help="Seconds of training at most.", min=0.01, show_default=False)
]
Seed = Annotated[int, typer.Option(help="One seed gives one model.", min=0)]
