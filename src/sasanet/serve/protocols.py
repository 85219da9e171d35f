"""Requests and answers in the words of each protocol.

Open Inference Protocol V2 (KServe, Triton, MLServer), KServe V1, MLflow's scoring server, and our
own, the simplest: a list of records in, a list of explained rows out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np
from fastapi.responses import JSONResponse

from sasanet.serve.inference import Answer, Query
from sasanet.serve.limits import Limits, unusable
from sasanet.serve.reading import (
    Rows,
    field,
    from_columns,
    from_lists,
    from_records,
    keep_only,
    shown,
)
from sasanet.serve.registry import Served

try:
    import orjson
except ImportError:  # it takes a fifth of the time, and says the same
    orjson = None  # type: ignore[assignment]

_ERROR_ORDERS = 16  # draws behind ``error_std`` when a request does not say how many
_MOST_REASONS = 100
OUTPUTS = (
    "prediction", "probabilities", "raw", "base_value", "attributions", "reasons", "error_std",
)  # fmt: skip
_EXPLAINED = {"raw", "base_value", "attributions", "reasons", "error_std"}


class Json(JSONResponse):
    """An answer in JSON; its numbers are finite."""

    def render(self, content: Any) -> bytes:
        """Return the content as JSON."""
        return super().render(content) if orjson is None else orjson.dumps(content)


def _query(
    served: Served, rows: Rows, options: Any, explain: bool, limits: Limits, n_orders: int = 0
) -> Query:
    """Return a request with its options: only, n_orders, n_reasons, trial."""
    orders = field(options, "n_orders", int, default=n_orders)
    if orders and not 4 <= orders <= limits.orders:
        raise unusable(f"'n_orders' must be 0 or from 4 to {limits.orders}, got {shown(orders)}.")
    reasons = field(options, "n_reasons", int, default=5)
    if not 1 <= reasons <= _MOST_REASONS:
        raise unusable(f"'n_reasons' must be from 1 to {_MOST_REASONS}, got {shown(reasons)}.")
    rows = keep_only(rows, options.get("only"), served.columns)
    counted = not field(options, "trial", bool, default=False)
    return Query(served, rows, explain, orders, reasons, counted)


# --- our own --------------------------------------------------------------------------------------


def read_own(body: Any, served: Served, explain: bool, limits: Limits) -> Query:
    """Read a list of records, or an object with ``rows`` and options."""
    options = {"rows": body} if isinstance(body, list) else body
    rows = from_records(field(options, "rows", list), served.columns, limits)
    return _query(served, rows, options, explain, limits)


def write_own(query: Query, answer: Answer) -> dict[str, Any]:
    """Return one object per row, and what they share."""
    served = answer.served
    return {
        "model": served.name,
        "version": served.version,
        "units": served.model.target_.units,
        "rows": write_rows(answer),
        "warnings": _ignored(query),
    }


def write_rows(answer: Answer) -> list[dict[str, Any]]:
    """Return each row's prediction and, if explained, what it is made of."""
    names = [column.name for column in answer.served.columns]
    keys = {"probabilities": [*map(str, answer.served.labels)]}
    keys |= {"attributions": names, "error_std": names}
    rows = []
    for i, prediction in enumerate(answer.predictions):
        row: dict[str, Any] = {"prediction": prediction}
        for name, array in answer.arrays.items():
            numbers = array[i].tolist()
            row[name] = dict(zip(keys[name], numbers, strict=True)) if name in keys else numbers
        row |= {"reasons": answer.reasons[i]} if answer.reasons else {}
        rows.append(row | {"warnings": answer.warnings[i]})
    return rows


def _ignored(query: Query) -> list[str]:
    ignored = query.rows.ignored
    more = f" and {len(ignored) - 5} more" if len(ignored) > 5 else ""
    names = ", ".join(map(shown, ignored[:5]))
    return [f"Columns that the model does not know were ignored: {names}{more}."] * bool(ignored)


def _all_warnings(query: Query, answer: Answer) -> list[str]:
    """Return the sentences of all rows, where a protocol has one place for them."""
    return [*_ignored(query), *chain.from_iterable(answer.warnings)]


# --- KServe V1 ------------------------------------------------------------------------------------


def read_v1(body: Any, served: Served, explain: bool, limits: Limits) -> Query:
    """Read ``instances``: records, or lists in the order of the model's columns."""
    instances = field(body, "instances", list)
    if instances and isinstance(instances[0], list):
        names = [column.name for column in served.columns]
        rows = from_lists(instances, names, served.columns, limits)
    else:
        rows = from_records(instances, served.columns, limits)
    return _query(served, rows, field(body, "parameters", dict, default={}), explain, limits)


def write_v1(query: Query, answer: Answer) -> dict[str, Any]:
    """Return ``predictions``, and ``explanations`` where they were asked for."""
    found: dict[str, Any] = {"predictions": answer.predictions}
    if query.explain:
        found["explanations"] = write_rows(answer)
    return found | {"warnings": _all_warnings(query, answer)}


# --- MLflow ---------------------------------------------------------------------------------------


def read_invocation(body: Any, served: Served, limits: Limits) -> Query:
    """Read ``dataframe_split`` or ``dataframe_records``; ``params`` may say ``explain``."""
    params = field(body, "params", dict, default={})
    if "dataframe_split" in body:
        split = field(body, "dataframe_split", dict)
        rows = from_lists(split.get("data"), split.get("columns"), served.columns, limits)
    elif "dataframe_records" in body:
        rows = from_records(body["dataframe_records"], served.columns, limits)
    else:
        raise unusable("The body must have 'dataframe_split' or 'dataframe_records'.")
    return _query(served, rows, params, field(params, "explain", bool, default=False), limits)


def write_invocation(query: Query, answer: Answer) -> dict[str, Any]:
    """Return ``predictions``: plain ones, or one object per row where explained."""
    found = {"predictions": write_rows(answer) if query.explain else answer.predictions}
    return found | {"warnings": _all_warnings(query, answer)}


# --- Open Inference Protocol V2 -----------------------------------------------------------------


def read_v2(body: Any, served: Served, limits: Limits) -> tuple[Query, list[str], str | None]:
    """Read one named input per column; return the request, its outputs and its id."""
    given: dict[str, list[Any]] = {}
    for tensor in field(body, "inputs", list):
        name = field(tensor, "name", str)
        if name in given:
            raise unusable(f"Each input must be given once, got {shown(name)} twice.")
        given[name] = _read_tensor(tensor, name)
    rows = from_columns(given, served.columns, limits)
    asked = [field(one, "name", str) for one in field(body, "outputs", list, default=[])]
    outputs = asked or ["prediction"]
    known = [name for name in OUTPUTS if name != "probabilities" or served.labels]
    if strange := [name for name in outputs if name not in known]:
        raise unusable(f"Outputs must be among {', '.join(known)}, got {shown(strange[0])}.")
    options = field(body, "parameters", dict, default={})
    n_orders = min(_ERROR_ORDERS, limits.orders) if "error_std" in outputs else 0
    query = _query(served, rows, options, not _EXPLAINED.isdisjoint(outputs), limits, n_orders)
    if "error_std" in outputs and not query.n_orders:
        raise unusable("The output 'error_std' needs 'n_orders' of at least 4.")
    identity = body.get("id")
    if not isinstance(identity, str | None) or len(identity or "") > limits.text_length:
        raise unusable("'id' must be a short text.")
    return query, outputs, identity


def _read_tensor(tensor: Any, name: str) -> list[Any]:
    """Return the cells of an input of shape [n] or [n, 1]."""
    shape, data = field(tensor, "shape", list), field(tensor, "data", list)
    flat = [cell[0] if isinstance(cell, list) and len(cell) == 1 else cell for cell in data]
    if shape not in ([len(flat)], [len(flat), 1]):
        raise unusable(f"The input {shown(name)} must have shape [n] or [n, 1] of its n cells.")
    kind = field(tensor, "datatype", str)
    fits = DATATYPES.get(kind)
    if fits is None:
        raise unusable(f"'datatype' must be one of {', '.join(DATATYPES)}, got {shown(kind)}.")
    if not all(cell is None or fits(cell) for cell in flat):
        raise unusable(f"The input {shown(name)} must hold cells of its datatype {kind}, or null.")
    return flat


def _is_number(cell: Any) -> bool:
    return type(cell) in (int, float)


def _is_whole(cell: Any) -> bool:
    return type(cell) is int


DATATYPES: dict[str, Callable[[Any], bool]] = {
    "BYTES": lambda cell: isinstance(cell, str),
    "BOOL": lambda cell: isinstance(cell, bool),
    **{f"INT{bits}": _is_whole for bits in (8, 16, 32, 64)},
    **{f"UINT{bits}": _is_whole for bits in (8, 16, 32, 64)},
    **{f"FP{bits}": _is_number for bits in (16, 32, 64)},
}


def write_v2(
    query: Query, answer: Answer, outputs: list[str], identity: str | None
) -> dict[str, Any]:
    """Return the outputs as tensors, with warnings among the parameters."""
    served, n_rows = answer.served, query.rows.n_rows
    found = {"model_name": served.name, "model_version": served.version}
    found |= {} if identity is None else {"id": identity}
    tensors = [_tensor(name, _output(name, query, answer), n_rows) for name in outputs]
    warnings = _all_warnings(query, answer)
    # The protocol has no lists among its parameters: one sentence per line.
    parameters = {"parameters": {"warnings": "\n".join(warnings)}} if warnings else {}
    return found | {"outputs": tensors} | parameters


def _output(name: str, query: Query, answer: Answer) -> Any:
    if name == "prediction":
        return answer.predictions
    if name == "reasons":  # every row has equally many; empty texts fill up
        return [row + [""] * (query.n_reasons - len(row)) for row in answer.reasons]
    return answer.arrays[name]


def _tensor(name: str, values: Any, n_rows: int) -> dict[str, Any]:
    array = np.array(values)
    kind = {"f": "FP64", "i": "INT64", "b": "BOOL"}.get(array.dtype.kind, "BYTES")
    data = array.reshape(n_rows * math.prod(array.shape[1:])).tolist()
    return {"name": name, "datatype": kind, "shape": list(array.shape), "data": data}
