"""Explanations in, pictures out: every plot takes an ``ax`` and returns it.

What shap draws well is one call away: ``shap.plots.beeswarm(explanation.to_shap())``.
"""

from sasanet.plots.waterfall import waterfall, waterfall_data

__all__ = ["waterfall", "waterfall_data"]
