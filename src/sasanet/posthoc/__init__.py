"""A value function in, Shapley values and interactions out: exact, or sampled with their noise.

A *value function* takes boolean masks (m, d) and returns v(S) as (m,), (n, m) or (n, m, K). Of a
fitted model it is ``game_of(model, X)``; any other model or toy game can be one.
"""

from sasanet.posthoc.exact import all_coalitions, exact_shapley, shapley_weights
from sasanet.posthoc.game import ValueFunction, game_of
from sasanet.posthoc.interactions import Interactions, exact_interactions, sampled_interactions
from sasanet.posthoc.regression import kernel_shapley
from sasanet.posthoc.sampling import SampledShapley, permutation_shapley

__all__ = [
    "Interactions",
    "SampledShapley",
    "ValueFunction",
    "all_coalitions",
    "exact_interactions",
    "exact_shapley",
    "game_of",
    "kernel_shapley",
    "permutation_shapley",
    "sampled_interactions",
    "shapley_weights",
]
