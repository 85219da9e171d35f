"""SASANet: the prediction is a base value plus one Shapley value per feature, in one pass.

The rooms, in the order a table walks through them:

- ``table``, ``encoder``: anything tabular → one number per cell
- ``coalitions``: orders, coalitions, and what they weigh
- ``architecture``: names and sizes of networks, the paper's presets
- ``tokens``, ``marginal``: cells → what each adds along an order
- ``expectation``, ``closed_form``: Shapley values of the set network by formula
- ``attribution``, ``network``: learned Shapley values; the whole model
- ``portable``: the set network as plain arrays
- ``losses``, ``recipe``, ``training``: the one training loop
- ``inference``, ``refinement``: outputs in bounded memory; unbiased attributions with errors
- ``targets``, ``teacher``, ``estimator``, ``models``: scikit-learn's contract, and softer labels
- ``explanation``: the result people hold
- ``posthoc``: Shapley values and interactions of any game, exact or sampled
- ``audit``: is it true? · ``sealing``, ``persistence``: safetensors and JSON
- ``plots``, ``report``: pictures, and one page about a model and a table
- ``datasets`` · ``demo``
"""

from sasanet.architecture import ARCHITECTURES, Architecture
from sasanet.explanation import Explanation
from sasanet.models import SASANetClassifier, SASANetRegressor
from sasanet.persistence import load

__version__ = "0.1.0"
__all__ = [
    "ARCHITECTURES",
    "Architecture",
    "Explanation",
    "SASANetClassifier",
    "SASANetRegressor",
    "load",
]
