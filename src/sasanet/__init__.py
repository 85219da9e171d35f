"""SASANet: the prediction is a base value plus one Shapley value per feature, in one pass.

The map of rooms, from the ground up; each imports only from those above it in this list, and a
test keeps it so:

- ``arrays``: names of array types
- ``errors``: user errors and warnings, one sentence each
- ``validation``: checks of single arguments
- ``whole_files``: files written whole or not at all
- ``checksums``: SHA-256 of records and weights
- ``malloc``: fewer page faults while the same large arrays come and go
- ``threads``: one thread for each product of matrices while several fits run
- ``forks``: forked processes that go on computing
- ``progress``: bars of progress, in rows
- ``intervals``: means and statistics with their intervals
- ``objectives``: what regressors predict of a quantity, and their losses
- ``table``: anything tabular → one number per cell; labels → numbers
- ``explanation``: the result people hold
- ``shapley``: Shapley values and interactions of any game, exact or sampled
- ``network``: cells → value of any coalition, and its Shapley values by formula or learned
- ``training``: the one training loop, its losses and settings
- ``teachers``: labels softened by out-of-fold predictions of trees and splines
- ``streaming``: tables larger than memory, to learn from: sketches, and encoded rows on disk
- ``estimator``: scikit-learn's contract: ``SASANetClassifier`` and ``SASANetRegressor``
- ``baselines``: other self-attributing networks, same encoder, loop and estimator base
- ``audit``: how true the attributions are, measured
- ``persistence``: models in files: safetensors and JSON
- ``posthoc``: explainers of any other model
- ``datasets``: two real tables, and synthetic ones whose truth is known
- ``comparison``: SASANet beside other models on one table
- ``plots``: pictures of explanations, models and audits
- ``report``: one HTML page about a model and a table
- ``scale``: tables larger than memory, from files into files
- ``ray``: Ray Datasets, learned from and explained by a cluster
- ``serve``: saved models over HTTP, by four protocols
- ``onnx``: models as ONNX files
- ``mlflow``: models logged in MLflow, with their audit
- ``cli``: the command line

Names and rooms are imported when they are first asked for (PEP 562): ``import sasanet`` by itself
loads neither torch nor pandas, so the command line answers ``--help`` at once.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

__version__ = "0.1.0"
_HOMES = {  # public name: the module it lives in
    "ARCHITECTURES": "network.architecture",
    "Architecture": "network.architecture",
    "Explanation": "explanation",
    "RowExplanation": "explanation",
    "SASANetClassifier": "estimator.sasanet",
    "SASANetRegressor": "estimator.sasanet",
    "compare": "comparison",
    "load": "persistence",
}
_ROOMS = (
    "audit",
    "baselines",
    "datasets",
    "errors",
    "mlflow",
    "plots",
    "posthoc",
    "ray",
    "report",
    "scale",
    "serve",
    "shapley",
)
__all__ = [*_HOMES, *_ROOMS]

if TYPE_CHECKING:  # the same names for type checkers and editors; a test compares
    from sasanet import audit as audit
    from sasanet import baselines as baselines
    from sasanet import datasets as datasets
    from sasanet import errors as errors
    from sasanet import mlflow as mlflow
    from sasanet import plots as plots
    from sasanet import posthoc as posthoc
    from sasanet import ray as ray
    from sasanet import report as report
    from sasanet import scale as scale
    from sasanet import serve as serve
    from sasanet import shapley as shapley
    from sasanet.comparison import compare as compare
    from sasanet.estimator.sasanet import SASANetClassifier as SASANetClassifier
    from sasanet.estimator.sasanet import SASANetRegressor as SASANetRegressor
    from sasanet.explanation import Explanation as Explanation
    from sasanet.explanation import RowExplanation as RowExplanation
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
