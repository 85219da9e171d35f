"""The result people hold: attributions with what is needed to read them.

- ``explanation``: the :class:`Explanation` itself; needs neither a model nor torch
- ``parquet``: its file
- ``wording``: numbers and cells as text
"""

from sasanet.explanation.explanation import Explanation

__all__ = ["Explanation"]
