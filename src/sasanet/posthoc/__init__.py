"""Explainers of any model: SHAP values, TreeSHAP, LIME and FastSHAP, all as an ``Explanation``.

First choose the game, that is, what happens to the features that are not known:

- ``marginal_game(predict, X, background)``: they are taken from background rows (any model);
- ``game_of(model, X)``: the model predicts without them (a fitted SASANet or FastSHAP).

``exact_shap``, ``permutation_shap``, ``kernel_shap`` and ``shap_kernel_explainer`` explain the rows
of any such game. ``tree_shap``, ``lime`` and ``FastSHAP`` take the model or its predictions.
``as_explanation`` turns Shapley values that were computed elsewhere into an explanation.

FastSHAP alone needs torch, so it is imported when it is first used (PEP 562).
"""

from importlib import import_module
from typing import TYPE_CHECKING

from sasanet.posthoc.game_explainers import exact_shap, kernel_shap, permutation_shap
from sasanet.posthoc.interventional import marginal_game
from sasanet.posthoc.lime_tabular import lime
from sasanet.posthoc.shap_kernel import shap_kernel_explainer
from sasanet.posthoc.shap_tree import tree_shap
from sasanet.posthoc.to_explanation import as_explanation
from sasanet.shapley.game import game_of

__all__ = [
    "FastSHAP",
    "as_explanation",
    "exact_shap",
    "game_of",
    "kernel_shap",
    "lime",
    "marginal_game",
    "permutation_shap",
    "shap_kernel_explainer",
    "tree_shap",
]

if TYPE_CHECKING:  # the same name for type checkers and editors
    from sasanet.posthoc.fastshap.model import FastSHAP
else:

    def __getattr__(name: str) -> object:
        """Import FastSHAP, and torch with it, on first use."""
        if name == "FastSHAP":
            return import_module("sasanet.posthoc.fastshap").FastSHAP
        raise AttributeError(f"module 'sasanet.posthoc' has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
