"""Groups and pairs of the page: what groups of columns add, and which features add together.

Pairs cost the square of the number of features, so few rows are asked for them: those are named.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sasanet.arrays import Floats
from sasanet.estimator.explaining import Groups
from sasanet.estimator.sasanet import SASANetModel
from sasanet.explanation.explanation import Explanation
from sasanet.explanation.wording import shorten
from sasanet.report.row_data import page_text
from sasanet.table.encoder import EncodedTable

_GROUP_ROWS = 1_000
_MOST_PAIR_ROWS, _FEWEST_PAIR_ROWS, _PAIR_CELLS = 16, 4, 8_000
_MOST_FEATURES = 64  # 2,016 pairs
_OVERALL, _OF_ROW, _ROWS_NAMED = 10, 3, 8
_LONGEST = 60


def group_importance(
    model: SASANetModel, rows: EncodedTable, groups: Groups | None
) -> list[dict[str, Any]]:
    """Return the mean absolute Shapley value of every group and single column, the largest first.

    A group's value is its own, as one player. Empty if no groups are given.
    """
    if groups is None:
        return []
    found = model.explain(rows.take(np.arange(min(len(rows), _GROUP_ROWS))), groups=groups)
    series, own = found.importance(), found.groups
    largest = float(series.iloc[0]) or 1.0
    return [
        {
            "name": _text(name),
            "members": ", ".join(map(_text, own.get(str(name), ()))),
            "value": float(value),
            "share": 100 * float(value) / largest,
        }
        for name, value in series.items()
    ]


def strongest_pairs(model: SASANetModel, rows: EncodedTable, e: Explanation) -> dict[str, Any]:
    """Return the pairs that add most together, of some rows and of each of a few; or why not."""
    d = len(model.encoder_.columns)
    if not model.network_.is_set:
        return {"why": "they need the set network"}
    if not 1 < d <= _MOST_FEATURES:
        return {"why": f"they are computed for 2 to {_MOST_FEATURES} features, and there are {d}"}
    n = min(len(rows), max(_FEWEST_PAIR_ROWS, min(_MOST_PAIR_ROWS, _PAIR_CELLS // d**2)))
    first, second = np.triu_indices(d, 1)
    pairs = 2 * model.interactions(rows.take(np.arange(n)))[:, first, second]
    sizes = np.abs(pairs).mean(axis=(0, *range(2, pairs.ndim)))
    names = [
        (_text(e.feature_names[i]), _text(e.feature_names[j]))
        for i, j in zip(first, second, strict=True)
    ]
    order = np.argsort(-sizes, kind="stable")[:_OVERALL]
    several = len(model.target_.quantiles) > 1
    return {
        "why": "",
        "rows": n,
        "overall": [(*names[k], float(sizes[k])) for k in order],
        "single": [_of_row(e, i, pairs[i], names, several) for i in range(min(n, _ROWS_NAMED))],
    }


def _of_row(
    e: Explanation, row: int, pairs: Floats, names: list[tuple[str, str]], of_quantiles: bool
) -> tuple[int, list[tuple[str, str, float]]]:
    """Return a row's position and its strongest pairs.

    Of classes it is for the most likely one, of quantiles for the middle one.
    """
    if pairs.ndim == 2:
        pairs = pairs[:, e.shape[2] // 2 if of_quantiles else int(e.prediction[row].argmax())]
    order = np.argsort(-np.abs(pairs), kind="stable")[:_OF_ROW]
    return row, [(*names[k], float(pairs[k])) for k in order]


def _text(name: object) -> str:
    return shorten(page_text(name), _LONGEST)
