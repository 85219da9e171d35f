"""``sasanet compare``: SASANet beside LightGBM, logistic regression and EBM on one table."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from numpy.typing import NDArray
from rich.table import Column, Table
from scipy.stats import spearmanr
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import train_test_split

from sasanet.cli import options, rivals
from sasanet.cli.fit import Preset
from sasanet.cli.reading import open_table
from sasanet.cli.tasks import Question, Task, read_question
from sasanet.cli.terminal import Terminal, command
from sasanet.errors import InvalidInputError, MissingPackageError

_RESAMPLES = 200
_TOP = 3


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
    source = open_table(table, encoding)
    question = read_question(terminal, source, target, task, exclude, categorical)
    rows = split(question, test_share, seed)
    terminal.say(
        f"Target {target!r}: {question.task.value} ({question.why}); {len(rows.X_train):,} rows to "
        f"learn from, {len(rows.X_test):,} to judge by."
    )
    limit = math.inf if time_limit is None else time_limit
    linear = "ridge regression" if rows.regression else "logistic regression"
    systems: dict[str, Callable[[], rivals.Fitted]] = {
        "SASANet": lambda: rivals.fit_sasanet(rows, limit, str(preset)),
        "LightGBM": lambda: rivals.fit_lightgbm(rows),
        linear: lambda: rivals.fit_linear(rows),
        "EBM": lambda: rivals.fit_ebm(rows),
    }
    found, skipped = measure(systems, rows, terminal)
    metric = "R²" if rows.regression else "AUC"
    terminal.say(_table(found, metric))
    for name, why in skipped.items():
        terminal.note(f"Skipped {name}: {why}")
    terminal.result({"metric": metric, "models": found, "skipped": skipped})


def split(question: Question, test_share: float, seed: int) -> rivals.Rows:
    """Divide a table once for all models; texts become categories, classes numbers."""
    y = question.y.to_numpy()
    strata = None
    if not question.is_regression:
        y, _ = pd.factorize(question.y, sort=True)
        strata = y
    X = question.X.copy()
    texts = X.columns[[dtype.kind not in "iufb" for dtype in X.dtypes]]
    for name in dict.fromkeys([*texts, *question.codes]):
        X[name] = X[name].astype("category")
    try:
        parts = train_test_split(X, y, test_size=test_share, random_state=seed, stratify=strata)
    except ValueError as error:
        raise InvalidInputError(
            f"Both parts of the table must have rows of every class, however: {error}"
        ) from None
    X_train, X_test, y_train, y_test = parts
    return rivals.Rows(X_train, X_test, y_train, y_test, question.is_regression, seed)


def measure(
    systems: dict[str, Callable[[], rivals.Fitted]], rows: rivals.Rows, terminal: Terminal
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Fit and judge every model; the first is what the others are compared with."""
    found: list[dict[str, Any]] = []
    skipped: dict[str, str] = {}
    first: tuple[NDArray[Any], NDArray[Any]] | None = None
    for name, fit in systems.items():
        start = time.perf_counter()
        try:
            with terminal.progress(f"fitting {name}"):
                model = fit()
        except MissingPackageError as error:
            skipped[name] = str(error)
            continue
        seconds = time.perf_counter() - start
        draws = _resampled(rows.y_test, model.score(rows.X_test), rows.regression)
        strength = model.rank(rows.X_test)
        first = first or (draws, strength)
        order = np.argsort(-strength, kind="stable")[:_TOP]
        found.append(
            {
                "model": name,
                "quality": float(draws[0]),
                "interval": _interval(draws[1:]),
                "difference": float(draws[0] - first[0][0]),
                "difference_interval": _interval(draws[1:] - first[0][1:]),
                "fit_seconds": round(seconds, 3),
                "rank_correlation": _agreement(strength, first[1]),
                "top_features": [str(rows.X_test.columns[j]) for j in order],
            }
        )
    return found, skipped


def _resampled(y: NDArray[Any], scores: NDArray[Any], regression: bool) -> NDArray[Any]:
    """Return the quality of all test rows, then of rows drawn anew; NaN where it is undefined.

    The draws are the same for every model, so that differences are of equal rows.
    """
    random, n = np.random.RandomState(0), len(y)
    picks = [np.arange(n), *(random.randint(0, n, n) for _ in range(_RESAMPLES))]
    return np.array([_quality(y[pick], scores[pick], regression) for pick in picks])


def _quality(y: NDArray[Any], scores: NDArray[Any], regression: bool) -> float:
    if regression:
        return float(r2_score(y, scores))
    n_classes = 2 if scores.ndim == 1 else scores.shape[1]
    if len(np.unique(y)) < n_classes:
        return math.nan
    return float(roc_auc_score(y, scores, multi_class="ovr"))


def _interval(draws: NDArray[Any]) -> list[float]:
    return [float(edge) for edge in np.nanquantile(draws, [0.025, 0.975])]


def _agreement(one: NDArray[Any], other: NDArray[Any]) -> float | None:
    """Return Spearman's correlation of two rankings; of a single feature there is none."""
    if len(one) < 2 or np.ptp(one) == 0 or np.ptp(other) == 0:
        return None
    return float(spearmanr(one, other).statistic)


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
