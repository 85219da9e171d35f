"""SASANet: the prediction is a base value plus one Shapley value per feature, in one pass.

The rooms, in the order a table walks through them:

- ``table``, ``encoder``: anything tabular → one number per cell
- ``coalitions``: orders, coalitions, and what they weigh
- ``architecture``: names and sizes of networks, the paper's presets
- ``contract``: what every network is told of a table and must offer
- ``bags``, ``ladders``, ``tokens``, ``marginal``: cells → what each adds along an order
- ``expectation``, ``closed_form``: Shapley values of the set network by formula
- ``attribution``, ``network``: learned Shapley values; the whole model
- ``portable``: the set network as plain arrays
- ``losses``, ``optimizer``, ``recipe``, ``training``: the one training loop
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

Names and rooms are imported when they are first asked for (PEP 562): ``import sasanet`` by itself
loads neither torch nor pandas, so the command line answers ``--help`` at once.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

__version__ = "0.1.0"
_HOMES = {  # public name: the room it lives in
    "ARCHITECTURES": "network.architecture",
    "Architecture": "network.architecture",
    "Explanation": "explanation",
    "SASANetClassifier": "estimator.sasanet",
    "SASANetRegressor": "estimator.sasanet",
    "load": "persistence",
}
__all__ = list(_HOMES)

if TYPE_CHECKING:  # the same names for type checkers and editors; a test compares
    from sasanet.estimator.sasanet import SASANetClassifier as SASANetClassifier
    from sasanet.estimator.sasanet import SASANetRegressor as SASANetRegressor
    from sasanet.explanation.explanation import Explanation as Explanation
    from sasanet.network.architecture import ARCHITECTURES as ARCHITECTURES
    from sasanet.network.architecture import Architecture as Architecture
    from sasanet.persistence import load as load
else:  # hidden from type checkers, which would take every misspelt name for one of these

    def __getattr__(name: str) -> object:
        """Import a public name, or a whole room, when it is asked for."""
        if name in _HOMES:
            return getattr(import_module(f"sasanet.{_HOMES[name]}"), name)
        if find_spec(f"sasanet.{name}"):
            return import_module(f"sasanet.{name}")
        raise AttributeError(f"module 'sasanet' has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
