"""A model and a table on disk in, the model's view of it out, one chunk of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sasanet import load
from sasanet.cli.files.column_types import as_trained, check_columns, pick
from sasanet.cli.files.reading import open_table
from sasanet.cli.terminal import Terminal
from sasanet.errors import InvalidInputError
from sasanet.estimator.sasanet import SASANetModel

_TAKEN = ("row", "prediction", "base_value")
_NUMBERS_AT_ONCE = 400_000  # attributions in one chunk: tens of megabytes with all their text


class Stream:
    """The rows of a file as a model knows them.

    Parameters
    ----------
    model : SASANetModel
        A fitted model.
    path : Path
        The table; columns the model does not know are passed over.
    encoding : str
        Of CSV.
    row_name : str, optional
        A column to carry along as the rows' name.
    """

    def __init__(
        self, model: SASANetModel, path: Path, encoding: str, row_name: str | None
    ) -> None:
        self.model, self.columns = model, model.encoder_.columns
        self.table = open_table(path, encoding)
        check_columns(self.table, model.encoder_.names)
        self.row_name = pick(self.table, [row_name], "--id")[0] if row_name else None
        if self.row_name in _TAKEN:
            raise InvalidInputError(
                f"--id must differ from the columns that are written, got {row_name!r}; "
                "rename it in the table."
            )
        self.rows = 0  # seen so far

    def __iter__(self) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
        """Yield features, and a table that begins with the number and name of every row."""
        names = list(self.model.encoder_.names)
        wanted = list(dict.fromkeys([*names, *([self.row_name] if self.row_name else [])]))
        numbers = len(names) * len(self.model.base_value_)
        for chunk in self.table.chunks(wanted, max(100, _NUMBERS_AT_ONCE // numbers)):
            start: dict[str, Any] = {"row": np.arange(self.rows, self.rows + len(chunk.frame)) + 1}
            if self.row_name:
                start[self.row_name] = chunk.frame[self.row_name]
            self.rows += len(chunk.frame)
            yield as_trained(chunk, self.columns), pd.DataFrame(start)
        if not self.rows:
            raise InvalidInputError(
                f"A table must have rows below its header, got {self.table.path} has none."
            )


def load_model(path: Path, terminal: Terminal) -> SASANetModel:
    """Read a saved model; an interrupted or foreign directory is refused."""
    if not path.exists():
        raise InvalidInputError(f"There is no model {path}; `sasanet fit` writes one.")
    with terminal.progress(f"loading {path}"):
        return load(path)
