"""The rows of a file as a fitted model knows them: in batches of bounded memory, or whole."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sasanet import load
from sasanet.cli.files.column_types import (
    as_trained,
    check_columns,
    infer_column,
    labels_as_trained,
    pick_one,
)
from sasanet.cli.files.reading import no_rows, open_table, read_whole
from sasanet.cli.terminal import Terminal
from sasanet.errors import InvalidInputError
from sasanet.estimator.sasanet import SASANetModel
from sasanet.scale.output_columns import EXPOSURE, ROW
from sasanet.scale.work import rows_at_once


def load_model(path: Path, terminal: Terminal) -> SASANetModel:
    """Read a saved model; a missing, incomplete or foreign directory is refused."""
    if not path.exists():
        raise InvalidInputError(f"There is no model {path}; `sasanet fit` writes one.")
    with terminal.progress(f"loading {path}"):
        return load(path)


class RowBatches:
    """The rows of a file in batches, each with the features of a model.

    Parameters
    ----------
    model : SASANetModel
        A fitted model.
    path : Path
        The table; columns the model does not know are ignored.
    encoding : str
        Of CSV files.
    row_name : str, optional
        A column to copy, which identifies the rows.
    outputs : collection of str
        Columns that will be written beside it, and so cannot have its name.
    exposure : str, optional
        A column to copy as ``EXPOSURE``.
    """

    def __init__(
        self,
        model: SASANetModel,
        path: Path,
        encoding: str,
        row_name: str | None,
        outputs: Collection[str],
        exposure: str | None = None,
    ) -> None:
        self.model = model
        self.table = open_table(path, encoding)
        check_columns(self.table, model.encoder_.names)
        self.row_name = next(iter(pick_one(self.table, row_name, "--id")), None)
        self.exposure = next(iter(pick_one(self.table, exposure, "--exposure")), None)
        if self.row_name in (ROW, *outputs):
            raise InvalidInputError(
                f"--id must differ from the columns that are written, got {row_name!r}; "
                "rename it in the table."
            )
        self.n_rows = 0  # read so far

    def __iter__(self) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
        """Yield features, and a table that begins with the number and name of every row."""
        names = list(self.model.encoder_.names)
        more = [name for name in (self.row_name, self.exposure) if name]
        wanted = list(dict.fromkeys([*names, *more]))
        for chunk in self.table.chunks(wanted, rows_at_once(self.model)):
            first = self.n_rows + 1
            self.n_rows += len(chunk.frame)
            rows = pd.DataFrame({ROW: np.arange(first, self.n_rows + 1)})
            if self.row_name:
                rows[self.row_name] = chunk.frame[self.row_name]
            if self.exposure:
                rows[EXPOSURE] = labels_as_trained(chunk, self.exposure, ())
            yield as_trained(chunk, self.model.encoder_.columns), rows
        if not self.n_rows:
            raise no_rows(self.table)


@dataclass(frozen=True)
class LabelledRows:
    """All rows of a file: a model's features, and labels and a group where they are asked for."""

    X: pd.DataFrame
    y: Any
    group: pd.Series | None
    exposure: Any = None


def read_rows(
    terminal: Terminal,
    model: SASANetModel,
    path: Path,
    encoding: str,
    target: str | None,
    group: str | None = None,
    exposure: str | None = None,
) -> LabelledRows:
    """Read a whole table for a model, with the columns of its other options."""
    source = open_table(path, encoding)
    names = list(model.encoder_.names)
    check_columns(source, names)
    extra = pick_one(source, target, "--target")
    extra += pick_one(source, group, "--group")
    extra += pick_one(source, exposure, "--exposure")
    with terminal.progress(f"reading {path.name}") as tick:
        chunk = read_whole(source, list(dict.fromkeys([*names, *extra])), tick)
    X = as_trained(chunk, model.encoder_.columns)
    y = labels_as_trained(chunk, target, model.target_.labels) if target else None
    amounts = labels_as_trained(chunk, exposure, ()) if exposure else None
    if group is None:
        return LabelledRows(X, y, None, amounts)
    groups = X[group] if group in X else infer_column(chunk, group)[0]
    return LabelledRows(X, y, groups, amounts)
