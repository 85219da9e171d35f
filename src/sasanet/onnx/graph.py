"""A graph of ONNX operators, written node by node.

Arithmetic of :class:`Tensor` objects adds nodes to their :class:`Graph`, so that formulas read like
those of torch and NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sasanet.errors import need_package

OPSET, ML_OPSET, IR_VERSION = 17, 2, 8
INTERNAL = "sasanet/"  # how names inside the graph begin; columns have others
_KINDS = {"FLOAT": np.float32, "DOUBLE": np.float64, "INT64": np.int64, "BOOL": np.bool_}
_NAMES = {np.dtype(dtype): kind for kind, dtype in _KINDS.items()}


class Tensor:
    """A tensor of a graph: its name and the type of its entries; operators add nodes.

    Numbers and arrays on the right become constants of the same type.
    """

    def __init__(self, graph: Graph, name: str, kind: str) -> None:
        self.graph, self.name, self.kind = graph, name, kind

    def _read(self, other: Tensor | np.ndarray | float) -> Tensor:
        if isinstance(other, Tensor):
            return other
        return self.graph.constant(np.asarray(other, dtype=_KINDS[self.kind]))

    def op(self, operator: str, *others: Any, kind: str | None = None, **attributes: Any) -> Tensor:
        """Return the result of an operator on this tensor and others of its type."""
        inputs = [self._read(other) for other in others]
        return self.graph.node(operator, self, *inputs, kind=kind or self.kind, **attributes)

    def __add__(self, other: Tensor | np.ndarray | float) -> Tensor:
        return self.op("Add", other)

    def __sub__(self, other: Tensor | np.ndarray | float) -> Tensor:
        return self.op("Sub", other)

    def __rsub__(self, other: float) -> Tensor:
        return self._read(other) - self

    def __mul__(self, other: Tensor | np.ndarray | float) -> Tensor:
        return self.op("Mul", other)

    def __truediv__(self, other: Tensor | np.ndarray | float) -> Tensor:
        return self.op("Div", other)

    def __matmul__(self, other: Tensor | np.ndarray) -> Tensor:
        return self.op("MatMul", other)

    def at_most(self, other: Tensor | np.ndarray | float) -> Tensor:
        """Tell where an entry is at most another."""
        return self.op("LessOrEqual", other, kind="BOOL")

    def equals(self, other: Tensor | np.ndarray | float) -> Tensor:
        """Tell where two entries are equal."""
        return self.op("Equal", other, kind="BOOL")

    def square(self) -> Tensor:
        """Return the square of every entry."""
        return self * self

    def clip(self, low: Any, high: Any) -> Tensor:
        """Return every entry moved between two bounds, which may be arrays."""
        return self.op("Max", low).op("Min", high)

    def cast(self, kind: str) -> Tensor:
        """Return the entries as another type."""
        number = getattr(self.graph.onnx.TensorProto, kind)
        return self.graph.node("Cast", self, kind=kind, to=number)

    def _with_integers(self, operator: str, values: Any, **attributes: Any) -> Tensor:
        """Return the result of an operator whose second input are axes or a shape."""
        integers = self.graph.constant(np.asarray(values, dtype=np.int64))
        return self.graph.node(operator, self, integers, kind=self.kind, **attributes)

    def sum(self, axis: int, keep: bool = False) -> Tensor:
        """Return the sum along an axis."""
        return self._with_integers("ReduceSum", [axis], keepdims=int(keep))

    def mean(self, axis: int) -> Tensor:
        """Return the mean along an axis."""
        return self.op("ReduceMean", axes=[axis], keepdims=0)

    def reshape(self, *shape: int) -> Tensor:
        """Return another shape; 0 keeps an axis, -1 is what remains."""
        return self._with_integers("Reshape", shape)

    def unsqueeze(self, *axes: int) -> Tensor:
        """Return the tensor with axes of length 1 at these places of the result."""
        return self._with_integers("Unsqueeze", axes)

    def squeeze(self, axis: int) -> Tensor:
        """Return the tensor without an axis of length 1."""
        return self._with_integers("Squeeze", [axis])

    def transpose(self, *axes: int) -> Tensor:
        """Return the axes in another order."""
        return self.op("Transpose", perm=list(axes))

    def slice(self, axis: int, start: int, stop: int) -> Tensor:
        """Return a part of an axis."""
        limits = [self.graph.constant(np.array([value])) for value in (start, stop, axis)]
        return self.graph.node("Slice", self, *limits, kind=self.kind)

    def take(self, index: Tensor, axis: int = 0) -> Tensor:
        """Return entries of an axis by their positions."""
        return self.graph.node("Gather", self, index, kind=self.kind, axis=axis)

    def take_of_row(self, index: Tensor) -> Tensor:
        """Return other entries of the second axis for each row: [B, N, D], [B, n] → [B, n, D]."""
        return self.graph.node("GatherND", self, index.unsqueeze(2), kind=self.kind, batch_dims=1)

    def largest(self, count: int) -> Tensor:
        """Return the positions of the largest entries of each row: [B, N] → [B, count]."""
        return self.graph.largest(self, count)


class Graph:
    """Nodes, constants, inputs and outputs of one file."""

    def __init__(self) -> None:
        self.onnx = need_package("onnx", "onnx")
        self._nodes: list[Any] = []
        self._constants: dict[tuple[Any, ...], Any] = {}
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._count = 0

    def _name(self) -> str:
        self._count += 1
        return f"{INTERNAL}{self._count}"

    def _info(self, name: str, kind: str, shape: list[str | int] | None) -> Any:
        number = getattr(self.onnx.TensorProto, kind)
        return self.onnx.helper.make_tensor_value_info(name, number, shape)

    def input(self, name: str, kind: str) -> Tensor:
        """Declare an input of one cell per row."""
        self._inputs.append(self._info(name, kind, ["rows"]))
        return Tensor(self, name, kind)

    def output(self, name: str, tensor: Tensor, shape: list[str | int]) -> None:
        """Declare a tensor to be an output."""
        self._nodes.append(self.onnx.helper.make_node("Identity", [tensor.name], [name]))
        self._outputs.append(self._info(name, tensor.kind, shape))

    def constant(self, values: Any) -> Tensor:
        """Add an array, once; text becomes a tensor of strings."""
        array = np.asarray(values)
        kind = _NAMES.get(array.dtype, "STRING")
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._constants:
            stored = array.astype(object) if array.dtype.kind == "U" else array
            self._constants[key] = self.onnx.numpy_helper.from_array(stored, self._name())
        return Tensor(self, self._constants[key].name, kind)

    def node(self, operator: str, *inputs: Tensor, kind: str, **attributes: Any) -> Tensor:
        """Add an operator of one output, whose entries are of a kind."""
        name = self._name()
        domain = "ai.onnx.ml" if operator == "LabelEncoder" else None
        names = [tensor.name for tensor in inputs]
        made = self.onnx.helper.make_node(operator, names, [name], domain=domain, **attributes)
        self._nodes.append(made)
        return Tensor(self, name, kind)

    def concat(self, parts: list[Tensor], axis: int) -> Tensor:
        """Return tensors joined along an axis."""
        return self.node("Concat", *parts, kind=parts[0].kind, axis=axis)

    def where(self, condition: Tensor, then: Tensor, otherwise: Tensor) -> Tensor:
        """Return entries of one tensor where a condition holds, else those of another."""
        return self.node("Where", condition, then, otherwise, kind=then.kind)

    def largest(self, tensor: Tensor, count: int) -> Tensor:
        """Return the positions of the largest entries of each row; of equal ones the first."""
        name, size = self._name(), self.constant(np.array([count]))
        outputs = [self._name(), name]
        made = self.onnx.helper.make_node("TopK", [tensor.name, size.name], outputs, axis=1)
        self._nodes.append(made)
        return Tensor(self, name, "INT64")

    def scatter(self, tensor: Tensor, index: Tensor, updates: Tensor, add: bool) -> Tensor:
        """Return a tensor with entries of its second axis set, or added to, row by row.

        Shape: tensor [B, N, K], index [B, n], updates [B, n, K] → [B, N, K].
        """
        shape = self.node("Shape", updates, kind="INT64")
        places = self.node("Expand", index.unsqueeze(2), shape, kind="INT64")
        how = {"reduction": "add"} if add else {}
        return self.node(
            "ScatterElements", tensor, places, updates, kind=tensor.kind, axis=1, **how
        )

    def on_rows(
        self, selected: Tensor, before: Tensor, compute: Callable[[Tensor], Tensor]
    ) -> Tensor:
        """Return a tensor whose selected rows are computed anew; nothing runs where none is.

        Shape: selected [B] bool, before [B, …]; ``compute`` takes positions [b] → [b, …].
        """
        index = self.node("NonZero", selected, kind="INT64").squeeze(0)
        some = self.node("Size", index, kind="INT64").op("Greater", 0, kind="BOOL")
        outer, branches = self._nodes, []
        for make in (
            lambda: self.node(
                "ScatterND", before, index.unsqueeze(1), compute(index), kind=before.kind
            ),
            lambda: self.node("Identity", before, kind=before.kind),
        ):
            self._nodes = []
            result = make()
            info = self._info(result.name, result.kind, None)
            branches.append(self.onnx.helper.make_graph(self._nodes, "branch", [], [info]))
        self._nodes = outer
        return self.node(
            "If", some, kind=before.kind, then_branch=branches[0], else_branch=branches[1]
        )

    def to_bytes(self, about: dict[str, str]) -> bytes:
        """Return the checked file; ``about`` becomes its metadata."""
        helper = self.onnx.helper
        constants = list(self._constants.values())
        graph = helper.make_graph(self._nodes, "sasanet", self._inputs, self._outputs, constants)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
        model = helper.make_model(
            graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="sasanet"
        )
        helper.set_model_props(model, about)
        self.onnx.checker.check_model(model, full_check=True)
        return bytes(model.SerializeToString())
