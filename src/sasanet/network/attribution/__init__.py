"""Shapley values of the value network: in closed form, or by a learned module.

- ``closed_form``: by formula, with ``moment_propagation`` for E[v] over random coalitions
- ``distilled``: a fast module taught by the formula
- ``learned``: distilled from marginal contributions, as in the paper
"""
