"""SASANet beside the models that users would choose instead, on one split of one table.

``evaluation`` leads through it: it splits the table, fits every model of ``models`` on the same
rows, judges them on the same others, and returns a :class:`Comparison`.
"""

from sasanet.comparison.evaluation import Comparison, compare

__all__ = ["Comparison", "compare"]
