"""Explanations and audits in, pictures out: every plot takes an ``ax`` and returns it.

What shap draws well is one call away: ``shap.plots.beeswarm(explanation.to_shap())``.
"""

from sasanet.plots.certificate import plot_audit, plot_calibration, plot_value_curve
from sasanet.plots.dependence import dependence, dependence_data
from sasanet.plots.waterfall import waterfall, waterfall_data

__all__ = [
    "dependence",
    "dependence_data",
    "plot_audit",
    "plot_calibration",
    "plot_value_curve",
    "waterfall",
    "waterfall_data",
]
