"""What the server tells about its models: columns, levels and ranges.

A schema describes what training covered. Other levels, and numbers outside the range, are answered
all the same, with a warning.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sasanet.serve.registry import Served
from sasanet.table.bags.parts import training_range
from sasanet.table.columns import Column

_MOST_LEVELS = 50  # that a schema lists; of more it gives some examples


def describe(served: Served) -> dict[str, Any]:
    """Return what a client must know of a model."""
    target = served.model.target_
    return {
        "name": served.name,
        "version": served.version,
        "task": target.task,
        "classes": list(served.labels),
        "units": target.units,
        "base_value": list(target.base),
        "columns": [{"name": c.name, **describe_column(c)} for c in served.columns],
    }


def describe_column(column: Column) -> dict[str, Any]:
    """Return a column as a JSON schema; null is an absent player."""
    if column.kind == "number":
        found: dict[str, Any] = {"type": ["number", "null"]}
        if column.seen:
            found |= {"minimum": column.knots[0], "maximum": column.knots[-1]}
        return found
    if column.kind == "dates":
        ends = [end.isoformat() for end in training_range(column) or ()]
        covered = f", from {ends[0]} to {ends[1]} in training" if ends else ""
        offset = "with its offset" if column.zone else "without an offset"
        return {
            "type": ["string", "null"],
            "description": f"A date or time of ISO 8601 {offset}{covered}",
        }
    if column.kind in ("tags", "vectors"):
        items = "string" if column.kind == "tags" else "number"
        return {"type": ["array", "null"], "items": {"type": items}}
    if column.kind == "text":
        return {"type": ["string", "null"], "description": "Free text"}
    if column.kind == "ids":
        return {"description": "An id, known from training or new"}
    if len(column.levels) > _MOST_LEVELS:
        return {"examples": list(column.levels[:3]), "description": f"{len(column.levels)} levels"}
    return {"enum": [*column.levels, None]}


def describe_v2(served: Served) -> dict[str, Any]:
    """Return a model's metadata in the words of the Open Inference Protocol."""
    target = served.model.target_
    several = [len(target.output_names)] if target.output_names else []
    n_columns = len(served.columns)
    inputs = [
        {"name": column.name, "datatype": _datatype(column), "shape": [-1]}
        for column in served.columns
    ]
    shapes = {"raw": several, "base_value": several, "reasons": [5]}
    shapes |= {name: [n_columns, *several] for name in ("attributions", "error_std")}
    quantiles = [len(target.quantiles)] if len(target.quantiles) > 1 else []
    kind, shape = _label_type(served), [-1, *quantiles]
    outputs = [{"name": "prediction", "datatype": kind, "shape": shape}]
    if served.labels:
        shapes["probabilities"] = [len(served.labels)]
    for name, shape in shapes.items():
        kind = "BYTES" if name == "reasons" else "FP64"
        outputs.append({"name": name, "datatype": kind, "shape": [-1, *shape]})
    found: dict[str, Any] = {"name": served.name, "versions": [served.version]}
    return found | {"platform": "sasanet", "inputs": inputs, "outputs": outputs}


def _datatype(column: Column) -> str:
    if column.kind == "number":
        return "FP64"
    return _type_of(column.levels[:1])


def _label_type(served: Served) -> str:
    return _type_of(served.labels[:1]) if served.labels else "FP64"


def _type_of(values: Iterable[object]) -> str:
    kinds: dict[type, str] = {bool: "BOOL", int: "INT64", float: "FP64"}
    return next((kinds.get(type(value), "BYTES") for value in values), "BYTES")
