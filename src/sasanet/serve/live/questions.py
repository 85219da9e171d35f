"""What the live page asks of a model beyond predictions: all of it answered by the model's methods.

Sizes: d columns, m values of one column, C classes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sasanet.arrays import Floats
from sasanet.errors import InvalidInputError
from sasanet.serve.inference import encode
from sasanet.serve.limits import unusable
from sasanet.serve.live.explored import Explored
from sasanet.serve.reading import Cell, Rows, field, shown

if TYPE_CHECKING:
    from sasanet.serve.registry import Served

_MOST_VALUES = 32  # of a feature that is not known, to average over
_MOST_CHANGES = 3


# --- one more known feature -----------------------------------------------------------------------


def gains(served: Served, row: Rows, explored: Explored | None) -> dict[str, Any]:
    """Return what knowing each absent feature would change: v(S ∪ {j}) over the values of j.

    ``expected`` is the mean of |v(S ∪ {j}) − v(S)|, ``low`` and ``high`` hold the middle 80 % of
    v(S ∪ {j}), ``mean`` is its mean; of several classes each is a list. Values are those of the
    explored rows, or the levels and quantiles of training, each as likely as any other.
    """
    absent = [j for j, cells in enumerate(row.cells) if cells[0] is None]
    values = {j: _likely(served, j, explored) for j in absent}
    values = {j: some for j, some in values.items() if some}
    now, later = _values_with(served, row, values)
    found = []
    for j, change in later.items():
        low, high = np.quantile(change, (0.1, 0.9), axis=0)
        found.append(
            {
                "feature": served.columns[j].name,
                "expected": np.abs(change - now).mean(axis=0).tolist(),
                "mean": change.mean(axis=0).tolist(),
                "low": low.tolist(),
                "high": high.tolist(),
                "values": len(change),
            }
        )
    source = "the rows of the table" if explored else "the levels and quantiles of training"
    return {"now": now.tolist(), "from": source, "features": found}


def _likely(served: Served, column: int, explored: Explored | None) -> list[Cell]:
    """Return values that a feature may turn out to have, at most so many, evenly drawn."""
    known = served.columns[column]
    if explored is not None:
        all_of_them: Sequence[Any] = explored.cells_of(known.name)
        if known.kind == "number":
            all_of_them = sorted(all_of_them)
    else:
        all_of_them = known.knots if known.kind == "number" else known.levels
    if not all_of_them or not known.seen or known.kind == "dates":
        return []
    count = min(_MOST_VALUES, len(all_of_them))
    spaced = np.linspace(0, len(all_of_them) - 1, count).round().astype(int)
    return [all_of_them[i] for i in spaced]


def _values_with(
    served: Served, row: Rows, values: dict[int, list[Cell]]
) -> tuple[Floats, dict[int, Floats]]:
    """Return v(S), and v(S ∪ {j}) for every value of every j: each [m] or [m, C]."""
    cells: list[list[Cell]] = [[own[0]] for own in row.cells]
    for j, some in values.items():
        for column, own in enumerate(cells):
            own.extend(some if column == j else [row.cells[column][0]] * len(some))
    encoded = encode(served, cells)
    everything = np.ones(len(cells), dtype=bool)
    outputs, start, found = served.model.value(encoded, everything), 1, {}
    for j, some in values.items():
        found[j] = outputs[start : start + len(some)]
        start += len(some)
    return outputs[0], found


# --- recourse -------------------------------------------------------------------------------------


def recourse(served: Served, row: Rows, options: dict[str, Any]) -> dict[str, Any]:
    """Return small changes that carry a row's score across a threshold, by ``model.recourse``."""
    threshold: Any = options.get("threshold")
    if type(threshold) not in (int, float) or not math.isfinite(threshold):
        raise unusable("'threshold' must be a number.")
    most = field(options, "max_changes", int, default=_MOST_CHANGES)
    if not 1 <= most <= _MOST_CHANGES:
        raise unusable(f"'max_changes' must be from 1 to {_MOST_CHANGES}, got {shown(most)}.")
    found = served.model.recourse(
        encode(served, row.cells),
        threshold,
        _changes(served, field(options, "change", dict)),
        refuse=field(options, "refuse", str, default="above"),
        max_changes=most,
        output=field(options, "output", str) if options.get("output") is not None else None,
    )
    lines = found.astype(object).where(found.notna(), None).to_dict("records")
    changes = [
        {what: _plain(line[what]) for what in ("feature", "from", "to")}
        for line in lines
        if line["feature"] is not None
    ]
    first = lines[0] if lines else {"score": None, "new_score": None}
    return {
        "refused": bool(lines),
        "score": first["score"],
        "new_score": first["new_score"],
        "changes": changes,
    }


def _changes(served: Served, given: dict[str, Any]) -> dict[str, Any]:
    """Return what may change as the model takes it: a pair of numbers is a range."""
    kinds = {column.name: column.kind for column in served.columns}
    found: dict[str, Any] = {}
    for name, allowed in given.items():
        is_range = kinds.get(name) == "number" and isinstance(allowed, list) and len(allowed) == 2
        for value in allowed if isinstance(allowed, list) else []:
            _check_value(name, value, kinds.get(name))
        if not (allowed is None or (isinstance(allowed, list) and 0 < len(allowed) <= 200)):
            raise unusable(
                f"'change' must allow {shown(name)} null, a list of values, or [lowest, highest]."
            )
        found[name] = tuple(allowed or ()) if is_range else allowed
    return found


def _check_value(name: str, value: Any, kind: str | None) -> None:
    fits = type(value) in (int, float) and abs(value) < 1e300
    if kind == "category":
        fits = fits or isinstance(value, str | bool)
    if not fits:
        raise unusable(f"'change' must give {shown(name)} values such as its column has.")


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


# --- groups ---------------------------------------------------------------------------------------


def grouped(served: Served, row: Rows, groups: dict[str, Any]) -> dict[str, Any]:
    """Return a row explained with groups of columns as players, by ``model.explain``."""
    listed = groups.values()
    if not all(isinstance(own, list) and all(isinstance(n, str) for n in own) for own in listed):
        raise unusable("'groups' must be an object of lists of names of columns.")
    found = served.model.explain(encode(served, row.cells), groups=groups)
    return {
        "base_value": found.base_values[0].tolist(),
        "raw": found.prediction[0].tolist(),
        "attributions": dict(zip(found.feature_names, found.values[0].tolist(), strict=True)),
        "groups": {name: [*own] for name, own in (found.groups or {}).items()},
        "reasons": found.reasons(0),
    }


def can_group(served: Served) -> bool:
    """Tell whether a model explains groups of columns."""
    try:
        served.model.explain(encode(served, _nothing(served)), groups={})
    except InvalidInputError:
        return False
    return True


def _nothing(served: Served) -> list[list[Cell]]:
    return [[None] for _ in served.columns]
