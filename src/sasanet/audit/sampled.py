"""The rows of a source that an audit draws: as many as it needs, whatever the source's length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from sasanet.errors import InvalidInputError
from sasanet.streaming.sample import RowSample
from sasanet.table.sources import check_has_columns, frames_of, open_source


def draw_rows(
    given: Any,
    features: Sequence[str],
    named: tuple[Any, Any, str | None],
    most: int,
    seed: int,
) -> tuple[pd.DataFrame, Any, Any]:
    """Return at most so many rows at random, their labels and their exposure, in one pass.

    ``named`` are the audit's labels, exposure and target: of a source columns, not arrays.
    """
    y, exposure, target = named
    if y is not None or not (exposure is None or isinstance(exposure, str)):
        raise InvalidInputError(
            "y and exposure must be columns of a source, got arrays beside it; name them: "
            "audit(source, target='y')"
        )
    more = [name for name in (target, exposure) if name is not None]
    wanted = list(dict.fromkeys([*features, *more]))
    source = open_source(given)
    if source.names is not None:
        check_has_columns(wanted, source.names, "The source")
    sample, first = RowSample(most, np.random.default_rng(seed)), 0
    for frame in frames_of(source, wanted):
        sample.add(frame, first)
        first += len(frame)
    _, rows = sample.rows()
    labels, amounts = (None if name is None else rows[name] for name in (target, exposure))
    return rows[list(features)], labels, amounts
