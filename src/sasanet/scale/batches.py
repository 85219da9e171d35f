"""Predictions and explanations of tables of any length, from files into files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from sasanet.network.refinement.effort import read_effort
from sasanet.persistence import load
from sasanet.scale.parts import Job, WrittenParts, count_jobs, read_keep, write_parts
from sasanet.scale.work import Explaining, Predicting, Work
from sasanet.table.sources import open_source
from sasanet.whole_files import read_path


def predict_batches(
    model: Any,
    source: Any,
    out: str | Path,
    *,
    keep: Sequence[str] = (),
    n_jobs: int | None = None,
) -> WrittenParts:
    """Predict every row of a source into a folder of Parquet files, in bounded memory.

    The columns are ``row`` (1 is the first), those of ``keep``, ``prediction`` and, for classes,
    ``probability_…`` of each. Otherwise all is as in :func:`explain_batches`.

    Parameters
    ----------
    model : fitted estimator, or path of a saved one
    source : table of any length
        A Parquet file or folder, a pyarrow Dataset, Table or RecordBatchReader, a DataFrame, or an
        iterable of DataFrames.
    out : path
        A new or empty folder, or one that an interrupted call began.
    keep : sequence of str, default=()
        Columns of the source to copy, such as the rows' ids.
    n_jobs : int, optional
        Processes; by default one for every core, and for small tables only this one.

    Returns
    -------
    WrittenParts

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> from sasanet import SASANetRegressor
    >>> X = pd.DataFrame({"a": [0, 1, 2], "b": [1, 1, 5]})
    >>> model = SASANetRegressor(max_epochs=1).fit(X, [1.0, 2.0, 3.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = predict_batches(model, [X, X], Path(folder) / "predicted", n_jobs=1)
    ...     pd.read_parquet(written.folder).columns.tolist()
    ['row', 'prediction']
    """
    return run(model, source, out, Predicting(), keep, n_jobs)


def explain_batches(
    model: Any,
    source: Any,
    out: str | Path,
    *,
    keep: Sequence[str] = (),
    n_jobs: int | None = None,
    n_orders: int = 0,
    max_error: float | None = None,
) -> WrittenParts:
    """Explain every row of a source into a folder of Parquet files, in bounded memory.

    One file is written for each part of the source: a row group of a Parquet file (a large one is
    divided), or one of the DataFrames. The columns are ``row`` (1 is the first), those of ``keep``,
    ``prediction``, ``base_value``, ``phi_…`` for every feature and, if refined, ``error_…``; base
    value and all phi add up to the prediction. Files are written whole or not at all, and the same
    call on the same folder goes on where an interrupted one stopped.

    Parameters
    ----------
    model : fitted estimator, or path of a saved one
    source : table of any length
        A Parquet file or folder, a pyarrow Dataset, Table or RecordBatchReader, a DataFrame, or an
        iterable of DataFrames.
    out : path
        A new or empty folder, or one that an interrupted call began.
    keep : sequence of str, default=()
        Columns of the source to copy, such as the rows' ids.
    n_jobs : int, optional
        Processes; by default one for every core, and for small tables only this one.
    n_orders : int, default=0
        As in ``model.explain``.
    max_error : float, optional
        As in ``model.explain``.

    Returns
    -------
    WrittenParts

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> from sasanet import SASANetRegressor
    >>> X = pd.DataFrame({"a": [0, 1, 2], "b": [1, 1, 5]})
    >>> model = SASANetRegressor(max_epochs=1).fit(X, [1.0, 2.0, 3.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = explain_batches(model, [X, X], Path(folder) / "explained", n_jobs=1)
    ...     again = explain_batches(model, [X, X], Path(folder) / "explained", n_jobs=1)
    ...     pd.read_parquet(written.folder).columns.tolist()
    ['row', 'prediction', 'base_value', 'phi_a', 'phi_b']
    >>> written.n_rows, written.n_resumed, again.n_resumed
    (6, 0, 2)
    """
    read_effort(n_orders, max_error)
    return run(model, source, out, Explaining(n_orders, max_error), keep, n_jobs)


def run(
    model: Any,
    source: Any,
    out: str | Path,
    work: Work,
    keep: Sequence[str] = (),
    n_jobs: int | None = None,
    tick: Callable[[float], object] = float,
) -> WrittenParts:
    """Do this work; ``tick`` gets the share of the rows done, where the rows are counted."""
    fitted = load(model) if isinstance(model, str | Path) else model
    check_is_fitted(fitted)
    parts = open_source(source)
    job = Job(fitted, work, read_keep(keep), read_path(out))
    total = parts.n_rows or 0
    return write_parts(
        job,
        parts,
        count_jobs(n_jobs, parts),
        lambda rows: tick(rows / total if total else 0.0),
    )
