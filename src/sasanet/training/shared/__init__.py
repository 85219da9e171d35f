"""Training by several workers, each with rows of its own: one model, as if one had all rows.

- ``fellows``: what workers ask each other: alone, or in a process group of torch
- ``rows``: the rows of one worker, in as many batches as those of the others
"""
