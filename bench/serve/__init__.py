"""How many requests a second, and how long each waits: ``make bench-serve``."""
