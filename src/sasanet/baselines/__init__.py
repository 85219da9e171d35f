"""Other self-explaining networks, with the same encoder, training loop and estimator interface.

- ``network``: what their networks share · ``estimator``: what their estimators share
- one file for each: ``mlp``, ``nam``, ``senn``, ``site``, ``sscn``, ``shapnet``, ``harsanyi``,
  ``viashap``

All but the MLP attribute their own predictions in the additive form f = φ0 + Σφ_i (Definition 2.1);
the constraint that gives φ its meaning is stated in the docstring of each network.
"""

from sasanet.baselines.harsanyi import HarsanyiNetClassifier, HarsanyiNetRegressor
from sasanet.baselines.mlp import MLPClassifier, MLPRegressor
from sasanet.baselines.nam import NAMClassifier, NAMRegressor
from sasanet.baselines.senn import SENNClassifier, SENNRegressor
from sasanet.baselines.shapnet import SHAPNetClassifier, SHAPNetRegressor
from sasanet.baselines.site import SITEClassifier
from sasanet.baselines.sscn import SSCNClassifier, SSCNRegressor
from sasanet.baselines.viashap import ViaSHAPClassifier, ViaSHAPRegressor

__all__ = [
    "HarsanyiNetClassifier",
    "HarsanyiNetRegressor",
    "MLPClassifier",
    "MLPRegressor",
    "NAMClassifier",
    "NAMRegressor",
    "SENNClassifier",
    "SENNRegressor",
    "SHAPNetClassifier",
    "SHAPNetRegressor",
    "SITEClassifier",
    "SSCNClassifier",
    "SSCNRegressor",
    "ViaSHAPClassifier",
    "ViaSHAPRegressor",
]
