"""``sasanet compare``: SASANet beside LightGBM, logistic regression and EBM on one table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Column

from sasanet.cli import options
from sasanet.cli.options import Preset, Task
from sasanet.cli.terminal import Terminal, command

if TYPE_CHECKING:
    from sasanet.comparison import Comparison


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
    from sasanet.cli.files.labels import read_training_table
    from sasanet.cli.files.reading import open_table
    from sasanet.comparison.evaluation import evaluate
    from sasanet.comparison.models import OTHERS, chosen_models
    from sasanet.comparison.split import split

    source = open_table(table, encoding)
    data = read_training_table(terminal, source, target, task, exclude, categorical)
    rows = split(data.X, data.y, data.is_regression, test_share, seed, data.codes)
    terminal.say(
        f"Target {target!r}: {data.task.value} ({data.why}); {len(rows.X_train):,} rows for "
        f"training, {len(rows.X_test):,} for testing."
    )
    limit = math.inf if time_limit is None else time_limit
    models = chosen_models(rows, OTHERS, limit, str(preset))
    _print(terminal, evaluate(models, rows, terminal.progress))


def _print(terminal: Terminal, found: Comparison) -> None:
    heads = [
        Column("model", overflow="fold"),
        Column(found.metric, no_wrap=True),
        Column("difference", no_wrap=True),
        Column("fit, s"),
        Column("rank corr."),
        Column("top features", overflow="fold"),
    ]
    terminal.say_table(heads, [_row(one, one is found.models[0]) for one in found.models], title="")
    for name, why in found.skipped.items():
        terminal.note(f"Skipped {name}: {why}")
    terminal.result(
        {"metric": found.metric, "models": list(found.models), "skipped": found.skipped}
    )


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
