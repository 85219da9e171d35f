"""Rows a second, predicted and explained, beside boosted trees: ``make bench-speed``."""
