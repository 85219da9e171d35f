"""Other networks on the same footing: the encoder, the loop and the estimator base are shared.

Each but the perceptron gives its own attribution in the additive form f = φ0 + Σφ_i (Definition
2.1); its constraint is stated on its network. Missing cells: a number becomes the training mean,
a category its reserved place.
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
