"""The result people hold: attributions with what is needed to read them.

- ``explanation``: the :class:`Explanation` itself; needs neither a model nor torch
- ``one_row``: the same of a single row, without a table
- ``parquet``: its file
- ``wording``: numbers and cells as text
"""

from sasanet.explanation.explanation import Explanation
from sasanet.explanation.one_row import RowExplanation

__all__ = ["Explanation", "RowExplanation"]
