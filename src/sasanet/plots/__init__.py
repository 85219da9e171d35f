"""Pictures of explanations, models and audits, drawn with matplotlib.

Every ``plot_<name>`` takes the axes to draw on, or makes its own, and returns them. What it shows
is also there as a table: ``<name>_data``, with the same arguments.

What shap draws well is one call away: ``shap.plots.beeswarm(explanation.to_shap())``.
"""

from sasanet.plots.arrival import arrival_data, plot_arrival
from sasanet.plots.audit import (
    audit_data,
    calibration_data,
    calibration_error_data,
    plot_audit,
    plot_calibration,
    plot_calibration_error,
    plot_value_curve,
    value_curve_data,
)
from sasanet.plots.dependence import dependence_data, plot_dependence
from sasanet.plots.drift import drift_data, plot_drift
from sasanet.plots.history import history_data, plot_history
from sasanet.plots.interactions import (
    interaction_network_data,
    interactions_data,
    plot_interaction_network,
    plot_interactions,
)
from sasanet.plots.partner import partner_data, plot_partner
from sasanet.plots.profile import plot_profile, profile_data
from sasanet.plots.waterfall import plot_waterfall, waterfall_data

__all__ = [
    "arrival_data",
    "audit_data",
    "calibration_data",
    "calibration_error_data",
    "dependence_data",
    "drift_data",
    "history_data",
    "interaction_network_data",
    "interactions_data",
    "partner_data",
    "plot_arrival",
    "plot_audit",
    "plot_calibration",
    "plot_calibration_error",
    "plot_dependence",
    "plot_drift",
    "plot_history",
    "plot_interaction_network",
    "plot_interactions",
    "plot_partner",
    "plot_profile",
    "plot_value_curve",
    "plot_waterfall",
    "profile_data",
    "value_curve_data",
    "waterfall_data",
]
