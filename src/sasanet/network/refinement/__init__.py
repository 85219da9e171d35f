"""Attributions closer to the Shapley values than the formula's, with standard errors.

- ``run``: what is done for each row · ``effort``: how much of it was asked for
- ``draws``: random coalitions and what attributions miss of their values
- ``cubic``: games whose Shapley values are known, fitted to that, so that less is left to chance
- ``combination``: the formula and the draws, each by its error
"""
