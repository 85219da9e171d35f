"""One vector per cell: from a table of knots and levels, or from the paper's small networks.

- ``cells``: the two embeddings · ``knots``: the table of vectors · ``bag_sum``: look-ups in it
"""
