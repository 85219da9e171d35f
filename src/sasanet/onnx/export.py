"""A fitted model as one ONNX file.

    v(S) − φ0 = mean_m cap · tanh((ρ(b_m + Σ_{i∈S} r_mi ψ_i(x_i)) − ρ(b_m)) / cap)

from the arrays of :func:`sasanet.network.export.export`. Sizes: B rows, N features, D the length of
a cell vector, M members, K outputs, S coalitions. Attributions are exported where all coalitions
can be enumerated; the formula for more features has no graph here.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import sasanet
from sasanet.errors import InvalidInputError
from sasanet.network.export import PortableNetwork, export
from sasanet.onnx.graph import INTERNAL, Graph
from sasanet.shapley.exact import all_coalitions, exact_shapley
from sasanet.table.columns import Column
from sasanet.whole_files import write_whole

if TYPE_CHECKING:
    from sasanet.estimator.sasanet import SASANetModel

_OUTPUTS = ("prediction", "probabilities", "raw", "base_value", "attributions")
_ENUMERATED = 9  # columns: 512 coalitions


def write_onnx(model: SASANetModel, path: str | Path) -> None:
    """Write a fitted model as one ONNX file: see ``model.to_onnx``.

    Examples
    --------
    >>> import tempfile
    >>> from sasanet import SASANetClassifier
    >>> from sasanet.datasets import load_penguins
    >>> X, y = load_penguins()
    >>> model = SASANetClassifier(random_state=0, max_epochs=1, teacher_weight=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_onnx(model, f"{folder}/model.onnx")
    """
    network = _portable(model)
    columns = model.encoder_.columns
    _check_names(columns)
    graph = Graph()
    vectors, present = _cell_vectors(graph, network, columns)
    attributed = len(columns) <= _ENUMERATED and model.network_.attribution is not None
    whole = np.ones((1, len(columns)), dtype=bool)
    values = _values(graph, network, vectors, whole)
    someone = graph.node("ReduceMax", present, axes=[1], keepdims=0)  # [B, 1]: v(∅) is exactly φ0
    value = graph.node("Mul", graph.node("Squeeze", values, graph.constant([1])), someone)
    _write_outputs(graph, model, value)
    if attributed:
        _write_attributions(graph, model, network, vectors, present)
    about = {
        "sasanet": sasanet.__version__,
        "task": model.target_.task,
        "units": model.target_.units,
        "labels": json.dumps(list(model.target_.labels)),
        "attributions": "exact" if attributed else "not exported",
    }
    write_whole(path, graph.to_bytes(about))


def _portable(model: SASANetModel) -> PortableNetwork:
    network = export(model.network_)
    if network is None:
        raise InvalidInputError(
            "An ONNX file can be made of a set network with a table of vectors and ReLUs, got "
            f"network={model.network!r}; fit one with network='set'"
        )
    return network


def _check_names(columns: tuple[Column, ...]) -> None:
    for column in columns:
        if column.name in _OUTPUTS or column.name.startswith(INTERNAL) or not column.name:
            raise InvalidInputError(
                f"Columns must have other names than {', '.join(_OUTPUTS)}, got {column.name!r}; "
                "rename the column and fit anew"
            )


# --- cells → vectors --------------------------------------------------------------------------


def _cell_vectors(
    graph: Graph, network: PortableNetwork, columns: tuple[Column, ...]
) -> tuple[str, str]:
    """Return ψ of every cell [B, N, D], zero where absent, and what is present [B, N, 1]."""
    vectors, presence = [], []
    for column, table in zip(columns, network.tables, strict=True):
        place, present = _place(graph, column)
        mask = graph.unsqueeze(graph.cast(present, "FLOAT"), 1)  # [B, 1]
        vector = graph.node("Mul", _look_up(graph, table, place), mask)
        vectors.append(graph.unsqueeze(vector, 1))
        presence.append(graph.unsqueeze(mask, 1))
    return graph.node("Concat", *vectors, axis=1), graph.node("Concat", *presence, axis=1)


def _place(graph: Graph, column: Column) -> tuple[str, str]:
    """Return each cell's place on its column's ruler, float32 [B], and whether it is present."""
    if column.kind != "number" and (not column.levels or isinstance(column.levels[0], str)):
        return _place_text(graph, column)
    given = graph.input(column.name, "DOUBLE")
    present = graph.node("Not", graph.node("IsNaN", given))
    if column.kind != "number":
        return _place_code(graph, column, given), present
    if not column.seen:  # nothing was learned of it: absent, whatever is given
        present = graph.node("And", present, graph.constant(False))
    zeros = graph.node("Mul", graph.cast(present, "DOUBLE"), graph.constant(0.0))
    known = graph.node("Where", present, given, zeros)
    return _place_number(graph, column, known), present


def _place_number(graph: Graph, column: Column, given: str) -> str:
    """Return the position among the knots, interpolated, flat beyond both ends."""
    knots = np.array(column.knots)
    if len(knots) == 1:
        return graph.cast(graph.node("Mul", given, graph.constant(0.0)), "FLOAT")
    reached = graph.node("LessOrEqual", graph.constant(knots[None]), graph.unsqueeze(given, 1))
    count = graph.node("ReduceSum", graph.cast(reached, "INT64"), graph.constant([1]), keepdims=0)
    low = graph.node("Sub", count, graph.constant(np.int64(1)))
    low = graph.node(
        "Clip", low, graph.constant(np.int64(0)), graph.constant(np.int64(len(knots) - 2))
    )
    start = graph.node("Gather", graph.constant(knots[:-1]), low)
    # Halved, because the distance between two finite numbers may exceed the largest one.
    gap = graph.node("Gather", graph.constant(knots[1:] / 2 - knots[:-1] / 2), low)
    half = graph.constant(0.5)
    way = graph.node("Sub", graph.node("Mul", given, half), graph.node("Mul", start, half))
    share = graph.node("Div", way, gap)
    share = graph.node("Clip", share, graph.constant(0.0), graph.constant(1.0))
    return graph.cast(graph.node("Add", graph.cast(low, "DOUBLE"), share), "FLOAT")


def _place_code(graph: Graph, column: Column, given: str) -> str:
    """Return the place of levels that are numbers or truths; 0 where unknown."""
    levels = np.array([float(level) for level in column.levels])
    if len(set(levels.tolist())) < len(levels):
        raise InvalidInputError(
            f"Levels must differ as floats, got equal ones in {column.name!r}; make them text"
        )
    same = graph.node("Equal", graph.unsqueeze(given, 1), graph.constant(levels[None]))
    places = graph.constant(np.arange(1, len(levels) + 1)[None])
    found = graph.node("Mul", graph.cast(same, "INT64"), places)
    return graph.cast(graph.node("ReduceSum", found, graph.constant([1]), keepdims=0), "FLOAT")


def _place_text(graph: Graph, column: Column) -> tuple[str, str]:
    """Return the place of levels that are text; the empty text is absent, 0 is unknown."""
    if "" in column.levels:
        raise InvalidInputError(
            f"The empty text means a missing cell in ONNX, got it as a level of {column.name!r}; "
            "give the level a name and fit anew"
        )
    code = graph.node(
        "LabelEncoder",
        graph.input(column.name, "STRING"),
        keys_strings=["", *column.levels],
        values_int64s=[-1, *range(1, len(column.levels) + 1)],
        default_int64=0,
    )
    zero = graph.constant(np.int64(0))
    present = graph.node("GreaterOrEqual", code, zero)
    return graph.cast(graph.node("Max", code, zero), "FLOAT"), present


def _look_up(graph: Graph, table: np.ndarray, place: str) -> str:
    """Return the vector of a place, interpolated between two knots: [B] → [B, D]."""
    low = graph.node("Floor", place)
    share = graph.unsqueeze(graph.node("Sub", place, low), 1)
    index = graph.cast(low, "INT64")
    above = graph.node("Add", index, graph.constant(np.int64(1)))
    above = graph.node("Min", above, graph.constant(np.int64(len(table) - 1)))
    rows = graph.constant(table)
    rest = graph.node("Sub", graph.constant(np.float32(1)), share)
    return graph.node(
        "Add",
        graph.node("Mul", rest, graph.node("Gather", rows, index)),
        graph.node("Mul", share, graph.node("Gather", rows, above)),
    )


# --- vectors → values ---------------------------------------------------------------------------


def _values(graph: Graph, network: PortableNetwork, vectors: str, masks: np.ndarray) -> str:
    """Return v(S) − φ0 of some coalitions, in the units of the network.

    Shape: vectors [B, N, D], masks [S, N] → [B, S, K].
    """
    n_members, width = network.bias.shape
    weights = (masks[:, None] * network.factors[None]).astype(np.float32)  # [S, M, N]
    flat = graph.constant(weights.reshape(-1, masks.shape[1]))
    sums = graph.node("MatMul", flat, vectors)  # [B, S·M, D]
    shape = graph.constant(np.array([0, len(masks), n_members, width]))
    sums = graph.node("Add", graph.node("Reshape", sums, shape), graph.constant(network.bias))
    raw = graph.node(
        "Sub", _rho(graph, network, sums), _rho(graph, network, graph.constant(network.bias))
    )
    if math.isfinite(network.cap):
        cap = graph.constant(np.float32(network.cap))
        raw = graph.node("Mul", graph.node("Tanh", graph.node("Div", raw, cap)), cap)
    return graph.node("ReduceMean", raw, axes=[2], keepdims=0)


def _rho(graph: Graph, network: PortableNetwork, sums: str) -> str:
    """Return ρ: [..., D] → [..., K]."""
    for weight, bias in network.layers:
        active = graph.node("LeakyRelu", sums, alpha=network.slope)
        product = graph.node("MatMul", active, graph.constant(np.ascontiguousarray(weight.T)))
        sums = graph.node("Add", product, graph.constant(bias))
    return sums


# --- outputs ------------------------------------------------------------------------------------


def _write_outputs(graph: Graph, model: SASANetModel, value: str) -> None:
    """Add prediction, probabilities, raw output and base value."""
    target = model.target_
    scaled = graph.node("Mul", graph.cast(value, "DOUBLE"), graph.constant(target.scale))
    raw = graph.node("Add", scaled, graph.constant(np.array(target.base)))  # [B, K]
    graph.output("raw", raw, "DOUBLE", ["rows", len(target.base)])
    graph.output("base_value", graph.constant(np.array(target.base)), "DOUBLE", [len(target.base)])
    if not target.labels:
        flat = graph.node("Squeeze", raw, graph.constant([1]))
        graph.output("prediction", flat, "DOUBLE", ["rows"])
        return
    if target.task == "binary":  # log-odds are a softmax against 0
        zero = graph.node("Mul", raw, graph.constant(0.0))
        raw = graph.node("Concat", zero, raw, axis=1)
    shares = graph.node("Softmax", raw, axis=1)
    graph.output("probabilities", shares, "DOUBLE", ["rows", len(target.labels)])
    best = graph.node("ArgMax", shares, axis=1, keepdims=0)
    labels = np.array(target.labels)
    kind = {"i": "INT64", "f": "DOUBLE", "b": "BOOL"}.get(labels.dtype.kind, "STRING")
    chosen = graph.node("Gather", graph.constant(labels), best)
    graph.output("prediction", chosen, kind, ["rows"])


def _write_attributions(
    graph: Graph, model: SASANetModel, network: PortableNetwork, vectors: str, present: str
) -> None:
    """Add exact Shapley values: absent features are null players, which change no other's value.

    Shape: vectors [B, N, D], present [B, N, 1] → [B, N, K].
    """
    n_features = len(network.tables)
    masks = all_coalitions(n_features)
    values = graph.cast(_values(graph, network, vectors, masks), "DOUBLE")  # [B, S, K]
    places = masks @ 2 ** np.arange(n_features)

    def units(some: np.ndarray) -> np.ndarray:
        """Return the games that are 1 for one coalition and 0 for all others: [S, m]."""
        return np.equal(places[:, None], some @ 2 ** np.arange(n_features)).astype(float)

    weights = exact_shapley(units, n_features).T  # [N, S]: Shapley values are linear in v
    found = graph.node("MatMul", graph.constant(np.ascontiguousarray(weights)), values)
    found = graph.node("Mul", found, graph.cast(present, "DOUBLE"))
    scaled = graph.node("Mul", found, graph.constant(model.target_.scale))
    shape: list[str | int] = ["rows", n_features, len(model.target_.base)]
    graph.output("attributions", scaled, "DOUBLE", shape)
