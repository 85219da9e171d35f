"""Shapley values of the value network: in closed form, or by a learned module.

- ``closed_form``: by formula, with ``moment_propagation`` for E[v] over random coalitions
- ``learned``: distilled from marginal contributions, as in the paper
"""
