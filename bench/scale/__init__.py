"""Large tables: time, memory, truth by rows, limits of time, kills. ``make bench-scale``."""
