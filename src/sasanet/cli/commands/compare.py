"""``sasanet compare``: SASANet beside LightGBM, logistic regression and EBM on one table."""

from __future__ import annotations

import math
from typing import Annotated, Any

import typer
from rich.table import Column, Table

from sasanet.cli import options
from sasanet.cli.options import Preset, Task
from sasanet.cli.terminal import Terminal, command


@command
def compare(
    terminal: Terminal,
    table: options.TablePath,
    target: options.Target,
    task: Annotated[Task, typer.Option(help="What the target asks; guessed if not given.")] = (
        Task.auto
    ),
    exclude: options.Exclude = None,
    categorical: options.Categorical = None,
    test_share: Annotated[
        float, typer.Option(help="Share of the rows to judge by.", min=0.05, max=0.95)
    ] = 0.25,
    time_limit: options.TimeLimit = None,
    preset: Annotated[Preset, typer.Option(help="Of SASANet.")] = Preset.default,
    seed: options.Seed = 0,
    encoding: options.Encoding = "utf-8",
) -> None:
    """Compare SASANet with other models on the same split: quality, time, ranking of features."""
    from sasanet.cli.comparison import judging, rivals
    from sasanet.cli.files.labels import read_question
    from sasanet.cli.files.reading import open_table

    source = open_table(table, encoding)
    question = read_question(terminal, source, target, task, exclude, categorical)
    rows = judging.split(question, test_share, seed)
    terminal.say(
        f"Target {target!r}: {question.task.value} ({question.why}); {len(rows.X_train):,} rows to "
        f"learn from, {len(rows.X_test):,} to judge by."
    )
    limit = math.inf if time_limit is None else time_limit
    linear = "ridge regression" if rows.regression else "logistic regression"
    systems = {
        "SASANet": lambda: rivals.fit_sasanet(rows, limit, str(preset)),
        "LightGBM": lambda: rivals.fit_lightgbm(rows),
        linear: lambda: rivals.fit_linear(rows),
        "EBM": lambda: rivals.fit_ebm(rows),
    }
    found, skipped = judging.measure(systems, rows, terminal)
    metric = "R²" if rows.regression else "AUC"
    terminal.say(_table(found, metric))
    for name, why in skipped.items():
        terminal.note(f"Skipped {name}: {why}")
    terminal.result({"metric": metric, "models": found, "skipped": skipped})


def _table(found: list[dict[str, Any]], metric: str) -> Table:
    whole = [Column(head, no_wrap=True) for head in (metric, "difference")]
    folded = [Column(head, overflow="fold") for head in ("model", "top features")]
    table = Table(folded[0], *whole, "fit, s", "rank corr.", folded[1])
    for row in found:
        (low, high), (less, more) = row["interval"], row["difference_interval"]
        ours, rank = row is found[0], row["rank_correlation"]
        table.add_row(
            row["model"],
            f"{row['quality']:.3f}\n[{low:.3f}, {high:.3f}]",
            "" if ours else f"{row['difference']:+.3f}\n[{less:+.3f}, {more:+.3f}]",
            f"{row['fit_seconds']:.1f}",
            "" if ours or rank is None else f"{rank:.2f}",
            ", ".join(row["top_features"]),
        )
    return table
