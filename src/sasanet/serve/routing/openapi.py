"""OpenAPI with the columns of every model: each has its own paths, with the bodies they take."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import sasanet
from sasanet.serve.protocols import DATATYPES, OUTPUTS
from sasanet.serve.registry import Served
from sasanet.serve.routing.schema import describe_column

_Schema = dict[str, Any]
_JSON, _CSV = "application/json", "text/csv"
_REFUSALS = {
    "401": "No valid key",
    "404": "No such model, or no rows of it",
    "408": "The body came too slowly",
    "413": "Body too large",
    "422": "The request cannot be used",
    "429": "Too many requests with this key",
    "503": "Too much is waiting, or the answer took too long",
}
_SENTENCE = {"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]}


def add_models(schema: _Schema, models: Iterable[Served]) -> _Schema:
    """Return FastAPI's description with paths and a schema of rows for every model."""
    served, paths = [*models], dict[str, Any]()
    for path, methods in schema.get("paths", {}).items():
        for one in served if "{model}" in path else served[:1]:
            paths[path.replace("{model}", one.name)] = {
                method: _operation(path, said, one, served) for method, said in methods.items()
            }
    rows = {f"{one.name}.Row": _row(one) for one in served}
    return {
        "openapi": schema["openapi"],
        "info": {"title": "sasanet", "version": sasanet.__version__},
        "paths": paths,
        "components": {"schemas": {"Error": _SENTENCE, **rows}},
    }


def _row(served: Served) -> _Schema:
    return {
        "type": "object",
        "description": "Any column may lack. Other levels and numbers outside the range are "
        "answered with a warning.",
        "properties": {column.name: describe_column(column) for column in served.columns},
    }


def _operation(path: str, said: _Schema, served: Served, models: list[Served]) -> _Schema:
    """Return one operation of one model: its body, the words after '?', and its refusals."""
    words = [one for one in said.get("parameters", ()) if one["in"] == "query"]
    if path == "/invocations":
        names = {"type": "string", "enum": [one.name for one in models]}
        words = [{"name": "model", "in": "query", "required": len(models) > 1, "schema": names}]
    found = {"summary": said["summary"], "parameters": words}
    found |= {"description": said["description"]} if "description" in said else {}
    body = _BODIES.get(path)
    if body is not None:
        kind = _CSV if path.endswith("/csv") else _JSON
        found["requestBody"] = {"required": True, "content": {kind: {"schema": body(served)}}}
    error = {_JSON: {"schema": {"$ref": "#/components/schemas/Error"}}}
    refusals = {
        status: {"description": text, "content": error} for status, text in _REFUSALS.items()
    }
    return found | {"responses": {"200": said["responses"]["200"], **refusals}}


# --- bodies ---------------------------------------------------------------------------------------


def _reference(served: Served) -> _Schema:
    return {"$ref": f"#/components/schemas/{served.name}.Row"}


def _names(served: Served) -> _Schema:
    return _list({"enum": [column.name for column in served.columns]})


def _list(items: _Schema, at_least: int = 0) -> _Schema:
    return {"type": "array", "items": items} | ({"minItems": at_least} if at_least else {})


def _rows(served: Served) -> _Schema:
    return _list(_reference(served), 1)


def _object(required: str, **fields: _Schema) -> _Schema:
    return {"type": "object", "properties": fields, "required": required.split()}


def _options(served: Served) -> dict[str, _Schema]:
    return {
        "only": _names(served),
        "n_orders": {"type": "integer", "anyOf": [{"const": 0}, {"minimum": 4}]},
        "n_reasons": {"type": "integer", "minimum": 1, "maximum": 100},
        "trial": {"type": "boolean"},
    }


def _own(served: Served) -> _Schema:
    rows = _rows(served)
    return {"anyOf": [rows, _object("rows", rows=rows, **_options(served))]}


def _v1(served: Served) -> _Schema:
    lists = _list(_list({}), 1)
    instances = {"anyOf": [_rows(served), lists]}
    return _object("instances", instances=instances, parameters=_object("", **_options(served)))


def _v2(served: Served) -> _Schema:
    kinds = {"type": "string", "enum": [*DATATYPES]}
    tensor = _object(
        "name shape datatype data",
        name={"enum": [column.name for column in served.columns]},
        shape=_list({"type": "integer", "minimum": 1}, 1),
        datatype=kinds,
        data=_list({}, 1),
    )
    asked = [name for name in OUTPUTS if name != "probabilities" or served.labels]
    outputs = _list(_object("name", name={"enum": asked}))
    options = _object("", **_options(served))
    return _object(
        "inputs", id={"type": "string"}, inputs=_list(tensor, 1), outputs=outputs,
        parameters=options,
    )  # fmt: skip


def _invocation(served: Served) -> _Schema:
    split = _object("columns data", columns=_names(served), data=_list(_list({}), 1))
    params = _object("", explain={"type": "boolean"}, **_options(served))
    records = {"dataframe_records": _rows(served), "params": params}
    lists = {"dataframe_split": split, "params": params}
    both = [_object("dataframe_records", **records), _object("dataframe_split", **lists)]
    return {"anyOf": both}


def _question(required: str = "", **fields: _Schema) -> Callable[[Served], _Schema]:
    """Return the body of a question about one row."""

    def body(served: Served) -> _Schema:
        about = {"row": _reference(served), "only": _names(served)}
        return _object(f"row {required}", **about, **fields)

    return body


def _recourse(served: Served) -> _Schema:
    names = {"enum": [column.name for column in served.columns]}
    allowed = {"anyOf": [{"type": "null"}, _list({"type": ["number", "string", "boolean"]}, 1)]}
    change = {"type": "object", "propertyNames": names, "additionalProperties": allowed}
    return _question(
        "threshold change",
        threshold={"type": "number"},
        change=change | {"minProperties": 1},
        refuse={"type": "string", "enum": ["above", "below"]},
        max_changes={"type": "integer", "minimum": 1, "maximum": 3},
        output={"enum": [*map(str, served.labels), None]},
    )(served)


_BODIES: dict[str, Callable[[Served], _Schema]] = {
    "/models/{model}/predict": _own,
    "/models/{model}/explain": _own,
    "/v1/models/{model}:predict": _v1,
    "/v1/models/{model}:explain": _v1,
    "/v2/models/{model}/infer": _v2,
    "/invocations": _invocation,
    "/models/{model}/gains": _question(),
    "/models/{model}/recourse": _recourse,
    "/models/{model}/groups": _question(
        "groups",
        groups={"type": "object", "additionalProperties": _list({"type": "string"}, 1)},
    ),
    "/models/{model}/like": _question(
        count={"type": "integer", "minimum": 1, "maximum": 100},
    ),
    "/models/{model}/csv": lambda _: {"type": "string"},
}
