"""Synthetic tables whose E[y | x_S] and Shapley values are known in closed form.

- ``gaussian``, ``discrete``: the functions that make them · ``table``: what they return
- ``games``: the closed forms · ``column_roles``: copies, twins and null columns
"""
