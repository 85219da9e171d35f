"""A model's columns as MLflow's schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sasanet.errors import need_package
from sasanet.table.columns import Column, family

if TYPE_CHECKING:
    from sasanet.estimator.sasanet import SASANetModel

_TYPES = {"truth": "boolean", "number": "double", "text": "string"}


def make_signature(model: SASANetModel) -> Any:
    """Return the signature of a fitted model: every column may be absent."""
    need_package("mlflow", "mlflow")
    from mlflow.models import ModelSignature
    from mlflow.types.schema import ColSpec, ParamSchema, ParamSpec, Schema

    columns = model.encoder_.columns
    inputs: list[Any] = [
        ColSpec(_type_of(column), column.name, required=False) for column in columns
    ]
    labels = model.target_.labels
    output = _TYPES[family(labels[0])] if labels else "double"
    output = "long" if labels and isinstance(labels[0], int) and output == "double" else output
    params = [
        ParamSpec("explain", "boolean", default=False),
        ParamSpec("n_orders", "long", default=0),
        ParamSpec("n_reasons", "long", default=5),
    ]
    return ModelSignature(Schema(inputs), Schema([ColSpec(output)]), ParamSchema(params))


def _type_of(column: Column) -> Any:
    """Return MLflow's type of a column.

    MLflow refuses 64-bit integers where a column is declared double, and missing cells where it is
    declared long: columns that had whole numbers alone take anything.
    """
    from mlflow.types.schema import AnyType

    if column.parts:  # dates may come as text of JSON, too
        return AnyType()
    if column.kind == "number":
        return "double" if any(knot % 1 for knot in column.knots) else AnyType()
    kind = family(column.levels[0]) if column.levels else "text"
    return AnyType() if kind == "number" else _TYPES[kind]
