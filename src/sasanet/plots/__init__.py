"""Explanations, audits and models in, pictures out: every plot takes an ``ax`` and returns it.

What a plot shows is also there as data: ``dependence_data`` beside ``dependence``, and so on.

What shap draws well is one call away: ``shap.plots.beeswarm(explanation.to_shap())``.
"""

from sasanet.plots.arrival import arrival, arrival_data
from sasanet.plots.audit import plot_audit, plot_calibration, plot_value_curve
from sasanet.plots.dependence import dependence, dependence_data
from sasanet.plots.history import history, history_data
from sasanet.plots.profile import profile, profile_data
from sasanet.plots.waterfall import waterfall, waterfall_data

__all__ = [
    "arrival",
    "arrival_data",
    "dependence",
    "dependence_data",
    "history",
    "history_data",
    "plot_audit",
    "plot_calibration",
    "plot_value_curve",
    "profile",
    "profile_data",
    "waterfall",
    "waterfall_data",
]
