"""Tables larger than memory, to learn from: one pass of sketches, then encoded cells on disk.

- ``quantiles``, ``levels``, ``sample``: mergeable sketches of a number column, of a category, and
  of whole rows
- ``survey``: what one pass finds out about a table: its columns, its target, a sample of its rows
- ``parts``: the rows of a source in a random order of its parts, until the time for it is over
- ``store``: encoded rows in a temporary folder, read back in shuffled blocks
- ``scratch``: the temporary folder
"""
