"""Models as ONNX files: predictions without Python and torch, in onnxruntime for example.

- ``graph``: a graph written node by node, from plain arrays
- ``export``: columns → places → vectors → value, as such a graph

The graph is built from the network's arrays, not traced. Needs ``pip install "sasanet[onnx]"``.
"""

from sasanet.onnx.export import write_onnx

__all__ = ["write_onnx"]
