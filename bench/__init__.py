"""Measurements run by hand (`make bench-…`); results are small JSON files, shown in docs/."""
