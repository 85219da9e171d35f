"""The networks, from encoded cells to outputs and attributions.

- ``architecture``: names and sizes · ``interface``: what every network offers
- ``coalitions``: orders and coalitions · ``layers``: shared layers
- ``embedding/``: cells → vectors · ``set_value``, ``sequence_value``: vectors → v(S)
- ``attribution/``: v → Shapley values, by formula or learned
- ``sasanet``: the whole network · ``inference``: outputs of many rows in bounded memory
- ``refinement``: unbiased attributions with standard errors · ``export``: plain arrays
"""
