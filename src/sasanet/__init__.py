"""SASANet: the prediction is a base value plus one Shapley value per feature, in one pass.

The rooms, in the order a table walks through them:

- ``table``, ``encoder``: anything tabular → one number per cell
- ``coalitions``: orders, coalitions, and what they weigh
- ``architecture``: names and sizes of networks, the paper's presets
- ``contract``: what every network is told of a table and must offer
- ``tokens``, ``marginal``: cells → what each adds along an order
- ``expectation``, ``closed_form``: Shapley values of the set network by formula
- ``attribution``, ``network``: learned Shapley values; the whole model
- ``portable``: the set network as plain arrays
- ``losses``, ``recipe``, ``training``: the one training loop
- ``inference``, ``refinement``: outputs in bounded memory; unbiased attributions with errors
- ``targets``, ``fitting``, ``tasks``: scikit-learn's contract, for any network
- ``teacher``, ``estimator``, ``models``: softer labels, and what SASANet adds
- ``baselines``: other self-attributing networks, same encoder, loop and estimator base
- ``explanation``: the result people hold
- ``posthoc``: any model or game explained: Shapley values and interactions, TreeSHAP, LIME
- ``fastshap``: the same learned, to answer in one pass
- ``audit``: is it true? · ``sealing``, ``persistence``: safetensors and JSON
- ``plots``, ``report``: pictures, and one page about a model and a table
- ``datasets`` · ``demo`` · ``cli``: the command line
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
