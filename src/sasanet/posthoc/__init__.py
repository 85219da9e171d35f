"""Any model or game in, attributions out: Shapley values, exact or sampled, TreeSHAP, LIME.

A *value function* takes boolean masks (m, d) and returns v(S) as (m,), (n, m) or (n, m, K). Of a
fitted SASANet it is ``game_of(model, X)``, of any other model ``marginal_game(predict, X,
background)``; any other function of masks can be one. ``as_explanation`` turns Shapley values into
what plots and files read. FastSHAP needs torch and stands in :mod:`sasanet.posthoc.fastshap`.
"""

from sasanet.posthoc.lime import lime_weights
from sasanet.posthoc.marginal_game import marginal_game
from sasanet.posthoc.shap_kernel import kernel_shap
from sasanet.posthoc.shap_tree import tree_shap
from sasanet.posthoc.to_explanation import as_explanation
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
    "as_explanation",
    "exact_interactions",
    "exact_shapley",
    "game_of",
    "kernel_shap",
    "kernel_shapley",
    "lime_weights",
    "marginal_game",
    "permutation_shapley",
    "sampled_interactions",
    "shapley_weights",
    "tree_shap",
]
