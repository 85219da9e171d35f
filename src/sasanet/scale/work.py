"""What is done with each batch of rows, and how many rows make one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import pandas as pd

from sasanet.explanation import Explanation
from sasanet.explanation.players import read_players
from sasanet.scale.output_columns import (
    explained_outputs,
    explanation_columns,
    explanation_frame,
    prediction_columns,
    prediction_frame,
)

_NUMBERS_AT_ONCE = 400_000  # attributions in one batch: tens of megabytes with all their text
_FEWEST_ROWS = 100  # in a batch


def rows_at_once(model: Any) -> int:
    """Return how many rows a batch may have."""
    numbers = len(model.encoder_.names) * len(model.base_value_)
    return max(_FEWEST_ROWS, _NUMBERS_AT_ONCE // numbers)


class Work(Protocol):
    """One table for every batch of rows."""

    def columns(self, model: Any) -> list[str]:
        """Return the names of the columns that are written beside the rows' own."""
        ...

    def frame(self, model: Any, X: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
        """Return what is written of these features, after the columns that identify the rows."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Return what must be the same when work goes on."""
        ...


@dataclass(frozen=True)
class Predicting:
    """Predictions, for classes with the probability of each."""

    def columns(self, model: Any) -> list[str]:
        """Return the names of the columns."""
        return prediction_columns(model)

    def frame(self, model: Any, X: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the predictions of these rows."""
        return prediction_frame(model, X, rows)

    def to_dict(self) -> dict[str, Any]:
        """Return what must be the same when work goes on."""
        return {"what": "predict"}


@dataclass(frozen=True)
class Explaining:
    """Attributions: of one class or of all, refined if asked for, with the strongest in words."""

    n_orders: int = 0
    max_error: float | None = None
    top: int = 0
    of_class: str | None = None
    groups: Mapping[str, Sequence[str]] | None = None
    units: str = "raw"
    method: str = "auto"
    within: bool = False

    def columns(self, model: Any) -> list[str]:
        """Return the names of the columns."""
        outputs = explained_outputs(model, self.of_class)
        refined = self.n_orders > 0 or self.max_error is not None
        groups = None if self.within else self.groups
        players = read_players(groups, model.encoder_.names).names
        return explanation_columns(players, outputs, self.top, refined)

    def frame(self, model: Any, X: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the attributions of these rows."""
        return explanation_frame(self.explain(model, X), self.top, rows)

    def explain(self, model: Any, X: pd.DataFrame) -> Explanation:
        """Return the attributions of these features, of one class or of all."""
        found: Explanation = model.explain(
            X,
            n_orders=self.n_orders,
            max_error=self.max_error,
            groups=self.groups,
            within=self.within,
            units=self.units,
            method=self.method,
        )
        return found if self.of_class is None else found.output(self.of_class)

    def to_dict(self) -> dict[str, Any]:
        """Return what must be the same when work goes on."""
        return {"what": "explain", **asdict(self)}
