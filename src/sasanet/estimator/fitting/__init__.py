"""The stages of ``fit``, from what the user gave to what the network is trained on.

- ``given``: a table with its labels in memory, or a source to be read part by part
- ``checks``: what is refused before a fit begins, and warned of when it ends
- ``in_memory``, ``streamed``: the two kinds of training tables, with the same four stages
- ``data``: what one fit learns from
- ``soft_labels``, ``class_weights``, ``device``, ``survival``: what else a fit needs to know
"""
