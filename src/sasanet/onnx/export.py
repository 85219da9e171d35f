"""A fitted model as one ONNX file.

    v(S) − φ0 = mean_m cap · tanh((ρ(b_m + Σ_{i∈S} r_mi ψ_i(x_i)) − ρ(b_m)) / cap)

from the arrays of :func:`sasanet.network.export.export`, and its Shapley values by the formula of
the network. Sizes: B rows, N features, K outputs.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import sasanet
from sasanet.errors import InvalidInputError
from sasanet.network.attribution.closed_form import ClosedFormAttribution
from sasanet.network.export import PortableNetwork, export
from sasanet.onnx import attribution
from sasanet.onnx.cells import columns_in_order, is_text, read_cells
from sasanet.onnx.comparison import compare
from sasanet.onnx.graph import INTERNAL, Graph, Tensor
from sasanet.onnx.values import Rows, mean_of_members, rows_of_members
from sasanet.table.columns import Column
from sasanet.table.target import Target
from sasanet.whole_files import write_whole

if TYPE_CHECKING:
    from sasanet.estimator.sasanet import SASANetModel

_OUTPUTS = ("prediction", "probabilities", "raw", "base_value", "attributions")
_KINDS = ("number", "category")


def write_onnx(
    model: SASANetModel, path: str | Path, X: Any = None, attributions: bool = True
) -> dict[str, Any]:
    """Write a fitted model as one ONNX file: see ``model.to_onnx``.

    Examples
    --------
    >>> import tempfile
    >>> from sasanet import SASANetClassifier
    >>> from sasanet.datasets import load_penguins
    >>> X, y = load_penguins()
    >>> model = SASANetClassifier(random_state=0, max_epochs=1, teacher_weight=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     errors = write_onnx(model, f"{folder}/model.onnx")
    >>> errors["prediction"] < 1e-5
    True
    """
    wanted = _kind_of_attributions(model) if attributions else "none"
    graph = _make_graph(model, wanted != "none")
    about = _about(model, wanted)
    errors = compare(model, graph.to_bytes(about), X)
    write_whole(path, graph.to_bytes(about | {"errors": json.dumps(errors)}))
    return errors


def _kind_of_attributions(model: SASANetModel) -> str:
    """Return "exact" or "formula"; a network that has no formula is refused."""
    formula = model.network_.attribution
    if not isinstance(formula, ClosedFormAttribution):
        raise InvalidInputError(
            "Attributions can be exported of a network with attribution='closed_form', got "
            f"{model.network_.architecture.attribution!r}; export with attributions=False"
        )
    return "exact" if formula.is_exact else "formula"


def _make_graph(model: SASANetModel, attributed: bool) -> Graph:
    columns = model.encoder_.columns
    _check(columns)
    order = columns_in_order(columns)
    network = _portable(model, order)
    graph = Graph()
    value = network.values(graph, [columns[j] for j in order])
    _write_outputs(graph, model.target_, value.mean)
    if attributed:
        found = value.attributions(np.argsort(order))
        scaled = found * model.target_.scale
        graph.output("attributions", scaled, ["rows", len(columns), len(model.target_.base)])
    return graph


@dataclass(frozen=True)
class _Value:
    """The value of every row of the table, and what its attributions are computed from."""

    rows: Rows
    present: Tensor  # [B, N], 1.0 or 0.0
    alone: Tensor | None  # v({i}), if it is interpolated: [B, N, K]
    of_members: Tensor  # [B·M, K]
    mean: Tensor  # float64 [B, K]

    def attributions(self, order: np.ndarray) -> Tensor:
        """Return φ of the features in an order, which add up to the value: float64 [B, N, K]."""
        n_members, shape = self.rows.n_members, (len(order), self.rows.n_outputs)
        present = self.present
        if n_members > 1:
            repeated = present.unsqueeze(1) * np.ones((1, n_members, 1))
            present = repeated.reshape(-1, len(order))
        found = attribution.attributions(self.rows, present, self.alone, self.of_members)
        found = mean_of_members(self.rows, found, *shape).cast("DOUBLE")
        mask = self.present.cast("DOUBLE").unsqueeze(2)
        found = found * mask
        gap = (self.mean - found.sum(1)) / mask.sum(1).op("Max", 1.0)
        found = found + gap.unsqueeze(1) * mask
        if (order == np.arange(len(order))).all():
            return found
        return found.take(found.graph.constant(order), axis=1)


@dataclass(frozen=True)
class _Network:
    """The arrays of a network, in the graph's order of columns."""

    arrays: PortableNetwork
    interpolates_alone: bool

    def values(self, graph: Graph, columns: list[Column]) -> _Value:
        """Declare the inputs and compute v(N) − φ0 of every row."""
        tables, width = self.arrays.tables, self.arrays.bias.shape[1]
        if self.interpolates_alone:  # ψ and v({i}) are looked up together
            tables = tuple(np.hstack([table, self._alone(table)]) for table in tables)
        cells = read_cells(graph, columns, tables)
        vectors, alone = cells.entries, None
        if self.interpolates_alone:
            vectors, alone = vectors.slice(2, 0, width), vectors.slice(2, width, 2**31)
        rows = rows_of_members(self.arrays, vectors)
        of_members = rows.values(rows.vectors.sum(1, keep=True)).squeeze(1)
        someone = cells.present.op("ReduceMax", axes=[1], keepdims=1)  # v(∅) is exactly φ0
        mean = mean_of_members(rows, of_members, rows.n_outputs) * someone
        return _Value(rows, cells.present, alone, of_members, mean.cast("DOUBLE"))

    def _alone(self, table: np.ndarray) -> np.ndarray:
        """Return the value of every row of a table: [places, D] → [places, K]."""
        return self.arrays.value_of_sums(table[:, None])


def _portable(model: SASANetModel, order: list[int]) -> _Network:
    arrays = export(model.network_)
    if arrays is None:
        raise InvalidInputError(
            "An ONNX file can be made of a set network with a table of vectors and ReLUs, got "
            f"network={model.network!r}; fit one with network='set'"
        )
    tables = tuple(arrays.tables[j] for j in order)
    arrays = replace(arrays, tables=tables, factors=arrays.factors[:, order])
    return _Network(arrays, getattr(model.network_.marginal, "interpolates_alone", False))


def _check(columns: tuple[Column, ...]) -> None:
    for column in columns:
        if column.name in _OUTPUTS or column.name.startswith(INTERNAL) or not column.name:
            raise InvalidInputError(
                f"Columns must have other names than {', '.join(_OUTPUTS)}, got {column.name!r}; "
                "rename the column and fit anew"
            )
        if column.kind not in _KINDS:
            raise InvalidInputError(
                f"Columns must be numbers or categories in ONNX, got {column.name!r}, a "
                f"column of {column.kind}; make numbers or categories of it and fit anew"
            )


def _write_outputs(graph: Graph, target: Target, value: Tensor) -> None:
    """Add prediction, probabilities, raw output and base value."""
    base = graph.constant(np.array(target.base))
    raw = value * target.scale + base  # [B, K]
    graph.output("raw", raw, ["rows", len(target.base)])
    graph.output("base_value", base, [len(target.base)])
    if not target.labels:
        graph.output("prediction", raw.squeeze(1), ["rows"])
        return
    if target.task == "binary":  # log-odds are a softmax against 0
        raw = graph.concat([raw * 0.0, raw], 1)
    shares = raw.op("Softmax", axis=1)
    graph.output("probabilities", shares, ["rows", len(target.labels)])
    best = shares.op("ArgMax", kind="INT64", axis=1, keepdims=0)
    graph.output("prediction", graph.constant(np.array(target.labels)).take(best), ["rows"])


def _about(model: SASANetModel, attributed: str) -> dict[str, str]:
    """Return the file's metadata but for its errors."""
    target = model.target_
    return {
        "sasanet": sasanet.__version__,
        "task": target.task,
        "units": target.units,
        "labels": json.dumps(list(target.labels)),
        "columns": json.dumps([_describe(column) for column in model.encoder_.columns]),
        "attributions": attributed,
    }


def _describe(column: Column) -> dict[str, Any]:
    """Return what a caller must know of an input."""
    about: dict[str, Any] = {"name": column.name, "input": "text" if is_text(column) else "number"}
    if column.kind == "number":
        return about | {"range": [column.knots[0], column.knots[-1]] if column.seen else None}
    return about | {"levels": list(column.levels)}
