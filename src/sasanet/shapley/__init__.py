"""The mathematics of games: Shapley values and interactions of any value function.

- ``game``: value functions and coalitions, checked
- ``exact``: by enumeration · ``permutation``, ``regression``: by sampling
- ``interactions``: the Shapley interaction index
"""
