"""A graph of ONNX operators, written node by node."""

from __future__ import annotations

from typing import Any

import numpy as np

from sasanet.errors import need_package

OPSET, ML_OPSET, IR_VERSION = 17, 2, 8
INTERNAL = "sasanet/"  # how names inside the graph begin; columns have others


class Graph:
    """Nodes, constants, inputs and outputs; every method returns the name of a new tensor."""

    def __init__(self) -> None:
        self._onnx = need_package("onnx", "onnx")
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._count = 0

    def _name(self) -> str:
        self._count += 1
        return f"{INTERNAL}{self._count}"

    def _info(self, name: str, kind: str, shape: list[str | int]) -> Any:
        number = getattr(self._onnx.TensorProto, kind)
        return self._onnx.helper.make_tensor_value_info(name, number, shape)

    def input(self, name: str, kind: str) -> str:
        """Declare an input of one cell per row."""
        self._inputs.append(self._info(name, kind, ["rows"]))
        return name

    def output(self, name: str, tensor: str, kind: str, shape: list[str | int]) -> None:
        """Declare a tensor to be an output."""
        self._nodes.append(self._onnx.helper.make_node("Identity", [tensor], [name]))
        self._outputs.append(self._info(name, kind, shape))

    def constant(self, values: Any) -> str:
        """Add an array; text becomes a tensor of strings."""
        array, name = np.asarray(values), self._name()
        array = array.astype(object) if array.dtype.kind == "U" else array
        self._constants.append(self._onnx.numpy_helper.from_array(array, name))
        return name

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add an operator of one output."""
        name = self._name()
        domain = "ai.onnx.ml" if kind == "LabelEncoder" else None
        made = self._onnx.helper.make_node(kind, inputs, [name], domain=domain, **attributes)
        self._nodes.append(made)
        return name

    def cast(self, tensor: str, kind: str) -> str:
        """Convert a tensor to another type."""
        return self.node("Cast", tensor, to=getattr(self._onnx.TensorProto, kind))

    def unsqueeze(self, tensor: str, axis: int) -> str:
        """Add an axis of length 1."""
        return self.node("Unsqueeze", tensor, self.constant(np.array([axis])))

    def to_bytes(self, about: dict[str, str]) -> bytes:
        """Return the checked file; ``about`` becomes its metadata."""
        helper = self._onnx.helper
        graph = helper.make_graph(
            self._nodes, "sasanet", self._inputs, self._outputs, self._constants
        )
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
        model = helper.make_model(
            graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="sasanet"
        )
        helper.set_model_props(model, about)
        self._onnx.checker.check_model(model, full_check=True)
        return bytes(model.SerializeToString())
