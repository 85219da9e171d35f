"""Accuracy by number of rows: ``make bench-ladder``."""
