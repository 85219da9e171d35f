"""Text that a spreadsheet would take for a formula: a formula can fetch and run things."""

from __future__ import annotations

import re
from typing import Any

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_STARTS = ("=", "+", "-", "@", "\t", "\r")


def escape_formula(cell: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula; numbers are none.

    Examples
    --------
    >>> escape_formula("=1+1"), escape_formula("-1.5"), escape_formula("age = 31")
    ("'=1+1", '-1.5', 'age = 31')
    """
    if isinstance(cell, str) and cell.startswith(_STARTS) and not _NUMBER.fullmatch(cell):
        return f"'{cell}"
    return cell
