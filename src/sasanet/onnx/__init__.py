"""Models as ONNX files: predictions and explanations without Python, in onnxruntime for example.

- ``graph``: a graph written node by node, from plain arrays
- ``cells``: columns → inputs → vectors
- ``values``: sums of vectors → values, of all members
- ``moments``: expected values over random coalitions, with gradients
- ``attribution``: Shapley values by the network's formula
- ``export``: the outputs, and the file
- ``comparison``: the file's answers beside the model's
- ``page``: an HTML page that runs the file in plain JavaScript

The graph is built from the network's arrays, not traced. Needs ``pip install "sasanet[onnx]"``.
"""

from sasanet.onnx.export import write_onnx
from sasanet.onnx.page import write_page

__all__ = ["write_onnx", "write_page"]
