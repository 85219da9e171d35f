"""Shapley values of the value network: in closed form, or by a learned module."""
