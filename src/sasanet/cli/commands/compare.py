"""``sasanet compare``: SASANet beside LightGBM, logistic regression and EBM on one table."""

from __future__ import annotations

import math
from typing import Annotated, Any

import typer
from rich.table import Column

from sasanet.cli import options
from sasanet.cli.options import Preset, Task
from sasanet.cli.terminal import Terminal, command


@command
def compare(
    terminal: Terminal,
    table: options.TablePath,
    target: options.Target,
    task: options.TaskType = Task.auto,
    exclude: options.Exclude = None,
    categorical: options.Categorical = None,
    test_share: Annotated[
        float, typer.Option(help="Share of the rows to test on.", min=0.05, max=0.95)
    ] = 0.25,
    time_limit: options.TimeLimit = None,
    preset: Annotated[Preset, typer.Option(help="Of SASANet.")] = Preset.default,
    seed: options.Seed = 0,
    encoding: options.Encoding = "utf-8",
) -> None:
    """Compare SASANet with other models on the same split: quality, time, feature importance."""
    from sasanet.cli.comparison.evaluation import evaluate, split
    from sasanet.cli.comparison.models import all_models
    from sasanet.cli.files.labels import read_training_table
    from sasanet.cli.files.reading import open_table

    source = open_table(table, encoding)
    data = read_training_table(terminal, source, target, task, exclude, categorical)
    rows = split(data, test_share, seed)
    terminal.say(
        f"Target {target!r}: {data.task.value} ({data.why}); {len(rows.X_train):,} rows for "
        f"training, {len(rows.X_test):,} for testing."
    )
    models = all_models(rows, math.inf if time_limit is None else time_limit, str(preset))
    found, skipped = evaluate(models, rows, terminal)
    _print(terminal, found, skipped, metric="R²" if rows.regression else "AUC")


def _print(
    terminal: Terminal, found: list[dict[str, Any]], skipped: dict[str, str], metric: str
) -> None:
    heads = [
        Column("model", overflow="fold"),
        Column(metric, no_wrap=True),
        Column("difference", no_wrap=True),
        Column("fit, s"),
        Column("rank corr."),
        Column("top features", overflow="fold"),
    ]
    terminal.say_table(heads, [_row(one, one is found[0]) for one in found], title="")
    for name, why in skipped.items():
        terminal.note(f"Skipped {name}: {why}")
    terminal.result({"metric": metric, "models": found, "skipped": skipped})


def _row(one: dict[str, Any], reference: bool) -> list[str]:
    """Return one line of the table; the first model is what the others are compared with."""
    (low, high), (least, most) = one["interval"], one["difference_interval"]
    rank = one["rank_correlation"]
    return [
        one["model"],
        f"{one['quality']:.3f}\n[{low:.3f}, {high:.3f}]",
        "" if reference else f"{one['difference']:+.3f}\n[{least:+.3f}, {most:+.3f}]",
        f"{one['fit_seconds']:.1f}",
        "" if reference or rank is None else f"{rank:.2f}",
        ", ".join(one["top_features"]),
    ]
