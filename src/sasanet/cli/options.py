"""Options that several commands share, defined once so that they mean the same everywhere."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Task(StrEnum):
    """Task types."""

    auto = "auto"
    classification = "classification"
    regression = "regression"


class Objective(StrEnum):
    """Objectives of a regression."""

    squared = "squared"
    poisson = "poisson"
    gamma = "gamma"
    tweedie = "tweedie"
    quantile = "quantile"
    huber = "huber"


class Preset(StrEnum):
    """Presets of the model."""

    default = "default"
    best = "best"


class Units(StrEnum):
    """Units of attributions."""

    raw = "raw"
    probability = "probability"
    response = "response"


class Method(StrEnum):
    """How attributions are computed."""

    auto = "auto"
    formula = "formula"
    learned = "learned"


ModelPath = Annotated[Path, typer.Argument(metavar="MODEL", help="Directory written by `fit`.")]
TablePath = Annotated[
    Path,
    typer.Argument(
        metavar="TABLE",
        help="CSV (also gzipped), Parquet, or a folder of Parquet files.",
        show_default=False,
    ),
]
Target = Annotated[str, typer.Option(help="Column to predict.", show_default=False)]
LabelColumn = Annotated[
    str | None, typer.Option("--target", help="Column with the true labels.", show_default=False)
]
TaskType = Annotated[Task, typer.Option(help="Task type; inferred if omitted.")]
Encoding = Annotated[str, typer.Option(help="Text encoding of CSV files.")]
Force = Annotated[bool, typer.Option("--force", help="Replace what exists already.")]
OutTable = Annotated[
    Path,
    typer.Option(
        help="File to write: .csv, .parquet or .jsonl; .csv.gz and .jsonl.gz are compressed. "
        "For Parquet tables also a folder.",
        show_default=False,
    ),
]
RowName = Annotated[
    str | None,
    typer.Option("--id", help="Column that identifies rows, to copy.", show_default=False),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(help="Column to leave out; repeat the option, or separate names by commas."),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(help="Column of codes to read as categories; repeatable likewise."),
]
Exposure = Annotated[
    str | None,
    typer.Option(
        "--exposure",
        help="Column that says how much of each row was observed, such as years insured.",
        show_default=False,
    ),
]
Monotone = Annotated[
    list[str] | None,
    typer.Option(
        help="Column in which the prediction may only rise or fall: age=1, or income=-1; repeat "
        "the option for others.",
        metavar="COLUMN=DIRECTION",
    ),
]
TimeLimit = Annotated[
    float | None, typer.Option(help="Seconds of training at most.", min=0.01, show_default=False)
]
Seed = Annotated[int, typer.Option(help="Random seed; one seed gives one model.", min=0)]
GroupsFile = Annotated[
    Path | None,
    typer.Option(
        "--groups",
        help='JSON file with groups of columns: {"address": ["street", "zip"]}.',
        show_default=False,
    ),
]
Within = Annotated[
    bool, typer.Option("--within", help="Divide the groups' values among their columns.")
]
UnitsOfPhi = Annotated[
    Units,
    typer.Option(
        "--units", help="Explain log-odds or log rates (raw), the probability, or the rate itself."
    ),
]
MethodOfPhi = Annotated[
    Method,
    typer.Option(
        "--method",
        help="By the formula, or by the learned module of `fit --learn-attributions`; auto: the "
        "module where there is a good one.",
    ),
]
OfClass = Annotated[
    str | None,
    typer.Option("--class", help="Of several classes, explain this one.", show_default=False),
]
