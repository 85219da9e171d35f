"""Cooperative games on arrays: Shapley values and interactions of any value function.

- ``game``: what a value function is · ``exact``: enumeration of all coalitions
- ``permutation``: random orders · ``regression``: weighted least squares (KernelSHAP)
- ``interactions``: the Shapley interaction index of pairs

A value function takes boolean masks (m, d) and returns v(S) as (m,), (n, m) or (n, m, K); results
have features where the value function has coalitions. To explain the rows of a table with names and
units, see :mod:`sasanet.posthoc`.
"""

from sasanet.shapley.exact import all_coalitions, exact_shapley, shapley_weights
from sasanet.shapley.game import ValueFunction, game_of
from sasanet.shapley.interactions import Interactions, exact_interactions, sampled_interactions
from sasanet.shapley.permutation import SampledShapley, permutation_shapley
from sasanet.shapley.regression import kernel_shapley

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
