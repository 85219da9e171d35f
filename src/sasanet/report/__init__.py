"""One self-contained HTML page about a model and a table: no network, no build step.

``inputs`` validates and splits what the user gives; ``summary`` asks the model and gathers plain
data, with ``row_data`` (the page's table of rows), ``metrics`` (quality with intervals),
``caveats`` (what to be careful about) and ``packing`` (arrays as text); ``page`` fills the
template. The page evaluates any coalition of a row itself: the set network is part of it.
"""

from sasanet.report.page import write_report

__all__ = ["write_report"]
